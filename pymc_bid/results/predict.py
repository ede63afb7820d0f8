"""Predicting the interpolated columns of new rows, with what is not known about them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

_BLOCK_BYTES = 2**26
_ITERATIONS = 60


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
    scale = np.sqrt(variances)
    mean, sd = centres.mean(axis=0), np.sqrt(centres.var(axis=0) + variances.mean(axis=0))
    tails = (0.5 - probability / 2, 0.5 + probability / 2)
    bounds = (_quantile(tail, centres, scale, mean + ndtri(tail) * sd) for tail in tails)
    return Prediction(mean, sd, *bounds)


def _quantile(probability, centres, scale, value):
    """Quantile of each mixture, searched for from `value`.

    Newton's method on the distribution function, kept inside the bracket that the components' own
    quantiles give, and halving it where a step would leave it.
    """
    components = centres + ndtri(probability) * scale
    low, high = components.min(axis=0), components.max(axis=0)
    value = np.clip(value, low, high)
    for _ in range(_ITERATIONS):
        standard = (value - centres) / scale
        excess = ndtr(standard).mean(axis=0) - probability
        density = (np.exp(-0.5 * standard**2) / scale).mean(axis=0) / np.sqrt(2 * np.pi)
        low = np.where(excess <= 0, value, low)
        high = np.where(excess > 0, value, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = value - excess / density
        # Written so that a step of nan, from a density of zero, is refused as well.
        inside = (step >= low) & (step <= high)
        new = np.where(inside, step, 0.5 * (low + high))
        moved = np.abs(new - value).max()
        value = new
        if moved <= 1e-7 * scale.min():
            break
    return value
