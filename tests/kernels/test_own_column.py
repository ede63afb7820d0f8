"""Collapsed moves in the model with the identity against enumeration and the limits of rounding."""

import numpy as np
import pytest

from pymc_bid.kernels.collapsed_flip import collapsed_flips
from pymc_bid.kernels.informed_moves import informed_moves
from tests.kernels.collapsed_chain import (
    POWERS,
    SWAPS_ONLY,
    Problem,
    assert_sound,
    assert_visits_agree,
    awkward_problems,
    run_chain,
)
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    subset_log_prior,
    truncated_normal_density,
)

NOISE_VARIANCE = 0.4
INFINITE = np.inf


def small_matrix(seed=3):
    """A matrix with a column that the first one nearly gives, and one that two others give."""
    rng = np.random.default_rng(seed)
    matrix = 0.9 * rng.normal(size=(5, 4))
    matrix[:, 2] = 0.8 * matrix[:, 0] + 0.3 * rng.normal(size=5)
    matrix[:, 3] = 0.6 * matrix[:, 0] - 0.5 * matrix[:, 1] + 0.3 * rng.normal(size=5)
    return matrix


def own_log_density(matrix, variance=1.1):
    """Log density of each column as normal noise."""
    return -0.5 * np.sum(matrix**2 / variance + np.log(2 * np.pi * variance), axis=0)


def make_problem(matrix, **arguments):
    return Problem(
        matrix, matrix, NOISE_VARIANCE, own_log_density=own_log_density(matrix), **arguments
    )


@pytest.mark.parametrize("bounds", [(-1, 1), (-2, 2), (-INFINITE, INFINITE), (0.1, 1.5)], ids=str)
@pytest.mark.parametrize("moves", ["flips", "swaps", "both"])
def test_visit_frequencies_are_exact(bounds, moves):
    matrix = small_matrix()
    fixed = moves == "swaps"
    exact = exact_state_probabilities(
        matrix,
        matrix,
        log_prior=subset_log_prior(2) if fixed else bernoulli_log_prior(0.4),
        bounds=bounds,
        weight_density=truncated_normal_density(0.0, 1.0, bounds),
        noise_variance=NOISE_VARIANCE,
        own_log_density=own_log_density(matrix),
    )
    problem = make_problem(
        matrix, lower=bounds[0], upper=bounds[1], log_prior_odds=np.log(0.4 / 0.6)
    )
    states, _, _ = run_chain(
        problem,
        21,
        80_000,
        state=(1, 1, 0, 0) if fixed else None,
        flips=not fixed,
        number_of_swaps=0 if moves == "flips" else 2,
    )
    assert_visits_agree(exact, states[1000:], moves)


def test_visit_frequencies_are_exact_when_every_weight_has_its_own_prior():
    matrix = small_matrix()
    rng = np.random.default_rng(2)
    mean, precision = 0.5 * rng.normal(size=(4, 4)), rng.gamma(2.0, size=(4, 4)) + 0.2
    odds = np.array([-0.5, 0.7, 0.2, -1.0])
    exact = exact_state_probabilities(
        matrix,
        matrix,
        log_prior=lambda state: odds @ state,
        weight_density=[
            [truncated_normal_density(mean[k, j], precision[k, j]) for j in range(4)]
            for k in range(4)
        ],
        noise_variance=NOISE_VARIANCE,
        own_log_density=own_log_density(matrix),
    )
    problem = make_problem(matrix, mean=mean, precision=precision, log_prior_odds=odds)
    states, _, _ = run_chain(problem, 22, 80_000, number_of_swaps=1)
    assert_visits_agree(exact, states[1000:])


def test_copies_are_visited_exactly():
    matrix = small_matrix()[:, [0, 1, 0, 1]] * np.array([1, 1, 1, -1])
    exact = exact_state_probabilities(
        matrix,
        matrix,
        log_prior=bernoulli_log_prior(0.5),
        noise_variance=NOISE_VARIANCE,
        own_log_density=own_log_density(matrix),
    )
    states, _, _ = run_chain(make_problem(matrix), 23, 80_000, number_of_swaps=1)
    assert_visits_agree(exact, states[1000:])


def test_forced_columns_stay_where_they_are_forced():
    odds = np.array([np.inf, -np.inf, 0.0, 0.0])
    problem = make_problem(small_matrix(), log_prior_odds=odds)
    states, _, _ = run_chain(problem, 24, 2000, state=(0, 1, 0, 1), number_of_swaps=1)
    assert np.all(states[:, 0] == 1) and np.all(states[:, 1] == 0)
    assert 0 < states[:, 2].mean() < 1


@pytest.mark.parametrize("name", awkward_problems())
@pytest.mark.parametrize("start", [0, 1])
def test_nothing_is_lost_to_rounding(name, start):
    problem = awkward_problems()[name]
    if problem.pool.shape != problem.target.shape:
        problem.target = problem.pool
    problem.own_log_density = own_log_density(problem.pool)
    rng = np.random.default_rng(25)
    weights = problem.draw_weights(rng)
    state = np.full(problem.shape[0], start)
    products = problem.products
    residual_cross = problem.residual_cross(state, weights)
    arguments = (state, weights, residual_cross, products, problem.variances, problem.prior)
    own, likeness = problem.own, problem.likeness
    sizes = np.array([0, 1, 3, 8])
    for _ in range(300):
        collapsed_flips(rng, *arguments, own, problem.odds, sizes, np.arange(problem.shape[0]))
        informed_moves(rng, *arguments, own, problem.odds, sizes, likeness, *SWAPS_ONLY, POWERS, 3)
    assert_sound(problem, state, weights, residual_cross, name)
