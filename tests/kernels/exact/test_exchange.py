"""The mass that the bounds leave of the weights: about the mean weight of draws within them."""

import numba
import numpy as np
import pytest
from scipy import special, stats

import pymc_bid as bid
from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.by_reference import by_reference
from pymc_bid.kernels.exact.exchange import log_box_masses, make_regressions, weigh_weights
from pymc_bid.regression import reduce_regression
from tests.helpers.marginals import marginal_of

# Tables are peculiar on purpose, which constructors say.
pytestmark = pytest.mark.filterwarnings("ignore:A has columns")


@numba.njit
def mass_at(state, log_variances, box):
    return log_box_masses(state, log_variances, by_reference(box))


def weigh(rng, pool, target, variance, bounds=(-1.0, 1.0)):
    """Weights drawn with all columns of the pool chosen, as `weigh_weights` returns them."""
    data = reduce_regression(pool, target)
    size, targets = data.shape
    prior = WeightPrior.of(data.shape, 0.0, 1.0, *bounds)
    log_ratio, log_evidence, log_masses = weigh_weights(
        *(rng, True, np.ones(size, np.int64), np.zeros(data.shape), np.full(targets, variance)),
        make_regressions(data.products, prior, np.empty((size, 0), np.int64)),
    )
    return log_ratio, log_evidence, log_masses.sum()


# Of weights within the bounds, near them, and beyond.
@pytest.mark.parametrize("slope", [0.2, 0.9, 1.3])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_mass_is_about_the_mean_weight_of_draws(slope, size):
    rng = np.random.default_rng(4)
    pool = rng.normal(size=(12, size))
    target = slope * pool.sum(axis=1, keepdims=True) + 0.5 * rng.normal(size=(12, 2))
    found = np.array([weigh(rng, pool, target, 0.5) for _ in range(2000)])
    log_ratios, _, log_masses = found.T
    assert np.ptp(log_masses) == 0
    expected = special.logsumexp(log_ratios) - np.log(log_ratios.size)
    assert log_masses[0] == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.0, np.inf)])
@pytest.mark.parametrize("alike", [0.0, 0.8, -0.8])
@pytest.mark.parametrize("slope", [0.3, 0.9, 1.2])
def test_the_mass_of_two_weights_is_that_of_a_normal_in_a_box(bounds, alike, slope):
    rng = np.random.default_rng(5)
    first, second = rng.normal(size=(2, 15))
    pool = np.column_stack([first, alike * first + np.sqrt(1 - alike**2) * second])
    target = slope * pool @ [1.0, 0.2] + 0.4 * rng.normal(size=15)
    *_, found = weigh(rng, pool, target[:, None], 0.4, bounds)
    covariance = np.linalg.inv(pool.T @ pool / 0.4 + np.eye(2))
    normal = stats.multivariate_normal(covariance @ pool.T @ target / 0.4, covariance)
    lower, upper = np.repeat(np.array(bounds)[:, None], 2, axis=1)
    assert found == pytest.approx(np.log(normal.cdf(upper, lower_limit=lower)), abs=0.02)


def test_the_mass_has_digits_left_where_there_is_hardly_any_noise():
    rng = np.random.default_rng(7)
    pool = rng.normal(size=(20, 6))
    # Every target is a column of the pool: one weight is at its bound, the others are 0.
    masses = [weigh(rng, pool, pool, variance)[2] for variance in (1e-4, 1e-9, 1e-14, 1e-19)]
    assert masses[0] == pytest.approx(6 * np.log(0.5), abs=0.05)
    np.testing.assert_allclose(masses[1:], 6 * np.log(0.5), atol=0.01)


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
def test_replicas_and_chains_see_the_same_mass(identity, noise):
    rng = np.random.default_rng(6)
    A = 20.0 * rng.normal(size=(9, 2)) @ rng.normal(size=(2, 6)) + 4.0 * rng.normal(size=(9, 6))
    marginal, box = marginal_of(bid.gbt(A, identity=identity, noise=noise))
    assert marginal.log_unit > 1
    log_variances = np.log(16.0) + 0.3 * rng.normal(size=marginal.shape.size)
    for chosen in ([], [2], [0, 3], [1, 2, 4, 5]):
        state = np.isin(np.arange(6), chosen).astype(np.int64)
        found = mass_at(state, log_variances - marginal.log_unit, box)
        *_, expected = weigh_weights(
            *(rng, True, state, np.zeros((6, 6)), np.exp(log_variances)[box.group]),
            box.regressions,
        )
        assert found == pytest.approx(expected, abs=1e-8)
        assert (found.sum() < -0.1) == (len(chosen) > 0)
