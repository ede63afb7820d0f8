"""The evidence with bounds against enumeration, its gradient, and its parts."""

import numpy as np
import pytest

from pymc_bid.kernels.bounded_evidence import bounded_fit, own_log_masses
from tests.kernels.collapsed_chain import Problem
from tests.kernels.test_collapsed_flip import INFINITE, small_data
from tests.kernels.test_own_column import own_log_density, small_matrix
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    truncated_normal_density,
)


def fit(problem, state, noise_variance, sites=None):
    """Return evidence, noise variances, weights and masses; start from no factors by default."""
    columns, targets = problem.shape
    if sites is None:
        sites = (np.zeros((targets, columns)), np.zeros((targets, columns)))
    weights, log_masses = np.zeros((columns, targets)), np.empty(targets)
    result = bounded_fit(
        *(np.asarray(state), noise_variance, problem.moments, problem.odds),
        *(*sites, weights, log_masses),
    )
    return *result, weights, log_masses


def tight_problem():
    """Many weights that the bounds cut off, half of them by a lot."""
    rng = np.random.default_rng(5)
    pool = rng.normal(size=(40, 12)) @ (np.eye(12) + 0.5 * rng.normal(size=(12, 12)))
    target = pool @ rng.uniform(-1.6, 1.6, (12, 20)) + 0.5 * rng.normal(size=(40, 20))
    return Problem(pool, target, mean=0.1, precision=1.5, lower=-0.8, upper=1.1)


@pytest.mark.parametrize("bounds", [(-1, 1), (-0.3, 1.5), (-INFINITE, INFINITE)])
def test_evidence_with_bounds_agrees_with_enumeration(bounds):
    pool, target = small_data()
    exact = exact_state_probabilities(
        pool,
        target,
        log_prior=bernoulli_log_prior(0.4),
        bounds=bounds,
        weight_density=truncated_normal_density(0.3, 2.0, bounds),
        noise_variance=0.6,
    )
    problem = Problem(pool, target, 0.6, 0.3, 2.0, *bounds, np.log(0.4 / 0.6))
    difference = []
    for state in exact:
        evidence, _, _, weights, _ = fit(problem, state, 0.6)
        assert np.all((weights >= bounds[0]) & (weights <= bounds[1]))
        difference.append(evidence - np.log(exact[state]))
    tolerance = 1e-9 if np.isinf(bounds[1]) else 0.1
    assert np.ptp(difference) < tolerance


@pytest.mark.parametrize("bounds", [(-1, 1), (-INFINITE, INFINITE)])
def test_evidence_with_the_identity_agrees_with_enumeration(bounds):
    matrix = small_matrix()
    exact = exact_state_probabilities(
        matrix,
        matrix,
        log_prior=bernoulli_log_prior(0.4),
        bounds=bounds,
        weight_density=truncated_normal_density(0.3, 2.0, bounds),
        noise_variance=0.6,
        own_log_density=own_log_density(matrix),
    )
    problem = Problem(matrix, matrix, 0.6, 0.3, 2.0, *bounds, np.log(0.4 / 0.6))
    problem.own_log_density = own_log_density(matrix)
    difference = [fit(problem, state, 0.6)[0] - np.log(exact[state]) for state in exact]
    tolerance = 1e-9 if np.isinf(bounds[1]) else 0.1
    assert np.ptp(difference) < tolerance


def test_the_fitted_noise_variance_is_the_gradient_of_the_evidence():
    problem = tight_problem()
    state = np.ones(12, dtype=int)
    for noise_variance in (0.3, 1.0, 5.0):
        _, bounded, unbounded, _, log_masses = fit(problem, state, noise_variance)
        assert log_masses.sum() < -10
        assert bounded > 1.01 * unbounded
        step = 0.01
        above, below = (
            fit(problem, state, noise_variance * np.exp(sign * step))[0] for sign in (1, -1)
        )
        expected = 0.5 * problem.target.size * (bounded / noise_variance - 1)
        np.testing.assert_allclose((above - below) / (2 * step), expected, atol=2, rtol=0.02)


def test_the_factors_of_another_state_lead_to_the_same_evidence():
    problem = tight_problem()
    state = (np.arange(12) % 3 > 0).astype(int)
    from_nothing = fit(problem, state, 0.5)
    sites = (np.zeros((20, 12)), np.zeros((20, 12)))
    fit(problem, np.ones(12, dtype=int), 1.0, sites)
    from_another = fit(problem, state, 0.5, sites)
    assert abs(from_another[0] - from_nothing[0]) < 0.1
    np.testing.assert_allclose(from_another[3][state == 1], from_nothing[3][state == 1], atol=0.02)


def test_own_masses_are_those_of_the_states_without_each_column():
    pool = tight_problem().pool
    pool[:, 2] *= 6
    problem = Problem(pool, pool)
    state = (np.arange(12) % 3 > 0).astype(int)
    log_masses = fit(problem, state, 0.5)[4]
    own_log_masses(state, 0.5, problem.moments, log_masses)
    for column in range(12):
        without = np.where(np.arange(12) == column, 0, state)
        expected = fit(problem, without, 0.5)[4][column]
        np.testing.assert_allclose(log_masses[column], expected, atol=0.01)
    assert state[2] == 1
    assert log_masses[2] < -5
