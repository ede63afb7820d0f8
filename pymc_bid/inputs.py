"""Checking what a user passes in, and taking the labels along."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pytensor.graph.basic import Variable

from pymc_bid.compression import (
    CompressedMatrix,
    labels_of,
    numbers_of_table,
    require_real_matrix,
    require_unique,
)
from pymc_bid.regression import LARGEST_OFFSET, find_far_columns

ROWS = "number_of_rows"
"""Name of the data that say how many rows a compressed matrix had."""
OBSERVED = "observed"
"""Name of the data that say which entries are observed (1) and which are missing (0)."""
MISSING = (None, "zero", "mask")


class Matrix(NamedTuple):
    """A data matrix with its labels."""

    values: NDArray[np.float64]
    rows: NDArray | None
    """Labels of the rows, None if the input had none."""
    columns: NDArray | None
    number_of_rows: int
    """Rows of the matrix; a compressed one has more than `values`."""
    compressed: bool = False
    observed: NDArray[np.bool_] | None = None
    """Which entries were observed; None for all of them."""
    has_zeros: bool = False
    """Whether zeros stand for missing entries."""


def read_matrix(data: Any, name: str, missing: str | None = None) -> Matrix:
    """Return a copy of `data` as a finite matrix of doubles, with the labels it came with.

    The argument is called `name` in messages. Missing entries (nan, or masked) are an error for
    None, zeros for "zero", and for "mask" the mean of what is observed in their column, with a note
    of where they are.
    """
    if missing not in MISSING:
        raise ValueError(f"missing must be one of {MISSING}, got {missing!r}.")
    if isinstance(data, CompressedMatrix):
        return Matrix(np.array(data.factor), None, data.columns, data.number_of_rows, True)
    if hasattr(data, "toarray"):
        raise TypeError(
            f"{name} is a sparse matrix; pass bid.compress({name}), or {name}.toarray()."
        )
    rows, columns = labels_of(data)
    require_unique(columns, name)
    if isinstance(data, np.ma.MaskedArray):
        require_real_matrix(np.ma.getdata(data), name, columns)
        data = np.ma.filled(data.astype(np.float64), np.nan)
    array = np.asarray(numbers_of_table(data, name))
    require_real_matrix(array, name, columns)
    values = np.array(array, dtype=np.float64, order="C")
    row_names, column_names = map(labels_or_numbers, (rows, columns), values.shape)
    observed, has_zeros = None, False
    if missing is not None and np.isnan(values).any():
        observed = ~np.isnan(values)
        empty = column_names[~observed.any(axis=0)]
        if empty.size > 0:
            raise ValueError(
                f"No entry of column {empty[0]} of {name} is observed; drop the column."
            )
        filling = np.zeros(values.shape[1])
        if missing == "mask":
            # Infinite entries of both signs are refused below.
            with np.errstate(invalid="ignore"):
                filling = np.nanmean(values, axis=0)
        np.copyto(values, filling, where=~observed)
        if missing == "zero":
            observed, has_zeros = None, True
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        infinite = not np.isnan(values).any()
        advice = (
            "Drop those rows or columns, or make them nan if they stand for missing entries."
            if infinite
            else "Drop those rows or columns, or say what missing entries (nan) stand for: "
            "missing='mask' leaves them out, missing='zero' makes them 0, as the paper does once "
            "the observed ones are standardised."
        )
        raise ValueError(
            f"{name} has {bad.sum()} entries that are {'' if infinite else 'nan or '}infinite, the "
            f"first at row {row_names[row]}, column {column_names[column]}. {advice}"
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(np.vdot(values, values)):
            raise ValueError(f"The squares of {name} overflow; rescale it to unit variance.")
    return Matrix(values, rows, columns, len(values), False, observed, has_zeros)


def check_offsets(matrix: Matrix, name: str) -> None:
    """Refuse a matrix with columns so far from 0 that their products say nothing."""
    far = find_far_columns(matrix.values, matrix.compressed)
    if far.size > 0:
        labels = labels_or_numbers(matrix.columns, matrix.values.shape[1])[far]
        raise ValueError(
            f"Column {labels[0]} of {name} lies further from 0 than {LARGEST_OFFSET:g} of its "
            f"standard deviations: inner products, which the samplers work with, lose the digits "
            "in which its entries differ. Subtract the means of the columns first."
        )


def labels_or_numbers(labels: NDArray | None, length: int) -> NDArray:
    """Return the labels if there are any, else the numbers from 0."""
    return np.arange(length) if labels is None else labels


def read_count(k: Any, size: int) -> int | None:
    """Return the number of columns to choose, None if it is left to the data."""
    if k is None:
        return None
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise TypeError(f"k must be an integer or None, got {k!r}.")
    if not 0 <= k <= size:
        raise ValueError(f"k must be between 0 and the {size} columns to choose from, got {k}.")
    return int(k)


def list_columns(given: Iterable, name: str) -> list:
    """Return the columns that an argument names, whatever they can be gone through in."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of columns, got {given!r}.")
    return list(given)


def places_of(label: Any, labels: Iterable) -> list[int]:
    """Return where a label stands, which results write as text where labels are of many types."""
    return [
        place
        for place, other in enumerate(labels)
        # True is no other word for column 1.
        if str(other) == str(label) or (other == label and not isinstance(label, bool | np.bool_))
    ]


def read_switch(value: Any, name: str) -> bool:
    """Return a value that is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def read_whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return `value`, a whole number that is not below `least`."""
    if isinstance(value, bool) or int(value) != value or value < least:
        kind = "a positive integer" if least == 1 else f"a whole number, {least} or more"
        raise ValueError(f"{name} must be {kind}, got {value!r}.")
    return int(value)


def read_bounds(bounds: Any, shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Return lower and upper bounds of the weights, infinite where there are none."""
    try:
        lower, upper = (None, None) if bounds is None else bounds
    except (TypeError, ValueError) as error:
        raise TypeError(
            "bounds must be None or a pair (lower, upper) of numbers, arrays or None, got "
            f"{bounds!r}."
        ) from error
    read = [
        read_numbers(-np.inf if lower is None else lower, "lower bounds", "numbers", shape),
        read_numbers(np.inf if upper is None else upper, "upper bounds", "numbers", shape),
    ]
    if not (read[0] < read[1]).all():
        raise ValueError(f"bounds must have lower < upper, got {bounds!r}.")
    return read


def read_numbers(value: Any, name: str, kind: str, shape: tuple[int, ...] = ()) -> Any:
    """Return `value`, numbers of this kind that can be broadcast to `shape`.

    Kinds are "numbers", "finite", "positive and finite" and "between 0 and 1".
    """
    if isinstance(value, Variable):
        raise TypeError(f"{name} must be a number or an array of numbers, not a variable.")
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be a number or an array of numbers, got {value!r}."
        ) from error
    except OverflowError as error:
        raise ValueError(
            f"{name} can not be a number of double precision, it is too large."
        ) from error
    inside = np.isfinite(numbers) | (kind == "numbers")
    if kind == "positive and finite":
        inside &= numbers > 0
    elif kind == "between 0 and 1":
        inside &= (numbers >= 0) & (numbers <= 1)
    if not inside.all():
        raise ValueError(f"{name} must be {kind}, got {value!r}.")
    try:
        np.broadcast_to(numbers, shape)
    except ValueError as error:
        raise ValueError(
            f"{name} has shape {numbers.shape}, which does not fit {shape}."
        ) from error
    return numbers
