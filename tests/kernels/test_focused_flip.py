"""Visiting columns by their odds without bounds leaves the posterior with bounds alone."""

import numpy as np
import pytest

from pymc_bid.kernels.collapsed_flip import collapsed_flips
from pymc_bid.kernels.informed_moves import informed_moves
from tests.kernels.collapsed_chain import (
    POWERS,
    Problem,
    assert_sound,
    assert_visits_agree,
    awkward_problems,
)
from tests.kernels.test_collapsed_flip import small_data
from tests.reference.enumeration import bernoulli_log_prior, exact_state_probabilities


def test_visit_frequencies_are_exact_although_columns_are_left_out():
    pool, target = small_data()
    exact = exact_state_probabilities(
        pool, target, log_prior=bernoulli_log_prior(0.5), noise_variance=0.6
    )
    problem = Problem(pool, target, 0.6)
    rng = np.random.default_rng(31)
    prior = problem.prior
    weights, state = problem.draw_weights(rng), np.zeros(4, np.int64)
    products, _, own = problem.moments
    sizes, likeness = np.array([0, 1, 3]), problem.likeness
    states = np.empty((60_000, 4), np.int64)
    for iteration in range(len(states)):
        residual_cross = problem.residual_cross(state, weights)
        arguments = (
            rng,
            state,
            weights,
            residual_cross,
            products,
            problem.variances,
            prior,
            own,
            problem.odds,
            sizes,
        )
        # A threshold in the midst of the odds: what it lets through depends on the state.
        informed_moves(*arguments, likeness, (-0.5, 2.0), 2, POWERS, 0)
        if iteration % 4 == 0:
            collapsed_flips(*arguments, np.arange(len(state)))
        states[iteration] = state
    assert_sound(problem, state, weights, residual_cross)
    assert_visits_agree(exact, states[1000:])


@pytest.mark.parametrize("name", awkward_problems())
@pytest.mark.parametrize("start", [0, 1])
def test_nothing_is_lost_to_rounding(name, start):
    problem = awkward_problems()[name]
    rng = np.random.default_rng(32)
    weights, state = problem.draw_weights(rng), np.full(problem.shape[0], start)
    products, prior, own = problem.moments
    residual_cross = problem.residual_cross(state, weights)
    data = (rng, state, weights, residual_cross, products, problem.variances)
    likeness = problem.likeness
    sizes = np.array([0, 1, 3, 8])
    for _ in range(100):
        informed_moves(
            *data, prior, own, problem.odds, sizes, likeness, (-20.0, np.inf), 3, POWERS, 2
        )
    assert_sound(problem, state, weights, residual_cross, name)
