"""Tabu search over sets of columns against enumeration, and the landscape that it keeps up."""

from itertools import combinations

import numpy as np
import pytest
from numba import njit

from pymc_bid.kernels.tableau import build_surrogate, log_state_evidence
from pymc_bid.kernels.tabu_search import build_landscape, flip, rank_openings, search_sets
from tests.kernels.collapsed_chain import Problem


def crowded_problem(columns=12):
    """Columns that can stand in for each other, so that many sets are nearly as good."""
    rng = np.random.default_rng(3)
    pool = rng.normal(size=(30, 5)) @ rng.normal(size=(5, columns))
    pool += 0.5 * rng.normal(size=pool.shape)
    return Problem(pool, pool, 0.7, 0.2, 1.5)


@njit
def evidence(state, model, log_prior_odds):
    surrogate = build_surrogate(state, model, log_prior_odds)
    interpolated = np.ones(model[0][3].shape[1])
    return log_state_evidence(state, model, log_prior_odds, interpolated, surrogate)


def evidence_of(problem, state):
    moments, prior, own = problem.moments
    return evidence(state, (moments, 0.7, prior, own), problem.odds)


def search(rng, state, problem, exchanges, odds=None, further=None):
    """Search in place, with a number of columns that is free if some more are to go in or out."""
    odds = problem.odds if odds is None else odds
    free, further = further is not None, further or 0
    return search_sets(rng, state, 0.7, problem.moments, odds, exchanges, free, further)


def state_of(columns, size=12):
    return np.isin(np.arange(size), columns).astype(np.int64)


def test_the_search_finds_the_best_of_all_sets_from_any_start():
    problem = crowded_problem()
    rng = np.random.default_rng(1)
    for number in (1, 4, 6, 11):
        values = {
            columns: evidence_of(problem, state_of(columns))
            for columns in combinations(range(12), number)
        }
        best = max(values, key=values.get)
        for _ in range(5):
            start = state_of(rng.permutation(12)[:number])
            state = start.copy()
            gain = search(rng, state, problem, 60)
            assert np.flatnonzero(state).tolist() == list(best), number
            expected = values[best] - evidence_of(problem, start)
            np.testing.assert_allclose(gain, expected, rtol=1e-8, atol=1e-8)


def test_one_exchange_is_the_best_one():
    problem = crowded_problem()
    start = state_of([0, 1, 2, 3])
    state = start.copy()
    gain = search(np.random.default_rng(1), state, problem, 1)
    gains = {}
    for leaving in range(4):
        for entering in range(4, 12):
            columns = [column for column in range(4) if column != leaving]
            other = evidence_of(problem, state_of([*columns, entering]))
            gains[leaving, entering] = other - evidence_of(problem, start)
    leaving, entering = max(gains, key=gains.get)
    assert (state[leaving], state[entering]) == (0, 1)
    np.testing.assert_allclose(gain, gains[leaving, entering])


@pytest.mark.parametrize("size_is_free", [False, True])
def test_an_opening_is_worth_the_best_move_of_its_column(size_is_free):
    problem = crowded_problem()
    odds = problem.odds.copy()
    odds[3], odds[11] = np.inf, -np.inf
    start = state_of([0, 1, 2, 3])
    gains = np.empty(12)
    rank_openings(start, 0.7, problem.moments, odds, size_is_free, gains)

    def gain(*columns):
        state = start.copy()
        state[list(columns)] = 1 - state[list(columns)]
        return evidence_of(problem, state) - evidence_of(problem, start)

    for column in range(12):
        moves = [gain(leaving, column) for leaving in range(3)] if 4 <= column <= 10 else []
        if size_is_free and column not in (3, 11):
            moves.append(gain(column))
        np.testing.assert_allclose(gains[column], max(moves, default=-np.inf), rtol=1e-8)


def test_a_column_that_the_prior_forces_in_or_out_stays():
    problem = crowded_problem()
    odds = problem.odds.copy()
    odds[0], odds[11] = np.inf, -np.inf
    state = state_of([0, 1, 2, 3])
    search(np.random.default_rng(1), state, problem, 60, odds)
    assert (state[0], state[11], state.sum()) == (1, 0, 4)


def test_there_is_nothing_to_exchange_with_no_columns_or_all():
    problem = crowded_problem()
    for state in (np.zeros(12, np.int64), np.ones(12, np.int64)):
        after = state.copy()
        rng = np.random.default_rng(1)
        assert search(rng, after, problem, 5) == 0.0
        np.testing.assert_array_equal(after, state)


@pytest.mark.parametrize("start", [[], [0, 1, 2, 3], range(12)], ids=["none", "some", "all"])
def test_a_free_number_of_columns_grows_or_shrinks_while_that_pays(start):
    problem = crowded_problem()
    state = state_of(start)
    before = evidence_of(problem, state)
    gain = search(np.random.default_rng(1), state, problem, 0, further=0)
    after = evidence_of(problem, state)
    np.testing.assert_allclose(gain, after - before, rtol=1e-8, atol=1e-8)
    assert gain > 10
    for column in range(12):
        flipped = state.copy()
        flipped[column] = 1 - flipped[column]
        assert evidence_of(problem, flipped) < after


@pytest.mark.parametrize("further", [-2, -1, 1, 2])
def test_further_columns_go_in_or_out_those_that_cost_least(further):
    problem = crowded_problem()
    state = state_of([])
    search(np.random.default_rng(1), state, problem, 0, further=0)
    expected = state.copy()
    for _ in range(abs(further)):
        values = {}
        for column in np.flatnonzero(expected == (0 if further > 0 else 1)):
            flipped = expected.copy()
            flipped[column] = 1 - flipped[column]
            values[column] = evidence_of(problem, flipped)
        column = max(values, key=values.get)
        expected[column] = 1 - expected[column]
    search(np.random.default_rng(1), state, problem, 0, further=further)
    np.testing.assert_array_equal(state, expected)


def test_a_free_number_of_columns_leaves_those_that_the_prior_forces():
    problem = crowded_problem()
    for forced in (0, 1):
        odds = np.full(12, np.inf if forced else -np.inf)
        state = np.full(12, forced)
        assert search(np.random.default_rng(1), state, problem, 5, odds, further=1) == 0.0
        assert (state == forced).all()


@njit
def landscape_after(state, model, log_prior_odds, rows):
    """Return the landscape, kept up while columns are flipped, and built anew."""
    kept = build_landscape(state, model, log_prior_odds)
    for row in rows:
        flip(state, row, kept)
    return kept, build_landscape(state, model, log_prior_odds)


def test_the_landscape_is_kept_up():
    problem = crowded_problem()
    moments, prior, own = problem.moments
    model = (moments, 0.7, prior, own)
    state = state_of([0, 1, 2, 3])
    rows = np.array([3, 7, 3, 0, 11, 7])
    kept, anew = landscape_after(state, model, problem.odds, rows)
    assert np.flatnonzero(state).tolist() == [1, 2, 3, 11]
    for ours, expected in zip(kept, anew, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
