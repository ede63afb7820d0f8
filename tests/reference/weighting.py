"""Posterior moments of a tiny model, from draws of its prior weighted by the likelihood.

Needs nothing but draws from the prior, so it serves any prior that NumPy can draw from, and it
shares nothing with the samplers that it is the yardstick of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from tests.reference.monte_carlo import standard_errors

# Below that many effective draws the normal approximation of the errors is not to be trusted.
_FEWEST = 1500


class Moments(NamedTuple):
    """Means and variances of some quantities, with the standard errors of both."""

    mean: np.ndarray
    variance: np.ndarray
    mean_error: np.ndarray
    variance_error: np.ndarray


def log_likelihood(
    pool: np.ndarray, target: np.ndarray, state: np.ndarray, weights: np.ndarray, variance
) -> np.ndarray:
    """Log density of the target for each draw of r (n, N), Y (n, N, L) and σ².

    σ² broadcasts to (n, M, L).
    """
    residual = target - np.einsum("mk,nkl->nml", pool, state[:, :, None] * weights)
    variance = np.broadcast_to(variance, residual.shape)
    return -0.5 * np.sum(residual**2 / variance + np.log(variance), axis=(1, 2))


def weighted_moments(values: np.ndarray, log_weights: np.ndarray) -> Moments:
    """Moments of the columns of `values`, (draws, columns), under weights known up to a factor."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    effective = 1 / np.sum(weights**2)
    if effective < _FEWEST:
        raise ValueError(f"The draws are worth {effective:.0f} only, fewer than {_FEWEST}.")
    mean = weights @ values
    squares = (values - mean) ** 2
    variance = weights @ squares
    return Moments(
        mean,
        variance,
        np.sqrt(weights**2 @ squares),
        np.sqrt(weights**2 @ (squares - variance) ** 2),
    )


def assert_moments_agree(
    series: np.ndarray, reference: Moments, alpha: float = 1e-5, label: str = "", batches: int = 50
) -> float:
    """Fail unless the columns of a chain have the means and the variances of the reference.

    The statistic is the difference in units of its standard error, that of the chain by batch
    means. The variance is compared as the mean of the squared distance from the reference's mean.

    Parameters
    ----------
    series : array of shape (draws, columns)
    reference : Moments
    alpha : float
        Probability that the assertion fails although all moments agree (Bonferroni).
    label : str
        Named in the failure message.
    batches : int

    Returns
    -------
    float
        The largest absolute statistic.
    """
    both = np.hstack([series, (series - reference.mean) ** 2])
    assert np.isfinite(both).all(), f"{label}: values that are not finite"
    expected = np.concatenate([reference.mean, reference.variance])
    errors = np.concatenate([reference.mean_error, reference.variance_error])
    errors = np.hypot(errors, standard_errors(both, batches))
    statistic = np.abs(both.mean(axis=0) - expected) / np.maximum(errors, 1e-12)
    limit = stats.t.isf(alpha / (2 * len(expected)), batches - 1)
    failed = np.flatnonzero(statistic > limit)
    names = [f"{kind} of column {i}" for kind in ("mean", "variance") for i in range(len(series.T))]
    assert failed.size == 0, (
        f"{label}: moments differ by more than {limit:.2f} errors: "
        + "; ".join(
            f"{names[i]}: {both[:, i].mean():.5g}, not {expected[i]:.5g}, {statistic[i]:.1f} errors"
            for i in failed
        )
    )
    return float(statistic.max())
