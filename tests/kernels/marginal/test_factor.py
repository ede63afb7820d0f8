"""Log odds of all columns by triangular factors against differences of log evidences."""

import numba
import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.kernels.by_reference import by_reference
from pymc_bid.kernels.marginal import factor as kernel
from pymc_bid.kernels.marginal import scores as scoring
from pymc_bid.kernels.marginal.evidence import log_evidence
from tests.helpers.marginals import make_marginal, marginal_of, masked_marginal, small_matrix

COLUMNS = 12


@numba.njit
def follow(path, group, state, variances, marginal):
    """Factor a set, take columns in and out, and triple the noise of a group (-1: of none).

    Returns the log evidence, the scores, those of members and the scores with each member dropped.
    """
    columns, marginal = state.size, by_reference(marginal)
    factor = kernel.make_factor(state, variances, marginal)
    for column in path:
        if state[column] == 1:
            kernel.make_last(column, marginal, factor)
            kernel.take_last_out(state, marginal, factor)
        else:
            kernel.take_in(column, state, marginal, variances, factor)
    if group >= 0:
        variances[group] *= 3.0
        for q in range(marginal.group_start[group], marginal.group_start[group + 1]):
            kernel.write_block(q, variances[group], marginal, factor)
    total = (factor.log_evidence * factor.interpolated).sum()
    scores, members, dropped = (
        np.empty(columns),
        np.zeros(columns),
        np.zeros((columns, columns)),
    )
    scoring.score_columns(False, marginal, factor, scores)
    for column in np.flatnonzero(state):
        kernel.make_last(column, marginal, factor)
        members[column] = scoring.score_last(marginal, factor)
        scoring.score_columns(True, marginal, factor, dropped[column])
    return total, scores, members, dropped


def flipped(state, column):
    changed = state.copy()
    changed[column] = 1 - changed[column]
    return changed


def check(path, group, state, variances, marginal):
    """Compare everything that a factor says with evidences at held noise; return both."""
    state, variances = state.copy(), variances.copy()
    total, scores, members, dropped = follow(path, group, state, variances, marginal)
    at_noise = marginal._replace(
        held=variances,
        own_groups=marginal.own_groups[:, :0],
        shape=np.zeros(variances.size),
        scale=np.zeros(variances.size),
    )
    present = log_evidence(state, at_noise)
    total += marginal.own_log_densities[state == 1].sum()
    assert total == pytest.approx(present, abs=1e-8)
    for column in np.flatnonzero(state == 0):
        expected = log_evidence(flipped(state, column), at_noise) - present
        assert scores[column] == pytest.approx(expected, abs=1e-8)
    for column in np.flatnonzero(state):
        without = flipped(state, column)
        rest = log_evidence(without, at_noise)
        assert members[column] == pytest.approx(present - rest, abs=1e-8)
        for candidate in np.flatnonzero(without == 0):
            expected = log_evidence(flipped(without, candidate), at_noise) - rest
            assert dropped[column, candidate] == pytest.approx(expected, abs=1e-8)
    return state, variances


def check_everywhere(marginal):
    """At a new factor, after many changes, and after another noise variance of one group."""
    rng = np.random.default_rng(3)
    state = np.zeros(COLUMNS, np.int64)
    state[[0, 3]] = 1
    variances = 0.3 * np.exp(0.5 * rng.normal(size=marginal.shape.size))
    nowhere = np.empty(0, np.int64)
    check(nowhere, -1, state, variances, marginal)
    # To and from all columns, for which there is no room at first.
    everything = np.flatnonzero(state == 0)
    check(everything, -1, state, variances, marginal)
    path = np.concatenate([everything, rng.integers(COLUMNS, size=60)])
    reached, _ = check(path, -1, state, variances, marginal)
    check(path, variances.size // 2, state, variances, marginal)
    back = np.concatenate([path, np.flatnonzero(reached)])
    empty, _ = check(back, -1, state, variances, marginal)
    assert not empty.any()


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


@pytest.mark.filterwarnings("ignore:A has columns that are copies")
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
