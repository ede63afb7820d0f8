"""What the bounds do to the log odds of a column against fits with the column in and out."""

import numpy as np
import pytest

from pymc_bid.kernels.bound_effects import bound_effects
from tests.kernels.collapsed_chain import Problem
from tests.kernels.test_bounded_evidence import fit, tight_problem
from tests.kernels.test_collapsed_flip import INFINITE


def effects_at(problem, state, pool_is_target=False):
    columns, targets = problem.shape
    sites = (np.zeros((targets, columns)), np.zeros((targets, columns)))
    log_masses = fit(problem, state, 0.5, sites)[4]
    effects = np.empty(columns)
    bound_effects(state, 0.5, problem.moments, *sites, log_masses, pool_is_target, effects)
    return effects


def masses(problem, state):
    """Return the log of the mass that the bounds leave to all targets."""
    return fit(problem, state, 0.5)[4].sum()


def differences(problem, state):
    """Return what the bounds add to the evidence with each column in, less that without it."""
    result = np.empty(state.size)
    for column in range(state.size):
        inside, outside = (
            np.where(np.arange(state.size) == column, value, state) for value in (1, 0)
        )
        result[column] = masses(problem, inside) - masses(problem, outside)
    return result


def test_effects_are_those_of_fits_with_and_without_a_column():
    problem = tight_problem()
    state = (np.arange(12) % 3 > 0).astype(int)
    effects, expected = effects_at(problem, state), differences(problem, state)
    assert np.abs(expected).max() > 5
    assert np.corrcoef(effects, expected)[0, 1] > 0.95
    assert np.abs(effects - expected).max() < 0.35 * np.abs(expected).max()


def test_a_column_as_its_own_target_is_relieved_of_its_bounds():
    pool = tight_problem().pool[:, :8].copy()
    pool[:, 2] *= 6
    problem = Problem(pool, pool)
    for state in (np.array([1, 1, 1, 0, 0, 1, 0, 1]), np.array([1, 1, 0, 0, 0, 1, 0, 1])):
        effects = effects_at(problem, state, pool_is_target=True)
        expected = differences(problem, state)
        assert expected[2] > 5
        np.testing.assert_allclose(effects, expected, atol=1.0)


@pytest.mark.parametrize("number", [0, 5, 12])
def test_without_bounds_there_are_no_effects(number):
    problem = tight_problem()
    problem.lower, problem.upper = -INFINITE, INFINITE
    state = (np.arange(12) < number).astype(int)
    np.testing.assert_allclose(effects_at(problem, state), 0.0, atol=1e-9)
