"""Weights drawn within bounds: their importance weights have the mass of the box for a mean."""

import numpy as np
import pytest
from scipy import integrate, stats

from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.exact.exchange import make_regressions, weigh_weights
from pymc_bid.regression import reduce_regression


def log_weights(pool, target, variance, draws=2000, seed=0):
    """Logs of N(y) / q(y) of draws from q, all columns of the pool chosen."""
    rng = np.random.default_rng(seed)
    data = reduce_regression(pool, target)
    size = data.shape[0]
    prior = WeightPrior.of(data.shape, 0.0, 1.0, -1.0, 1.0)
    own = np.empty((size, 0), np.int64)
    found = np.empty(draws)
    for draw in range(draws):
        weights = np.zeros(data.shape)
        found[draw], *_ = weigh_weights(
            *(rng, True, np.ones(size, np.int64), weights, np.full(data.shape[1], variance)),
            make_regressions(data.products, prior, own),
        )
        assert (np.abs(weights) <= 1).all()
    return found


def mass_within_bounds(pool, target, variance):
    """Mass of [-1, 1]² under the posterior of two weights without bounds."""
    precision = pool.T @ pool / variance + np.eye(2)
    covariance = np.linalg.inv(precision)
    mean = covariance @ (pool.T @ target / variance)
    # Along the two principal axes, of which one may be very short.
    values, vectors = np.linalg.eigh(covariance)

    reach = 8 * np.sqrt(values[1])
    t = np.linspace(-reach, reach, 20_001)
    center = mean + t[:, None] * vectors[:, 1]
    with np.errstate(divide="ignore"):
        ends = np.sort([(-1 - center) / vectors[:, 0], (1 - center) / vectors[:, 0]], axis=0)
    low, high = ends[0].max(axis=1), ends[1].min(axis=1)
    sd = np.sqrt(values[0])
    within = np.where(low < high, stats.norm.cdf(high / sd) - stats.norm.cdf(low / sd), 0.0)
    return integrate.trapezoid(stats.norm.pdf(t, scale=np.sqrt(values[1])) * within, t)


@pytest.mark.parametrize(
    ("copy", "slope"),
    [(0.0, 0.3), (0.0, 1.0), (0.0, 1.6), (0.05, 0.3), (0.05, 1.6), (1.0, 0.3), (1.0, 1.02)],
)
def test_importance_weights_have_the_mass_of_the_box_for_a_mean(copy, slope):
    rng = np.random.default_rng(1)
    first = rng.normal(size=50)
    pool = np.column_stack([first, first + copy * rng.normal(size=50)])
    target = slope * first[:, None] + 0.1 * rng.normal(size=(50, 1))
    logs = log_weights(pool, target, 0.01)
    expected = mass_within_bounds(pool, target[:, 0], 0.01)
    weights = np.exp(logs)
    error = weights.std() / np.sqrt(weights.size)
    assert abs(weights.mean() - expected) <= 4.5 * error + 1e-3 * expected


def test_a_column_and_its_copy_are_drawn_with_hardly_any_noise():
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(200, 4))
    # Without cutting intervals the standard deviation is above 100.
    logs = log_weights(np.hstack([columns, columns]), columns, 0.001, draws=100)
    assert logs.std() < 3
