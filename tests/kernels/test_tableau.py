"""Log odds from the tableau against differences of the evidence."""

import numpy as np
import pytest
from numba import njit

from pymc_bid.kernels.tableau import build_surrogate, log_odds_in
from tests.kernels.collapsed_chain import Problem
from tests.kernels.test_bounded_evidence import fit
from tests.kernels.test_own_column import own_log_density, small_matrix


@njit
def every_log_odds(state, products, noise_variance, prior, own, log_prior_odds):
    model = (products, noise_variance, prior, own)
    surrogate = build_surrogate(state, model, log_prior_odds)
    log_odds = np.empty(state.shape[0])
    for row in range(state.shape[0]):
        log_odds[row] = log_odds_in(state, row, model, surrogate)
    return log_odds


@pytest.mark.parametrize("identity", [False, True])
def test_log_odds_are_the_difference_that_a_column_makes(identity):
    matrix = small_matrix()
    mean = np.random.default_rng(1).normal(size=(4, 4))
    odds = np.array([0.3, -0.2, 0.0, 1.0])
    # Without bounds, where the surrogate is exact.
    problem = Problem(matrix, matrix, 0.7, mean, 1.3, -np.inf, np.inf, odds)
    if identity:
        problem.own_log_density = own_log_density(matrix)
    products, prior, own = problem.moments
    for state in np.ndindex(2, 2, 2, 2):
        found = every_log_odds(np.array(state), products, 0.7, prior, own, odds)
        for column in range(4):
            evidence = [
                fit(problem, np.where(np.arange(4) == column, value, state), 0.7)[0]
                for value in (1, 0)
            ]
            np.testing.assert_allclose(found[column], evidence[0] - evidence[1], atol=1e-9)
