"""Collapsed flips against exact enumeration, the prior, and the limits of floating point."""

import numpy as np
import pytest
from scipy import stats

from pymc_bid.kernels.collapsed_flip import collapsed_flips
from tests.kernels.collapsed_chain import (
    Problem,
    assert_sound,
    assert_visits_agree,
    awkward_problems,
    run_chain,
)
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    truncated_normal_density,
)
from tests.reference.monte_carlo import assert_means_agree

ITERATIONS = 80_000
INFINITE = np.inf


def small_data(columns=4, targets=3, seed=1):
    """A pool whose last two columns are close to each other, and targets other than the pool."""
    rng = np.random.default_rng(seed)
    pool = rng.normal(size=(6, columns))
    pool[:, -1] = pool[:, -2] + 0.2 * rng.normal(size=6)
    weights = rng.uniform(-0.8, 0.8, (columns, targets))
    return pool, pool @ weights + 0.7 * rng.normal(size=(6, targets))


@pytest.mark.parametrize(
    ("bounds", "companion_sizes"),
    [
        ((-1, 1), (0, 1, 3)),
        ((-1, 1), (0,)),
        ((-1, 1), (2,)),
        ((-2, 2), (0, 1, 3)),
        ((-INFINITE, INFINITE), (0, 1, 3)),
        ((0.2, 1.5), (0, 1, 3)),
    ],
)
def test_visit_frequencies_are_exact(bounds, companion_sizes):
    pool, target = small_data()
    exact = exact_state_probabilities(
        pool,
        target,
        log_prior=bernoulli_log_prior(0.4),
        bounds=bounds,
        weight_density=truncated_normal_density(0.0, 1.0, bounds),
        noise_variance=0.6,
    )
    problem = Problem(
        pool,
        target,
        0.6,
        lower=bounds[0],
        upper=bounds[1],
        log_prior_odds=np.log(0.4 / 0.6),
    )
    states, _, _ = run_chain(problem, 11, ITERATIONS, companion_sizes=companion_sizes)
    assert_visits_agree(exact, states[1000:])


def test_visit_frequencies_are_exact_with_one_bound():
    pool, target = small_data()
    exact = exact_state_probabilities(
        pool,
        target,
        log_prior=bernoulli_log_prior(0.5),
        bounds=(0.0, 7.0),
        weight_density=truncated_normal_density(0.0, 1.0, (0.0, INFINITE)),
        noise_variance=0.6,
        nodes=32,
    )
    problem = Problem(pool, target, 0.6, lower=0.0, upper=INFINITE)
    states, _, _ = run_chain(problem, 12, ITERATIONS)
    assert_visits_agree(exact, states[1000:])


def test_visit_frequencies_are_exact_when_every_weight_has_its_own_prior():
    pool, target = small_data()
    rng = np.random.default_rng(2)
    mean, precision = rng.normal(size=(4, 3)), rng.gamma(2.0, size=(4, 3)) + 0.2
    odds = np.array([-0.5, 0.7, 0.2, -1.0])
    exact = exact_state_probabilities(
        pool,
        target,
        log_prior=lambda state: odds @ state,
        weight_density=[
            [truncated_normal_density(mean[k, j], precision[k, j]) for j in range(3)]
            for k in range(4)
        ],
        noise_variance=0.6,
    )
    # Bounds of ±2 and half the column are the same model as bounds of ±1, so the bounds can
    # differ between the rows although the quadrature knows one box only.
    scale = np.array([1.0, 2.0, 0.5, 1.5])
    problem = Problem(
        pool / scale,
        target,
        0.6,
        mean * scale[:, None],
        precision / scale[:, None] ** 2,
        -scale[:, None],
        scale[:, None],
        odds,
    )
    states, _, _ = run_chain(problem, 13, ITERATIONS)
    assert_visits_agree(exact, states[1000:])


def test_identical_and_opposite_columns_are_visited_exactly():
    pool, _ = small_data(2)
    pool = np.column_stack([pool, pool[:, 0], -pool[:, 1]])
    exact = exact_state_probabilities(
        pool, pool, log_prior=bernoulli_log_prior(0.5), noise_variance=0.5
    )
    problem = Problem(pool, pool, 0.5)
    states, _, _ = run_chain(problem, 14, ITERATIONS)
    assert_visits_agree(exact, states[1000:])


def test_weights_agree_with_those_of_plain_gibbs_sweeps():
    pool, target = small_data()
    problem = Problem(pool, target, 0.4, mean=0.3, log_prior_odds=1.0)
    moments = []
    for weight_sweeps, companion_sizes in ((0, (0, 1, 3)), (3, (0,))):
        states, weights, _ = run_chain(
            problem, 15, 60_000, weight_sweeps=weight_sweeps, companion_sizes=companion_sizes
        )
        active = (weights * states[:, :, None])[1000:].reshape(-1, 12)
        moments.append(np.hstack([active, active**2, active[:, :-3] * active[:, 3:]]))
    assert_means_agree(*moments, alpha=1e-5)


def test_rows_that_are_out_hold_prior_draws():
    pool, target = small_data()
    problem = Problem(pool, target, 0.6, mean=0.5, precision=3.0)
    states, weights, _ = run_chain(problem, 16, 40_000)
    lower, upper = -1.5 * np.sqrt(3), 0.5 * np.sqrt(3)
    prior = stats.truncnorm(lower, upper, loc=0.5, scale=3**-0.5)
    # A row draws anew when it leaves: take the first draw of each stay outside.
    left = (states[:-1, 0] == 1) & (states[1:, 0] == 0)
    assert left.sum() > 1000
    assert stats.kstest(weights[1:][left][:, 0].ravel(), prior.cdf).pvalue > 1e-5


def test_forced_columns_stay_where_they_are_forced():
    pool, target = small_data()
    odds = np.array([np.inf, -np.inf, 0.0, 0.0])
    problem = Problem(pool, target, 0.6, log_prior_odds=odds)
    states, _, _ = run_chain(problem, 17, 2000, state=(0, 1, 0, 1))
    assert np.all(states[:, 0] == 1) and np.all(states[:, 1] == 0)
    assert 0 < states[:, 2].mean() < 1


@pytest.mark.parametrize("name", awkward_problems())
@pytest.mark.parametrize("start", [0, 1])
def test_nothing_is_lost_to_rounding(name, start):
    problem = awkward_problems()[name]
    rng = np.random.default_rng(18)
    weights = problem.draw_weights(rng)
    state = np.full(problem.shape[0], start)
    products = problem.products
    residual_cross = problem.residual_cross(state, weights)
    sizes = np.array([0, 1, 3, 8])
    for _ in range(300):
        tried, accepted = collapsed_flips(
            rng,
            state,
            weights,
            residual_cross,
            products,
            problem.variances,
            problem.prior,
            problem.own,
            problem.odds,
            sizes,
            np.arange(len(state)),
        )
        assert 0 <= accepted <= tried == problem.shape[0]
    assert_sound(problem, state, weights, residual_cross, name)


def test_the_tracked_residual_does_not_drift():
    pool, target = small_data(8, 5)
    problem = Problem(pool, target, 0.05, log_prior_odds=2.0)
    rng = np.random.default_rng(19)
    weights, state = problem.draw_weights(rng), np.ones(8, np.int64)
    products, residual_cross = problem.products, problem.residual_cross(state, weights)
    for _ in range(10_000):
        collapsed_flips(
            rng,
            state,
            weights,
            residual_cross,
            products,
            problem.variances,
            problem.prior,
            problem.own,
            problem.odds,
            np.array([0, 1, 3]),
            np.arange(8),
        )
    assert_sound(problem, state, weights, residual_cross)
