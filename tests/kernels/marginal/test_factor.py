"""Log odds by Cholesky factors against differences of log evidences."""

import numba
import numpy as np
import pytest

from pymc_bid.kernels.marginal.evidence import log_evidence
from pymc_bid.kernels.marginal.factor import (
    change_column,
    log_likelihood_of,
    log_odds_from_data,
    make_factor,
    write_factor,
)
from tests.helpers.marginals import make_marginal, masked_marginal, small_matrix

VARIANCE = 0.3


@numba.njit
def odds_along(state, columns, marginal):
    """Log odds of every column, and the log likelihood, after each of several changes."""
    size = state.size
    factor = make_factor(size, marginal.squares.size, marginal.block_pattern.size)
    write_factor(state, marginal.held, marginal, factor)
    found = np.empty((columns.size, size + 1))
    for step in range(columns.size):
        change_column(state, columns[step], marginal, factor)
        for column in range(size):
            found[step, column] = log_odds_from_data(state, column, marginal, factor)
        found[step, size] = log_likelihood_of(state, marginal, factor)
    return found


def check(marginal):
    state = np.array([1, 0, 1, 0, 0])
    columns = np.array([1, 4, 0, 2, 1, 3, 0])
    for column, found in zip(columns, odds_along(state.copy(), columns, marginal), strict=True):
        state[column] = 1 - state[column]
        assert found[5] == pytest.approx(log_evidence(state, marginal), abs=1e-8)
        for other in range(5):
            with_it, without = state.copy(), state.copy()
            with_it[other], without[other] = 1, 0
            expected = log_evidence(with_it, marginal) - log_evidence(without, marginal)
            assert found[other] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
@pytest.mark.parametrize(("tau", "mu"), [(1.0, 0.0), (2.0, 0.3)])
def test_log_odds_are_differences_of_log_evidences(identity, noise, tau, mu):
    check(make_marginal(small_matrix(8), identity, noise, tau, mu, held=VARIANCE))


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
def test_with_missing_entries(identity, noise):
    A = small_matrix(12)
    observed = np.random.default_rng(1).random(A.shape) < 0.7
    check(masked_marginal(A, observed, identity, noise, held=VARIANCE))
