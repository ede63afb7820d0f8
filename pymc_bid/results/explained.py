"""The share of the variance of the columns that others explain."""

import numpy as np
from numpy.typing import NDArray

from pymc_bid.regression import Regression

Numbers = NDArray[np.float64]
SMALLEST_VARIATION = 1e-24
"""Sum of squares about the mean, relative to that about 0, that a constant column has of rounding
alone."""


def shares_of_draws(
    data: Regression, variation: Numbers, active: NDArray[np.int64], weights: Numbers
) -> Numbers:
    r"""Return R² of each column and each draw of the weights, (draw, column).

    .. math:: R²_l = 1 - |a_l - C w_l|² / |a_l - \bar a_l|²

    over the observed entries, whose squares about the mean are the `variation`. Those that are left
    are had from the inner products of columns, however many rows there are. nan for chosen columns,
    and for constant ones. `weights` are (draw, K, L).
    """
    number, size = data.shape
    constant = variation <= SMALLEST_VARIATION * data.products.squares
    if data.shared:
        constant[active] = True
    shares, whole = np.full((len(weights), size), np.nan), np.zeros((number, size))
    interpolated = (~constant).astype(np.float64)
    for share, drawn in zip(shares, weights, strict=True):
        whole[active] = drawn
        squares = data.squared_errors(active, whole, interpolated)
        share[~constant] = 1 - squares[~constant] / variation[~constant]
    return shares
