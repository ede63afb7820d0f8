"""Predicting the interpolated columns of new rows, with what is not known about them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_root
from scipy.special import ndtr, ndtri

_BLOCK_BYTES = 2**26


class Prediction(NamedTuple):
    """Predictive distribution of each entry."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def predict_rows(
    chosen: NDArray[np.float64],
    weights: NDArray[np.float64],
    noise: NDArray[np.float64],
    probability: float,
) -> Prediction:
    """Predict a_l = c·w_l + noise for rows c of the chosen columns, (rows, L).

    The predictive distribution of an entry is the mixture of Normal(c·w_l, σ²) over the draws of
    (W, σ²), given as arrays (draws, K, L) and (draws, 1) or (draws, L).
    """
    draws, _, columns = weights.shape
    result = Prediction(*np.empty((4, len(chosen), columns)))
    block = max(1, _BLOCK_BYTES // (8 * draws * columns))
    for first in range(0, len(chosen), block):
        rows = slice(first, first + block)
        found = summarise_mixture(chosen[rows] @ weights, noise[:, None, :], probability)
        for values, of_rows in zip(result, found, strict=True):
            values[rows] = of_rows
    return result


def summarise_mixture(centres, variances, probability: float) -> Prediction:
    """Summarise equal mixtures of normals along the first axis, with equal-tailed intervals.

    Quantiles are those of the mixture: they are solved for, not simulated, and need no seed.
    """
    mean, sd = centres.mean(axis=0), np.sqrt(centres.var(axis=0) + variances.mean(axis=0))
    scale = np.broadcast_to(np.sqrt(variances), centres.shape)
    tails = (0.5 - probability / 2, 0.5 + probability / 2)
    return Prediction(mean, sd, *(_quantile(tail, centres, scale) for tail in tails))


def _quantile(probability, centres, scale):
    """Quantile of each mixture, which lies between the quantiles of its components."""
    shape = centres.shape[1:]
    centres, scale = (values.reshape(len(values), -1) for values in (centres, scale))

    def excess(value, mixture):
        standard = (value - centres[:, mixture]) / scale[:, mixture]
        return ndtr(standard).mean(axis=0) - probability

    components = centres + ndtri(probability) * scale
    low, high = components.min(axis=0), components.max(axis=0)
    found = find_root(excess, (low, high), args=(np.arange(low.size),))
    # There is nothing to search where all components are the same.
    return np.where(found.success, found.x, low).reshape(shape)
