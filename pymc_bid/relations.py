"""Columns that are copies of others, or linear combinations of them, exactly."""

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from pymc_bid.inputs import Matrix

Numbers = NDArray[np.float64]
ROUNDING = 1e-6
"""Difference of columns of length 1 that are the same: more than rounding, less than a digit."""
LEAST_SHARED = 10
"""Rows in which columns with gaps have to be observed together, beyond as many as can be fitted
anyway: in fewer of them columns with few different values are alike by chance."""
BLOCK = 256
"""Columns that are compared with all others at once, to bound memory."""


def find_copies(matrix: Matrix, mean: Numbers, columns: NDArray[np.int64]) -> list[list[int]]:
    """Return groups of columns that are the same up to shift and scale.

    Columns with gaps are compared with others in the rows where both are observed.
    """
    values = _centred(matrix, mean, columns)
    if matrix.observed is None:
        return [columns[group].tolist() for group in _copies(_of_length_one(values))]
    observed = matrix.observed[:, columns]
    complete = np.flatnonzero(observed.all(axis=0))
    group_of = np.arange(columns.size)
    for group in _copies(_of_length_one(values[:, complete])):
        group_of[complete[group]] = complete[group[0]]
    for first, second in _nearly_alike(values, observed):
        if group_of[first] != group_of[second]:
            pair = values[np.ix_(observed[:, first] & observed[:, second], [first, second])]
            pair = pair - pair.mean(axis=0)
            length = np.linalg.norm(pair, axis=0)
            # What hardly varies in these rows is like anything.
            if (length > ROUNDING * np.linalg.norm(values[:, [first, second]], axis=0)).all():
                if _copies(pair / length):
                    group_of[group_of == group_of[second]] = group_of[first]
    groups = (columns[group_of == group].tolist() for group in np.unique(group_of))
    return sorted(group for group in groups if len(group) > 1)


def find_combinations(matrix: Matrix, mean: Numbers, columns: NDArray[np.int64]) -> list[list[int]]:
    """Return sets of columns the last of which is a linear combination of those before it.

    Where there are gaps, in the rows that have no gap in as many columns as leave enough rows,
    those with the fewest gaps first.
    """
    values, number_of_rows = _centred(matrix, mean, columns), matrix.number_of_rows
    if matrix.observed is not None:
        observed = matrix.observed[:, columns]
        order = np.argsort(-observed.sum(axis=0), kind="stable")
        together = np.logical_and.accumulate(observed[:, order], axis=1)
        rows = together.sum(axis=0)
        enough = np.flatnonzero(
            (rows == number_of_rows) | (rows > np.arange(columns.size) + LEAST_SHARED)
        )
        if not enough.size:
            return []
        last = enough[-1]
        length = np.linalg.norm(values, axis=0)
        values, number_of_rows = values[together[:, last]], int(rows[last])
        values -= values.mean(axis=0)
        taken = np.sort(order[: last + 1])
        taken = taken[np.linalg.norm(values[:, taken], axis=0) > ROUNDING * length[taken]]
        values, columns = values[:, taken], columns[taken]
    found = _combinations(_of_length_one(values), number_of_rows)
    return [columns[combination].tolist() for combination in found]


def _centred(matrix: Matrix, mean: Numbers, columns: NDArray[np.int64]) -> Numbers:
    """Return columns less their means, by their largest entry, of which squares do not overflow.

    Missing entries, which are filled with the means, are 0.
    """
    # The first row of what compression makes of a matrix holds its means.
    values = (matrix.values[1:] if matrix.compressed else matrix.values - mean)[:, columns]
    # One row that was compressed has nothing but its mean.
    return values / np.abs(values).max(axis=0, initial=np.finfo(np.float64).tiny)


def _of_length_one(values: Numbers) -> Numbers:
    return values / np.sqrt(np.einsum("ij,ij->j", values, values))


def _nearly_alike(values: Numbers, observed: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return pairs of columns, one of them with gaps, that are nearly copies where both are there.

    `values` are 0 where there is a gap, so that sums over the rows that two columns share are
    products of matrices.
    """
    there, squares, found = observed.astype(np.float64), values**2, []
    gaps = np.flatnonzero(~observed.all(axis=0))
    for first in range(0, gaps.size, BLOCK):
        block = gaps[first : first + BLOCK]
        number = np.maximum(there[:, block].T @ there, 1.0)
        sums = values[:, block].T @ there, there[:, block].T @ values
        own = squares[:, block].T @ there - sums[0] ** 2 / number
        other = there[:, block].T @ squares - sums[1] ** 2 / number
        product = values[:, block].T @ values - sums[0] * sums[1] / number
        alike = (product**2 > (1 - 1e-6) * own * other) & (number >= LEAST_SHARED)
        places, others = np.nonzero(alike)
        found += [
            (int(one), int(another))
            for one, another in zip(block[places], others, strict=True)
            if one != another
        ]
    return found


def _copies(units: Numbers) -> list[list[int]]:
    """Return groups of columns of length 1 that are the same up to their signs.

    Those whose product with one random vector is the same are compared.
    """
    product = np.abs(np.random.default_rng(0).standard_normal(len(units)) @ units)
    groups: list[list[int]] = []
    for column in np.argsort(product, kind="stable"):
        for group in reversed(groups):
            if product[column] - product[group[0]] > 10 * ROUNDING:
                groups.append([int(column)])
                break
            first, second = units[:, group[0]], units[:, column]
            if np.linalg.norm(first - np.sign(first @ second) * second) < ROUNDING:
                group.append(int(column))
                break
        else:
            groups.append([int(column)])
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _combinations(units: Numbers, number_of_rows: int) -> list[list[int]]:
    """Return sets of columns of length 1 each of which is a linear combination of the others.

    Found in sums of rows drawn at random, with random signs, which keep every such relation and
    take a fraction of the time, and checked by the rows themselves. With no more rows than columns
    there is nothing special about them.
    """
    rows, columns = units.shape
    if columns >= number_of_rows - 1:
        return []
    rng, sketch, room = np.random.default_rng(1), units, 2 * columns + 20
    if rows > 2 * room:
        places = (rng.integers(room, size=rows), np.arange(rows))
        signs = rng.choice([-1.0, 1.0], size=rows)
        sketch = scipy.sparse.csr_array((signs, places), shape=(room, rows)) @ units
    factor = np.linalg.qr(sketch, mode="r")
    dependent = np.abs(np.diagonal(factor)) < ROUNDING
    found = []
    for column in np.flatnonzero(dependent):
        before = np.flatnonzero(~dependent[:column])
        weights = solve_triangular(factor[np.ix_(before, before)], factor[before, column])
        used = before[np.abs(weights) > ROUNDING]
        rest = units[:, column] - units[:, before] @ weights
        if np.linalg.norm(rest) < ROUNDING:
            found.append([*map(int, used), int(column)])
    return found
