"""Columns that stand for each other and share their probability of being chosen."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

ALIKE = 0.9
EXCHANGE = 0.4


class Groups(NamedTuple):
    """Groups of two or more columns, those chosen most often first."""

    members: list[NDArray[np.int64]]
    probability: NDArray[np.float64]
    """That at least one of the group is chosen."""
    expected: NDArray[np.float64]
    """Mean number of them that are."""


def find_groups(
    states: NDArray[np.bool_],
    gram: NDArray[np.float64],
    alike: float = ALIKE,
    exchange: float = EXCHANGE,
) -> Groups:
    """Group columns of which it matters little which one is chosen, by states and the Gram matrix.

    Two columns belong together if

    * one explains at least `alike` of the other, cos²(b_i, b_j) ≥ `alike`, or
    * the draws put one in the place of the other: r_i and r_j correlate by -`exchange` or less (-1
      for two columns of which always one is chosen, -1/2 for three of them).

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
    distance = np.minimum((1 - cosine**2) / (1 - alike), (1 + correlation) / (1 - exchange))
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
