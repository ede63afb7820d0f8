"""Columns centred and scaled, and constant ones left out."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.inputs import Matrix, labels_or_numbers

Numbers = NDArray[np.float64]


class Constants(NamedTuple):
    """Columns that have one value."""

    labels: NDArray
    values: Numbers


def mean_and_spread(matrix: Matrix) -> tuple[Numbers, Numbers]:
    """Return mean and standard deviation of what is observed of each column.

    The latter is 0 where there is nothing but rounding.
    """
    values, rows = matrix.values, np.full(matrix.values.shape[1], float(matrix.number_of_rows))
    if matrix.compressed:
        mean, squares = values[0] / np.sqrt(matrix.number_of_rows), (values[1:] ** 2).sum(axis=0)
    else:
        mean = values.mean(axis=0)
        # Missing entries have their column's mean.
        if matrix.observed is not None:
            rows = matrix.observed.sum(axis=0).astype(np.float64)
        # Exact where all entries are the same.
        mean = values[0] + (values - values[0]).mean(axis=0)
        squares = ((values - mean) ** 2).sum(axis=0)
    spread = np.sqrt(squares / rows)
    rounding = np.finfo(np.float64).eps * np.sqrt(rows) * np.abs(mean)
    return mean, np.where(spread > rounding, spread, 0.0)


def without_constants(matrix: Matrix, name: str) -> tuple[Matrix, Constants]:
    """Return the columns that vary, with their labels or numbers, and the others.

    The matrix is called `name` in messages.
    """
    mean, spread = mean_and_spread(matrix)
    varies = spread > 0
    labels = labels_or_numbers(matrix.columns, varies.size)
    constants = Constants(labels[~varies], mean[~varies])
    if varies.sum() < 2:
        number = "one column that varies" if varies.any() else "no columns that vary"
        raise ValueError(f"{name} has {number}; it takes at least two for one to explain another.")
    if varies.all():
        return matrix, constants
    observed = None if matrix.observed is None else matrix.observed[:, varies]
    values = np.ascontiguousarray(matrix.values[:, varies])
    return matrix._replace(values=values, columns=labels[varies], observed=observed), constants


def standardise(matrix: Matrix) -> tuple[Matrix, Numbers, Numbers]:
    """Return the matrix with mean 0 and variance 1 in each column, the means and the deviations.

    Those of what is observed; entries that are missing become 0.
    """
    center, scale = mean_and_spread(matrix)
    values = matrix.values - (0.0 if matrix.compressed else center)
    if matrix.compressed:
        # The first row of what compression makes of a matrix holds its means.
        values[0] = 0.0
    values /= scale
    return matrix._replace(values=values), center, scale
