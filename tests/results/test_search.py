"""The best set of each size that the search finds, against enumeration and planted sets."""

from itertools import combinations

import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.evidence import SetsOfModel
from pymc_bid.results.search import BestSets

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.filterwarnings("ignore:A has columns:UserWarning")
@pytest.mark.parametrize("copies", [False, True])
def test_the_best_set_of_each_size_is_that_of_all(copies):
    A = bid.datasets.make_planted(rows=40, columns=6, rank=3, noise=0.5, seed=2).A
    if copies:
        A["copy"] = A["c01"] + 1e-3 * np.random.default_rng(0).normal(size=40)
        A["twin"] = -A["c03"]
    else:
        A = A.assign(x=A["c00"] - A["c01"], y=np.random.default_rng(1).normal(size=40))
    sets = SetsOfModel(bid.column_selection(A))
    found, (_, values) = BestSets(sets).of_sizes(range(9)), enumerate_best(sets)
    assert [found[size].value for size in range(9)] == pytest.approx(values, abs=1e-6)


def enumerate_best(sets):
    """Return the best set of each size, and what it has."""

    def measure(state):
        return sets.with_bounds(state) + sets.log_prior(state)

    places = np.arange(len(sets.labels))
    every = (
        [np.isin(places, columns).astype(np.int64) for columns in combinations(places, size)]
        for size in range(places.size + 1)
    )
    best = [max(states, key=measure) for states in every]
    return best, [measure(state) for state in best]


@pytest.mark.parametrize("seed", [0, 4, 5, 9])
def test_the_best_sets_of_correlated_columns_are_those_of_enumeration(seed):
    """Sets that columns are added to one by one end elsewhere."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(25, 3)) @ rng.normal(size=(3, 9)) + 0.5 * rng.normal(size=(25, 9))
    model = bid.column_selection(A)
    curve = bid.size_curve(model, range(10), draws=2, random_seed=1)
    sets = SetsOfModel(model)
    assert curve["columns"].tolist() == [sets.labels_of(best) for best in enumerate_best(sets)[0]]


@pytest.fixture(scope="module")
def hidden():
    """A planted set that none of its columns leads to, taken alone."""
    return bid.datasets.make_planted(rows=90, columns=15, rank=6, noise=0.3, seed=1)


def test_the_curve_has_the_planted_set_whatever_other_sizes_are_asked_for(hidden):
    model = bid.column_selection(hidden.A)
    several, one = (
        bid.size_curve(model, sizes, draws=2, random_seed=1)["columns"]
        for sizes in (range(1, 9), [6])
    )
    assert several[6] == one[6] == hidden.columns


def test_the_best_set_found_of_a_fixed_size_is_the_planted_one(hidden):
    model = bid.column_selection(hidden.A, k=6)
    scores = bid.score_sets(model, {"mine": ["c00"]}, draws=2, random_seed=1)
    assert scores.loc["best found", "columns"] == hidden.columns
    near = [*hidden.columns[1:], next(c for c in hidden.A if c not in hidden.columns)]
    assert "best found" in bid.score_sets(model, {"near": near}, draws=2, random_seed=1).index


def test_the_best_set_found_of_any_size_is_the_planted_one():
    planted = bid.datasets.make_planted(rows=90, columns=15, rank=5, noise=0.3, seed=16)
    model = bid.column_selection(planted.A)
    scores = bid.score_sets(model, {"mine": ["c00"]}, draws=2, random_seed=1)
    assert scores.loc["best found", "columns"] == planted.columns


def test_a_size_that_forced_columns_rule_out_costs_no_search(hidden, monkeypatch):
    sets = SetsOfModel(bid.column_selection(hidden.A, include=["c00"], exclude=["c01"]))
    best = BestSets(sets)
    monkeypatch.setattr(best, "_search", lambda most: pytest.fail("searched"))
    assert best.of_sizes([0, 15]) == {}
