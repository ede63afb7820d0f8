"""Choosing the set of columns to report, and the sets visited."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RULES = ("most visited", "median probability", "lowest error")


class VisitedSets(NamedTuple):
    """The different state vectors among the draws, most visited first."""

    states: NDArray[np.bool_]
    """(set, basis)."""
    visits: NDArray[np.int64]
    member: NDArray[np.int64]
    """Which set each draw (chain, draw) holds."""


def count_sets(states: NDArray[np.bool_]) -> VisitedSets:
    """Find the different state vectors in draws (chain, draw, basis)."""
    flat = states.reshape(-1, states.shape[2])
    _, first, member, visits = np.unique(
        np.packbits(flat, axis=1),
        axis=0,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    # Ties go to the set seen first, so that the order does not depend on the coding.
    order = np.lexsort((first, -visits))
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return VisitedSets(
        flat[first[order]], visits[order], place[member.ravel()].reshape(states.shape[:2])
    )


def choose_columns(
    choose: Any,
    sets: VisitedSets,
    inclusion: NDArray[np.float64],
    error: NDArray[np.float64],
    labels: NDArray,
) -> tuple[NDArray[np.int64], str]:
    """Return the chosen columns J, ascending, and in words how they were chosen.

    Parameters
    ----------
    choose : str or sequence
        A rule, or the user's own columns.
    sets : VisitedSets
    inclusion : array (basis,)
    error : array (set,)
        Mean error of each set's draws.
    labels : array (basis,)
    """
    if not isinstance(choose, str):
        return _own_columns(choose, labels), "given"
    if choose == "most visited":
        tied = np.flatnonzero(sets.visits == sets.visits[0])
        # Where sets are visited once each, the visits do not tell them apart, the error does.
        best = tied[np.nanargmin(error[tied])] if np.isfinite(error[tied]).any() else tied[0]
        return np.flatnonzero(sets.states[best]), choose
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
    places = {label: place for place, label in enumerate(labels.tolist())}
    if all(item in places for item in given.tolist()):
        found = [places[item] for item in given.tolist()]
    elif given.dtype.kind in "iu" and labels.dtype.kind not in "iu":
        outside = given[(given < 0) | (given >= labels.size)]
        if outside.size:
            raise ValueError(f"choose has position {outside[0]}, there are {labels.size} columns.")
        found = given.tolist()
    else:
        missing = [item for item in given.tolist() if item not in places]
        raise ValueError(f"choose has columns that are not in the data: {missing}.")
    if len(set(found)) < len(found):
        raise ValueError("choose names a column twice.")
    return np.sort(np.array(found, dtype=np.int64))
