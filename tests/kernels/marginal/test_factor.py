"""Log odds of all columns by triangular factors against differences of log evidences."""

import numba
import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.kernels.marginal import factor as kernel
from pymc_bid.kernels.marginal import scores as scoring
from pymc_bid.kernels.marginal.evidence import log_evidence
from tests.helpers.marginals import make_marginal, marginal_of, masked_marginal, small_matrix

COLUMNS = 12


@numba.njit
def make_factor(state, variances, marginal):
    return kernel.make_factor(state, variances, marginal)


@numba.njit
def score_columns(dropping, marginal, factor, scores):
    scoring.score_columns(dropping, marginal, factor, scores)


@numba.njit
def score_member(column, marginal, factor):
    """Where it stands, and as the last one."""
    before = scoring.score_member(column, marginal, factor)
    kernel.make_last(column, marginal, factor)
    return before, scoring.score_member(column, marginal, factor)


@numba.njit
def change(columns, state, variances, marginal, factor):
    for column in columns:
        if state[column] == 1:
            kernel.make_last(column, marginal, factor)
            kernel.take_last_out(state, marginal, factor)
        else:
            factor = kernel.take_in(column, state, marginal, variances, factor)
    return factor


@numba.njit
def write_group(group, variance, marginal, factor):
    for q in range(marginal.group_start[group], marginal.group_start[group + 1]):
        kernel.write_block(q, variance, marginal, factor)


def flipped(state, column):
    changed = state.copy()
    changed[column] = 1 - changed[column]
    return changed


def check(state, variances, marginal, factor):
    """Compare everything that a factor says with evidences at held noise."""
    held = marginal._replace(
        held=variances,
        own_groups=marginal.own_groups[:, :0],
        shape=np.zeros(variances.size),
        scale=np.zeros(variances.size),
    )
    present, scores = log_evidence(state, held), np.empty(state.size)
    found = factor.log_evidence[factor.interpolated == 1.0].sum()
    found += marginal.own_log_densities[state == 1].sum()
    assert found == pytest.approx(present, abs=1e-8)
    score_columns(False, marginal, factor, scores)
    for column in np.flatnonzero(state == 0):
        expected = log_evidence(flipped(state, column), held) - present
        assert scores[column] == pytest.approx(expected, abs=1e-8)
    for column in np.flatnonzero(state):
        without = flipped(state, column)
        rest = log_evidence(without, held)
        for found in score_member(column, marginal, factor):
            assert found == pytest.approx(present - rest, abs=1e-8)
        score_columns(True, marginal, factor, scores)
        for candidate in np.flatnonzero(without == 0):
            expected = log_evidence(flipped(without, candidate), held) - rest
            assert scores[candidate] == pytest.approx(expected, abs=1e-8)


def check_everywhere(marginal):
    """At a new factor, after many changes, and after another noise variance of one group."""
    rng = np.random.default_rng(3)
    state = np.zeros(COLUMNS, np.int64)
    state[[0, 3]] = 1
    variances = 0.3 * np.exp(0.5 * rng.normal(size=marginal.shape.size))
    factor = make_factor(state, variances, marginal)
    check(state, variances, marginal, factor)
    # To and from all columns, for which there is no room at first.
    for column in np.flatnonzero(state == 0):
        factor = change(np.array([column]), state, variances, marginal, factor)
    check(state, variances, marginal, factor)
    factor = change(rng.integers(COLUMNS, size=60), state, variances, marginal, factor)
    check(state, variances, marginal, factor)
    group = variances.size // 2
    variances[group] *= 3.0
    write_group(group, variances[group], marginal, factor)
    check(state, variances, marginal, factor)
    factor = change(np.flatnonzero(state), state, variances, marginal, factor)
    assert not state.any()
    check(state, variances, marginal, factor)


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
@pytest.mark.parametrize(("tau", "mu"), [(1.0, 0.0), (2.0, 0.3)])
def test_log_odds_are_differences_of_log_evidences(identity, noise, tau, mu):
    check_everywhere(make_marginal(small_matrix(9, COLUMNS), identity, noise, tau, mu))


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
def test_with_missing_entries(identity, noise):
    A = small_matrix(16, COLUMNS)
    observed = np.random.default_rng(1).random(A.shape) < 0.7
    check_everywhere(masked_marginal(A, observed, identity, noise))


@pytest.mark.parametrize("noise", ["common", "column"])
def test_with_bounds_and_few_patterns(noise):
    A = small_matrix(16, COLUMNS)
    A[:3, ::2] = np.nan
    A[1:4, 5] = np.nan
    model = bid.gbt(A, identity=True, noise=noise, missing="mask", bounds=(-1.0, 2.0))
    marginal, _ = marginal_of(model)
    assert len(marginal.grams) == 3
    assert (marginal.log_constants > 0).all()
    assert marginal.own_groups.shape[1] == (noise == "column")
    check_everywhere(marginal)
