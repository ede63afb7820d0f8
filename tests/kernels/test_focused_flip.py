"""Visiting columns by their odds without bounds leaves the posterior with bounds alone."""

import numpy as np

from pymc_bid.graph.decomposition import WeightPrior
from pymc_bid.kernels.collapsed_flip import collapsed_flips
from pymc_bid.kernels.focused_flip import focused_flips
from tests.kernels.collapsed_chain import Problem, assert_sound, assert_visits_agree
from tests.kernels.test_collapsed_flip import small_data
from tests.reference.enumeration import bernoulli_log_prior, exact_state_probabilities


def test_visit_frequencies_are_exact_although_columns_are_left_out():
    pool, target = small_data()
    exact = exact_state_probabilities(
        pool, target, log_prior=bernoulli_log_prior(0.5), noise_variance=0.6
    )
    problem = Problem(pool, target, 0.6)
    rng = np.random.default_rng(31)
    prior = WeightPrior(*(np.array(field) for field in problem.prior))
    weights, state = problem.draw_weights(rng), np.zeros(4, np.int64)
    gram, cross = pool.T @ pool, pool.T @ target
    sizes = np.array([0, 1, 3])
    states = np.empty((60_000, 4), np.int64)
    for iteration in range(len(states)):
        residual_cross = problem.residual_cross(state, weights)
        arguments = (
            rng,
            state,
            weights,
            residual_cross,
            gram,
            problem.noise_variance,
            prior,
            problem.own,
            problem.odds,
            sizes,
        )
        # A threshold in the midst of the odds: what it lets through depends on the state.
        focused_flips(*arguments, cross, -0.5, 2)
        if iteration % 4 == 0:
            collapsed_flips(*arguments, np.arange(len(state)))
        states[iteration] = state
    assert_sound(problem, state, weights, residual_cross)
    assert_visits_agree(exact, states[1000:])
