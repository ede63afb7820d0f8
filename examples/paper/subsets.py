"""Column subset selection by greedy steps, by exchanges, and by looking at every subset."""

from math import comb

import numba
import numpy as np

LARGEST_NUMBER_OF_SUBSETS = 5_000_000


def greedy_columns(data: np.ndarray, k: int) -> np.ndarray:
    """Add, k times, the column that lowers the error of least squares most."""
    residual = data.T @ data
    scale = np.diag(residual).copy()
    chosen = []
    for _ in range(k):
        gain = gains(residual, scale)
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        if gain[best] > 0:
            residual = residual - np.outer(residual[best], residual[best]) / residual[best, best]
    return np.array(chosen)


def exchanged_columns(data: np.ndarray, columns: np.ndarray, passes: int = 20) -> np.ndarray:
    """Exchange chosen columns, one at a time, for the best other one until none is better."""
    gram = data.T @ data
    scale = np.diag(gram)
    chosen = list(columns)
    if np.linalg.matrix_rank(data[:, chosen]) == np.linalg.matrix_rank(data):
        return columns  # nothing is left to explain, and comparing gains would compare rounding
    for _ in range(passes):
        changed = False
        for place, column in enumerate(list(chosen)):
            others = chosen[:place] + chosen[place + 1 :]
            residual = gram
            if others:
                weights = np.linalg.lstsq(gram[np.ix_(others, others)], gram[others], rcond=None)[0]
                residual = gram - gram[:, others] @ weights
            gain = gains(residual, scale)
            gain[others] = -1.0
            best = int(gain.argmax())
            if gain[best] > gain[column] * (1 + 1e-9):
                chosen[place] = best
                changed = True
        if not changed:
            break
    return np.array(chosen)


def gains(residual: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """How much each column, added, lowers the sum of squares whose Gram matrix is `residual`.

    A column that the chosen ones explain, up to rounding, adds nothing.
    """
    diagonal = np.diag(residual)
    new = diagonal > 1e-10 * scale
    return np.where(new, (residual**2).sum(axis=0) / np.where(new, diagonal, 1.0), 0.0)


def best_columns(data: np.ndarray, k: int) -> np.ndarray | None:
    """The k columns with the smallest error of all, or None if there are too many subsets.

    Of columns that are equal only the first is looked at. A subset of more columns than there are
    different ones is filled up with copies.
    """
    _, first = np.unique(data, axis=1, return_index=True)
    first.sort()
    size = first.size
    if k >= size:
        rest = np.setdiff1d(np.arange(data.shape[1]), first)
        return np.concatenate([first, rest[: k - size]])
    if comb(size, k) > LARGEST_NUMBER_OF_SUBSETS:
        return None
    multiplicity = (data[:, :, None] == data[:, None, first]).all(axis=0).sum(axis=0).astype(float)
    different = data[:, first]
    return first[_search(different.T @ different, multiplicity, k)]


@numba.njit(cache=True)
def _search(gram, multiplicity, k):
    """Walk through all subsets in order, with the residual Gram matrix of each beginning."""
    size = gram.shape[0]
    residual = np.zeros((k, size, size))
    residual[0] = gram
    explained = np.zeros(k + 1)
    subset = np.full(k, -1)
    best, best_explained = np.zeros(k, np.int64), -1.0
    depth = 0
    while depth >= 0:
        subset[depth] += 1
        column = subset[depth]
        if column > size - k + depth:
            depth -= 1
            continue
        here = residual[depth]
        diagonal = here[column, column]
        new = diagonal > 1e-10 * gram[column, column]
        gain = 0.0
        if new:
            for other in range(size):
                gain += multiplicity[other] * here[column, other] ** 2 / diagonal
        explained[depth + 1] = explained[depth] + gain
        if depth == k - 1:
            if explained[k] > best_explained:
                best_explained = explained[k]
                best[:] = subset
            continue
        below = residual[depth + 1]
        for row in range(size):
            factor = here[row, column] / diagonal if new else 0.0
            for other in range(size):
                below[row, other] = here[row, other] - factor * here[column, other]
        depth += 1
        subset[depth] = column
    return best
