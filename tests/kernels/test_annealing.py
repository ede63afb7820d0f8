"""The evidence that guides warm-up against enumeration, the search against planted columns."""

import numpy as np
import pytest

from pymc_bid.kernels.annealing import bounded_evidence, fitted_noise_variance, scout_step
from tests.kernels.collapsed_chain import Problem
from tests.kernels.test_collapsed_flip import INFINITE, small_data
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    truncated_normal_density,
)


def moments(problem):
    pool, target = problem.pool, problem.target
    return pool.T @ pool, pool.T @ target, float(np.sum(target**2)), len(pool)


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
    odds = np.log(0.4 / 0.6)
    problem = Problem(pool, target, 0.6, 0.3, 2.0, *bounds, odds)
    rng = np.random.default_rng(41)
    weights = problem.draw_weights(rng)
    estimate = {}
    for state in exact:
        estimate[state] = bounded_evidence(
            rng,
            np.array(state),
            0.6,
            *moments(problem),
            *problem.prior,
            problem.odds,
            3000,
            weights,
        )
    assert np.all((weights >= bounds[0]) & (weights <= bounds[1]))
    difference = np.array([estimate[state] - np.log(exact[state]) for state in exact])
    tolerance = 1e-9 if np.isinf(bounds[1]) else 0.1
    assert np.ptp(difference) < tolerance


@pytest.mark.parametrize("flips", [True, False])
def test_the_scout_finds_planted_columns_from_any_start(flips):
    rng = np.random.default_rng(42)
    pool = rng.normal(size=(60, 30))
    planted = np.array([3, 7, 11, 20, 29])
    target = pool[:, planted] @ rng.uniform(-0.9, 0.9, (5, 40)) + 0.3 * rng.normal(size=(60, 40))
    problem = Problem(pool, target)
    for start in ("all", "none", "other") if flips else ("other",):
        state = np.full(30, int(start == "all"))
        if start == "other":
            state[[0, 1, 2, 4, 5]] = 1
        noise_variance = np.mean(target**2)
        for step in range(40):
            noise_variance, _ = scout_step(
                rng,
                state,
                noise_variance,
                *moments(problem),
                *problem.prior,
                problem.odds,
                max(1.0, 4.0 ** (1 - step / 30)),
                1e-6,
                flips,
                10,
            )
        assert np.flatnonzero(state).tolist() == planted.tolist(), start
        fitted = fitted_noise_variance(
            state, noise_variance, *moments(problem), *problem.prior, 1e-6, 20
        )
        assert 0.08 < fitted < 0.1
