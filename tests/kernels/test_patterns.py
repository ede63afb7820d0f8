"""Collapsed moves where noise and missing entries differ between targets, against enumeration."""

import numpy as np
import pytest

from tests.kernels.collapsed_chain import Problem, assert_visits_agree, run_chain
from tests.kernels.test_collapsed_flip import small_data
from tests.kernels.test_own_column import small_matrix
from tests.reference.enumeration import bernoulli_log_prior, exact_state_probabilities_by_target

VARIANCES = np.array([0.3, 0.6, 1.5, 0.8])


def with_gaps(shape, seed=4):
    """Row weights of which some are zero."""
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, 0.5, size=shape) * (rng.random(shape) > 0.2)


@pytest.mark.parametrize("swaps", [0, 2])
def test_visit_frequencies_are_exact(swaps):
    pool, target = small_data()
    gaps = with_gaps(target.shape)
    assert (gaps == 0).any()
    exact = exact_state_probabilities_by_target(
        pool, target, gaps, VARIANCES[:3], log_prior=bernoulli_log_prior(0.4)
    )
    problem = Problem(pool, target, VARIANCES[:3], log_prior_odds=np.log(0.4 / 0.6))
    problem.row_weights = gaps
    states, _, _ = run_chain(problem, 41, 60_000, number_of_swaps=swaps)
    assert_visits_agree(exact, states[1000:])


def test_visit_frequencies_are_exact_with_the_identity():
    matrix = small_matrix()
    gaps = with_gaps(matrix.shape)
    own = np.array([-5.9, -4.4, -6.9, -5.3])
    exact = exact_state_probabilities_by_target(
        matrix,
        matrix,
        gaps,
        VARIANCES,
        log_prior=bernoulli_log_prior(0.4),
        own_log_density=own,
    )
    problem = Problem(matrix, matrix, VARIANCES, log_prior_odds=np.log(0.4 / 0.6))
    problem.row_weights, problem.own_log_density = gaps, own
    states, _, _ = run_chain(problem, 42, 60_000, number_of_swaps=1)
    assert_visits_agree(exact, states[1000:])
