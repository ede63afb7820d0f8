"""The sets visited, columns that stand for each other, and the set to report."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from pymc_bid.inputs import places_of

ALIKE = 0.9
EXCHANGE = 0.4
SELDOM = 0.05
"""Share of the draws below which a column is in nobody's place: two of which one is chosen in 99 %
of them, the other in 1 %, correlate by -1, and are not interchangeable."""
RULES = ("most visited", "median probability", "lowest error")


class Groups(NamedTuple):
    """Groups of two or more columns, those chosen most often first."""

    members: list[NDArray[np.int64]]
    probability: NDArray[np.float64]
    """That at least one of the group is chosen."""
    expected: NDArray[np.float64]
    """Mean number of them that are."""


def find_groups(states: NDArray[np.bool_], gram: NDArray[np.float64]) -> Groups:
    """Group columns of which it matters little which one is chosen, by states and the Gram matrix.

    Two columns belong together if

    * one explains at least `ALIKE` of the other, cos²(b_i, b_j) ≥ `ALIKE`, or
    * the draws put one in the place of the other: r_i and r_j correlate by -`EXCHANGE` or less (-1
      for two columns of which always one is chosen, -1/2 for three of them), and neither is chosen
      in less than `SELDOM` of the draws.

    Every two members of a group do (complete linkage), so that a chain of similar columns does not
    become one group. Groups that are never chosen are left out.
    """
    flat = states.reshape(-1, states.shape[2]).astype(np.float64)
    length = np.sqrt(np.diag(gram))
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.nan_to_num(gram / np.outer(length, length))
        centred = flat - flat.mean(axis=0)
        spread = np.sqrt((centred**2).sum(axis=0))
        correlation = np.nan_to_num(centred.T @ centred / np.outer(spread, spread))
    seldom = flat.mean(axis=0) < SELDOM
    correlation[seldom] = correlation[:, seldom] = 0.0
    distance = np.minimum((1 - cosine**2) / (1 - ALIKE), (1 + correlation) / (1 - EXCHANGE))
    np.fill_diagonal(distance, 0.0)
    if len(distance) < 2:
        return Groups([], np.empty(0), np.empty(0))
    tree = linkage(squareform(np.maximum(distance, 0.0), checks=False), method="complete")
    # Rounding must not part two columns that are equal to the last bit but one.
    cluster = fcluster(tree, t=1 + 1e-9, criterion="distance")
    found = []
    for number in np.unique(cluster):
        members = np.flatnonzero(cluster == number)
        chosen = flat[:, members].sum(axis=1)
        if members.size > 1 and chosen.any():
            found.append((members, (chosen > 0).mean(), chosen.mean()))
    found.sort(key=lambda group: (-group[1], group[0][0]))
    chances = np.array([group[1:] for group in found]).reshape(-1, 2)
    return Groups([group[0] for group in found], *chances.T)


def least_correlation(centred: NDArray[np.float64]) -> float:
    """Return the least |correlation| of any two columns, given less their means."""
    gram = centred.T @ centred
    length = np.sqrt(np.diag(gram))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.abs(gram / np.outer(length, length))).min().clip(max=1.0))


class VisitedSets(NamedTuple):
    """The sets among the draws, most visited first.

    Sets that differ only by an exchange within groups of interchangeable columns count as one: with
    every column copied, there are 2^K of them, each visited once.
    """

    states: NDArray[np.bool_]
    """(set, basis), of those that count as one the one visited most."""
    visits: NDArray[np.int64]
    member: NDArray[np.int64]
    """Which set each draw (chain, draw) holds."""


def count_sets(states: NDArray[np.bool_], groups: Sequence[NDArray[np.int64]] = ()) -> VisitedSets:
    """Find the different sets in draws (chain, draw, basis), given the groups of columns.

    Among sets visited equally often, as happens when each is visited once, the one nearest to all
    draws comes first: the least mean number of columns in which it differs from them.
    """
    flat = states.reshape(-1, states.shape[2])
    pattern = _count_in_groups(flat, groups)
    _, first, member, visits = np.unique(
        pattern, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    member = member.ravel()
    order = np.lexsort((first, _mean_distance(pattern)[first].round(9), -visits))
    member = np.argsort(order)[member]
    return VisitedSets(
        flat[_typical_draws(flat, member)], visits[order], member.reshape(states.shape[:2])
    )


def _count_in_groups(flat, groups) -> NDArray[np.uint16]:
    """Count the chosen columns of each group; each other column is one by itself."""
    alone = np.ones(flat.shape[1], dtype=bool)
    for members in groups:
        alone[members] = False
    counts = [flat[:, members].sum(axis=1, dtype=np.uint16) for members in groups]
    return np.column_stack([flat[:, alone].astype(np.uint16), *counts])


def _mean_distance(pattern) -> NDArray[np.float64]:
    """Mean over all draws of the number of columns in which each one differs from them."""
    distance = np.zeros(len(pattern))
    for counts in pattern.T.astype(np.int64):
        values, where = np.unique(counts, return_inverse=True)
        share = np.bincount(where) / where.size
        distance += (np.abs(values[:, None] - values) @ share)[where]
    return distance


def _typical_draws(flat, member) -> NDArray[np.int64]:
    """For each set the draw whose exact columns are visited most, and are most probable."""
    _, exact, times = np.unique(
        np.packbits(flat, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    probability = flat @ flat.mean(axis=0)
    order = np.lexsort((-probability.round(9), -times[exact.ravel()], member))
    _, first = np.unique(member[order], return_index=True)
    return order[first]


def choose_columns(
    choose: Any,
    sets: VisitedSets,
    inclusion: NDArray[np.float64],
    error: NDArray[np.float64],
    labels: NDArray,
) -> tuple[NDArray[np.int64], str]:
    """Return the chosen columns J, ascending, and in words how they were chosen.

    By a rule, given the mean error of each set's draws, or the user's own columns.
    """
    if not isinstance(choose, str):
        return _own_columns(choose, labels), "given"
    if choose == "most visited":
        return np.flatnonzero(sets.states[0]), choose
    if choose == "median probability":
        return np.flatnonzero(inclusion > 0.5), choose
    if choose == "lowest error":
        if not np.isfinite(error).any():
            raise ValueError(
                "choose='lowest error' needs the draws' errors: neither Y nor bid_mse is stored."
            )
        return np.flatnonzero(sets.states[np.nanargmin(error)]), choose
    raise ValueError(
        f"choose must be one of {', '.join(map(repr, RULES))} or a list of columns, got {choose!r}."
    )


def _own_columns(choose: Sequence, labels: NDArray) -> NDArray[np.int64]:
    """Find the user's own columns: labels, positions where no label fits, or a boolean mask."""
    given = np.asarray(choose)
    if given.dtype == bool:
        if given.shape != labels.shape:
            raise ValueError(f"choose is a mask of length {given.size} for {labels.size} columns.")
        return np.flatnonzero(given)
    places = [places_of(label, labels) for label in choose]
    missing = [label for label, where in zip(choose, places, strict=True) if not where]
    found = np.array([where[0] if where else -1 for where in places], dtype=np.int64)
    if missing and given.dtype.kind in "iu" and labels.dtype.kind not in "iu":
        outside = given[(given < 0) | (given >= labels.size)]
        if outside.size:
            raise ValueError(f"choose has position {outside[0]}, there are {labels.size} columns.")
        found = given.astype(np.int64)
    elif missing:
        raise ValueError(f"choose has columns that are not in the data: {missing}.")
    if np.unique(found).size < found.size:
        raise ValueError("choose names a column twice.")
    return np.sort(found)
