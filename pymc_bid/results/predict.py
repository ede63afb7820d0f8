"""Predicting the interpolated columns of new rows, with what is not known about them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

_BLOCK_BYTES = 2**26
_ITERATIONS = 60


class Prediction(NamedTuple):
    """Predictive distribution of each entry, arrays (rows, columns)."""

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
    """Predict a_l = c·w_l + noise for rows c of the chosen columns.

    The predictive distribution of an entry is the mixture of Normal(c·w_l, σ²) over the draws of
    (W, σ²). Its mean and standard deviation are those of the mixture, and so are its quantiles:
    they are solved for, not simulated, and need no seed.

    Parameters
    ----------
    chosen : array (rows, K)
    weights : array (draws, K, L)
    noise : array (draws, 1) or (draws, L)
        σ².
    probability : float
        Of the equal-tailed interval.
    """
    draws, size, columns = weights.shape
    rows = chosen.shape[0]
    result = Prediction(*(np.empty((rows, columns)) for _ in range(4)))
    tails = (0.5 - probability / 2, 0.5 + probability / 2)
    scale = np.sqrt(noise)[:, None, :]
    block = max(1, _BLOCK_BYTES // (8 * draws * columns))
    flat = weights.transpose(1, 0, 2).reshape(size, draws * columns)
    for first in range(0, rows, block):
        part = slice(first, first + block)
        centres = (
            (chosen[part] @ flat).reshape(chosen[part].shape[0], draws, columns).transpose(1, 0, 2)
        )
        result.mean[part] = centres.mean(axis=0)
        result.sd[part] = np.sqrt(centres.var(axis=0) + noise.mean(axis=0))
        for bound, tail in zip((result.lower, result.upper), tails, strict=True):
            bound[part] = mixture_quantile(tail, centres, scale)
    return result


def mixture_quantile(probability, centres, scale):
    """Quantile of an equal mixture of normals along the first axis.

    Newton's method on the distribution function, kept inside the bracket that the components' own
    quantiles give, and halving it where a step would leave it.
    """
    components = centres + ndtri(probability) * scale
    low, high = components.min(axis=0), components.max(axis=0)
    value = np.clip(
        centres.mean(axis=0)
        + ndtri(probability) * np.sqrt(centres.var(axis=0) + (scale**2).mean(axis=0)),
        low,
        high,
    )
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
