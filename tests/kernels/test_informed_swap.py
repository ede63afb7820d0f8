"""Collapsed swaps against exact enumeration, and the limits of floating point."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

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
from tests.kernels.test_collapsed_flip import INFINITE, ITERATIONS, small_data
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    subset_log_prior,
    truncated_normal_density,
)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("bounds", [(-1, 1), (-2, 2), (-INFINITE, INFINITE), (0.2, 1.5)])
def test_visit_frequencies_are_exact_with_a_fixed_number_of_columns(bounds, columns):
    pool, target = small_data()
    exact = exact_state_probabilities(
        pool,
        target,
        log_prior=subset_log_prior(columns),
        bounds=bounds,
        weight_density=truncated_normal_density(0.0, 1.0, bounds),
        noise_variance=0.6,
    )
    problem = Problem(pool, target, 0.6, lower=bounds[0], upper=bounds[1])
    states, _, _ = run_chain(
        problem,
        21,
        ITERATIONS // 2,
        state=np.arange(4) < columns,
        flips=False,
        number_of_swaps=2,
    )
    assert_visits_agree(exact, states[1000:])


def test_visit_frequencies_are_exact_when_every_weight_has_its_own_prior():
    pool, target = small_data()
    rng = np.random.default_rng(2)
    mean, precision = rng.normal(size=(4, 3)), rng.gamma(2.0, size=(4, 3)) + 0.2
    odds = np.array([-0.5, 0.7, 0.2, -1.0])
    density = [
        [truncated_normal_density(mean[k, j], precision[k, j]) for j in range(3)] for k in range(4)
    ]
    problem = Problem(pool, target, 0.6, mean, precision, log_prior_odds=odds)
    arguments = {"weight_density": density, "noise_variance": 0.6}

    # Swaps alone keep the number of columns, on which independent inclusion is conditioned then.
    exact = exact_state_probabilities(
        pool,
        target,
        log_prior=lambda state: odds @ state if sum(state) == 2 else -np.inf,
        **arguments,
    )
    states, _, _ = run_chain(
        problem, 22, ITERATIONS, state=(1, 1, 0, 0), flips=False, number_of_swaps=2
    )
    assert_visits_agree(exact, states[1000:], "swaps")

    exact = exact_state_probabilities(
        pool, target, log_prior=lambda state: odds @ state, **arguments
    )
    states, _, _ = run_chain(problem, 23, ITERATIONS, number_of_swaps=2)
    assert_visits_agree(exact, states[1000:], "flips and swaps")


def test_identical_and_opposite_columns_are_visited_exactly():
    pool, _ = small_data(2)
    pool = np.column_stack([pool, pool[:, 0], -pool[:, 1]])
    exact = exact_state_probabilities(
        pool, pool, log_prior=bernoulli_log_prior(0.5), noise_variance=0.5
    )
    states, _, _ = run_chain(Problem(pool, pool, 0.5), 24, ITERATIONS, number_of_swaps=2)
    assert_visits_agree(exact, states[1000:])


def test_rows_that_are_out_hold_prior_draws():
    pool, target = small_data()
    problem = Problem(pool, target, 0.6, mean=0.5, precision=3.0)
    states, weights, _ = run_chain(
        problem, 25, 40_000, state=(1, 1, 0, 0), flips=False, number_of_swaps=1
    )
    lower, upper = -1.5 * np.sqrt(3), 0.5 * np.sqrt(3)
    prior = stats.truncnorm(lower, upper, loc=0.5, scale=3**-0.5)
    left = (states[:-1, 0] == 1) & (states[1:, 0] == 0)
    assert left.sum() > 1000
    assert stats.kstest(weights[1:][left][:, 0].ravel(), prior.cdf).pvalue > 1e-5


def test_forced_columns_take_no_part():
    pool, target = small_data()
    odds = np.array([np.inf, -np.inf, 0.0, 0.0])
    problem = Problem(pool, target, 0.6, log_prior_odds=odds)
    states, _, _ = run_chain(problem, 26, 2000, state=(1, 0, 0, 1), flips=False, number_of_swaps=2)
    assert np.all(states[:, 0] == 1) and np.all(states[:, 1] == 0)
    assert np.all(states.sum(axis=1) == 2)
    assert 0 < states[:, 2].mean() < 1


@pytest.mark.parametrize("start", [0, 1])
def test_without_a_pair_nothing_is_tried(start):
    pool, target = small_data()
    problem = Problem(pool, target)
    states, _, accepted = run_chain(
        problem, 27, 10, state=np.full(4, start), flips=False, number_of_swaps=3
    )
    assert accepted == 0
    assert np.all(states == start)


@pytest.mark.parametrize("name", awkward_problems())
@pytest.mark.parametrize("columns", [1, 2])
def test_nothing_is_lost_to_rounding(name, columns):
    problem = awkward_problems()[name]
    rng = np.random.default_rng(28)
    weights = problem.draw_weights(rng)
    state = (np.arange(problem.shape[0]) < columns).astype(np.int64)
    number = state.sum()
    products = problem.products
    residual_cross = problem.residual_cross(state, weights)
    sizes, likeness = np.array([0, 1, 3, 8]), problem.likeness
    for _ in range(300):
        _, (tried, accepted) = informed_moves(
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
            likeness,
            *SWAPS_ONLY,
            POWERS,
            5,
        )
        assert 0 <= accepted <= tried <= 5
    assert state.sum() == number
    assert_sound(problem, state, weights, residual_cross, name)


@pytest.mark.parametrize("with_flips", [False, True])
@pytest.mark.parametrize(
    "name", ["signed copies, noise variance 1.0", "signed copies, noise variance 1e-12"]
)
def test_the_tracked_residual_does_not_drift(name, with_flips):
    problem = awkward_problems()[name]
    rng = np.random.default_rng(29)
    weights = problem.draw_weights(rng)
    state = (np.arange(problem.shape[0]) < 3).astype(np.int64)
    residual_cross = problem.residual_cross(state, weights)
    data = (rng, state, weights, residual_cross, problem.products, problem.variances)
    prior = (problem.prior, problem.own, problem.odds)
    sizes, columns = np.array([0, 1, 3]), np.arange(len(state))
    likeness = problem.likeness
    flipped = swapped = 0
    for _ in range(10_000):
        if with_flips:
            flipped += collapsed_flips(*data, *prior, sizes, columns)[1]
        _, swaps = informed_moves(*data, *prior, sizes, likeness, *SWAPS_ONLY, POWERS, 5)
        swapped += swaps[1]
    assert swapped > 1000
    assert not with_flips or flipped > 1000
    assert_sound(problem, state, weights, residual_cross, name)


@pytest.mark.parametrize("power", [-0.5, 1.0, 2.0])
def test_visit_frequencies_are_exact_whatever_the_closed_form_is_worth(power):
    pool, target = small_data()
    exact = exact_state_probabilities(
        pool, target, log_prior=subset_log_prior(2), noise_variance=0.6
    )
    problem = Problem(pool, target, 0.6)
    # The odds of another noise variance, upside down in the first case.
    misled = replace(problem, noise_variance=0.2).likeness
    states, _, _ = run_chain(
        problem,
        30,
        ITERATIONS // 2,
        state=(1, 1, 0, 0),
        flips=False,
        number_of_swaps=2,
        likeness=misled,
        powers=(power,),
    )
    assert_visits_agree(exact, states[1000:])
