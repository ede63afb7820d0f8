"""What is known of the chosen columns before the data: how many, and which."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pytensor.graph.basic import Variable

from pymc_bid.inputs import places_of, read_count, read_numbers


def read_choice(
    labels: NDArray,
    left_out: Sequence = (),
    *,
    k,
    inclusion,
    expected,
    include,
    exclude,
    uniform: bool,
) -> dict[str, Any]:
    """Return the parameters of the state vector for arguments of a constructor.

    Parameters
    ----------
    labels : array (N,)
        Of the columns to choose from, by which `include` and `exclude` name them.
    left_out : sequence
        Labels of constant columns, which the model does not have.
    k, inclusion, expected, include, exclude
        See `pymc_bid.column_selection`; the latter two are lists.
    uniform : bool
        Whether all numbers of columns are equally probable where nothing else is said; else all
        sets of columns are.
    """
    size = len(labels)
    _refuse_together({"k": k, "inclusion": inclusion, "expected": expected})
    forced = {
        "include": _positions(include, labels, left_out, "include"),
        "exclude": _positions(exclude, labels, left_out, "exclude"),
    }
    both = set(forced["include"]) & set(forced["exclude"])
    if both:
        raise ValueError(f"include and exclude both have {_listed(labels, both)}.")
    included, excluded = map(len, forced.values())
    k, free = read_count(k, size), size - included - excluded
    if k is not None:
        if not included <= k <= size - excluded:
            raise ValueError(
                f"k must be at least {included}, as many as include has, and at most "
                f"{size - excluded}, as many as exclude leaves, got {k}."
            )
        return {"k": k, **forced}
    if free == 0:
        raise ValueError(
            f"include and exclude leave none of the {size} columns to be decided about."
        )
    if expected is not None or (inclusion is None and uniform):
        return _random_size(expected, included, free) | forced
    probability = 0.5 if inclusion is None else inclusion
    if isinstance(probability, Variable):
        if free < size:
            raise TypeError(
                "inclusion is a variable, and include or exclude are given; make its entries 1 or "
                "0 there instead."
            )
        return {"p": probability}
    probability = read_numbers(probability, "inclusion", "between 0 and 1", (size,))
    if free < size:
        probability = np.array(np.broadcast_to(probability, (size,)))
        probability[forced["include"]], probability[forced["exclude"]] = 1.0, 0.0
    return {"p": probability}


def _random_size(expected, included: int, free: int) -> dict[str, float]:
    """Return the beta-binomial's parameters, the smaller of them 1, that have a given mean."""
    if expected is None:
        return {"alpha": 1.0, "beta": 1.0}
    if isinstance(expected, bool | str) or np.ndim(expected):
        raise TypeError(f"expected must be a number, got {expected!r}.")
    mean = float(read_numbers(expected, "expected", "finite")) - included
    if not 0 < mean < free:
        raise ValueError(
            f"expected must be more than {included}, as many as include has, and less than "
            f"{included + free}, as many as may be chosen, got {expected}."
        )
    if mean <= free / 2:
        return {"alpha": 1.0, "beta": (free - mean) / mean}
    return {"alpha": mean / (free - mean), "beta": 1.0}


def _refuse_together(given: dict[str, Any]) -> None:
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(
            f"{' and '.join(names)} can't be given together, leave one out: k says how many "
            "columns there are, expected how many there are on average, inclusion how probable "
            "each one is."
        )


def _positions(given: list, labels: NDArray, left_out: Sequence, name: str) -> list[int]:
    """Return where the columns are that an argument names."""
    found = []
    for label in given:
        places = places_of(label, labels)
        if not places and places_of(label, left_out):
            raise ValueError(
                f"{name} has {label!r}, which is constant: such columns are left out of the model."
            )
        if len(places) != 1:
            kind = "no column" if not places else "the label of several columns"
            raise ValueError(
                f"{name} has {label!r}, which is {kind} to choose from; there are "
                f"{_listed(labels, range(len(labels)))}."
            )
        found += places
    if len(set(found)) < len(found):
        raise ValueError(f"{name} names a column more than once: {list(given)}.")
    return found


def _listed(labels: NDArray, places: Iterable[int], most: int = 10) -> str:
    named = [str(labels[place]) for place in places]
    return ", ".join(named[:most]) + (f" and {len(named) - most} more" if named[most:] else "")
