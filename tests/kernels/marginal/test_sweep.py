"""Log odds by the sweep operator against differences of log evidences."""

import numba
import numpy as np
import pytest

from pymc_bid.kernels.marginal.evidence import log_evidence
from pymc_bid.kernels.marginal.sweep import (
    build_table,
    change_column,
    log_odds_from_data,
    prior_constants,
)
from tests.kernels.marginal.marginals import make_marginal, small_matrix

VARIANCE = 0.3


@numba.njit
def log_odds_along(state, columns, variance, marginal):
    """Log odds of every column, after each of several changes."""
    size = state.size
    values = np.empty((size, 2 * size))
    table = build_table(state, variance, marginal, prior_constants(marginal), values)
    found = np.empty((columns.size, size))
    for step in range(columns.size):
        change_column(state, columns[step], marginal, table)
        for column in range(size):
            found[step, column] = log_odds_from_data(state, column, variance, marginal, table)
    return found


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize(("tau", "mu"), [(1.0, 0.0), (2.0, 0.3)])
def test_log_odds_are_differences_of_log_evidences(identity, tau, mu):
    marginal = make_marginal(small_matrix(8), identity, "common", tau, mu, held=VARIANCE)
    state = np.array([1, 0, 1, 0, 0])
    columns = np.array([1, 4, 0, 2, 1, 3, 0])
    found = log_odds_along(state.copy(), columns, VARIANCE, marginal)
    for column, odds in zip(columns, found, strict=True):
        state[column] = 1 - state[column]
        for other in range(5):
            with_it, without = state.copy(), state.copy()
            with_it[other], without[other] = 1, 0
            expected = log_evidence(with_it, marginal) - log_evidence(without, marginal)
            assert odds[other] == pytest.approx(expected, abs=1e-8)
