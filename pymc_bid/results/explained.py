"""The share of the variance of the columns that others explain."""

import numpy as np
from numpy.typing import NDArray

from pymc_bid.results.draws import Draws

SMALLEST_VARIATION = 1e-24
"""Sum of squares about the mean, relative to that about 0, that a constant column has of rounding
alone."""


def explained_shares(draws: Draws, active: NDArray[np.int64], kept) -> NDArray[np.float64]:
    r"""Return R² of each column and each kept draw of W, (sample, column); nan for chosen ones.

    .. math:: R²_l = 1 - |a_l - C w_l|² / |a_l - \bar a_l|²

    over the observed entries of the column. The squares are had from the inner products of columns,
    however many rows there are. Constant columns have none.
    """
    variation = draws.variation
    squares = np.array([draws.squared_errors(active, W) for W in kept])
    squares = squares.reshape(len(kept), variation.size)
    constant = variation <= SMALLEST_VARIATION * draws.data.products.squares
    if draws.pool is None:
        constant[active] = True
    return np.where(constant, np.nan, 1 - squares / np.where(constant, 1.0, variation))
