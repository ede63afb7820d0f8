"""The scout: it brings chains together while tuning, and is gone afterwards."""

from itertools import combinations

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior
from pymc_bid.regression import reduce_regression
from pymc_bid.steps.tabu_scout import ENOUGH_RETURNS, INTERVAL, TabuScout
from pymc_bid.steps.warm_up import Chain, Setting, Sites, fit_state
from tests.reference.monte_carlo import assert_means_agree

PLANTED = bid.datasets.make_planted(rows=60, columns=16, rank=4, noise=0.2, seed=5)


def flip_step(model, **options):
    return bid.FlipStep([model["r"]], model=model, rng=np.random.default_rng(0), **options)


def test_chains_with_the_wrong_columns_are_brought_to_the_planted_ones():
    wrong = np.array([name not in PLANTED.columns for name in PLANTED.A.columns])
    start = np.zeros(16, dtype=int)
    start[np.flatnonzero(wrong)[:4]] = 1
    with bid.gbt(PLANTED.A, k=4):
        idata = pm.sample(
            draws=20,
            tune=100,
            chains=2,
            cores=1,
            initvals={"r": start},
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    assert (np.asarray(idata["posterior"]["r"]) == ~wrong).all()


def test_chains_from_every_start_agree_on_the_number_of_columns():
    rng = np.random.default_rng(3)
    data = np.repeat(rng.normal(size=(40, 5)), 2, axis=1)
    starts = [np.zeros(10, dtype=int), np.ones(10, dtype=int)]
    with bid.gbt(data):
        idata = pm.sample(
            draws=500,
            tune=100,
            chains=2,
            cores=1,
            initvals=[{"r": start} for start in starts],
            random_seed=2,
            progressbar=False,
            compute_convergence_checks=False,
        )
    r = np.asarray(idata["posterior"]["r"])
    # Every column is there twice: one of each pair is needed, the other one is not.
    assert (r.reshape(2, 500, 5, 2).sum(axis=-1) >= 1).all()
    empty, full = r.sum(axis=-1)
    assert_means_agree(empty, full, batches=25, label="K")


@pytest.mark.parametrize("options", [{"warm_up": False}, {"scheme": "paper"}])
def test_no_scout_where_it_is_not_wanted(options):
    model = bid.gbt(PLANTED.A)
    step = flip_step(model, **options)
    step.step(model.initial_point(random_seed=1))
    assert step.scout.iteration == 0


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("k", [None, 4])
def test_the_scout_rests_after_tuning_and_starts_anew_with_a_chain(k, identity):
    model = bid.gbt(PLANTED.A, k=k, identity=identity)
    step_type = bid.FlipStep if k is None else bid.SwapStep
    step = step_type([model["r"]], model=model, rng=np.random.default_rng(0))
    fresh = step.sampling_state
    point = model.initial_point(random_seed=1)
    for _ in range(2):
        point, _ = step.step(point)
    step.stop_tuning()
    before = step.sampling_state
    point, _ = step.step(point)
    assert step.scout.iteration == before.scout.iteration > 0
    step.sampling_state = fresh
    assert step.scout.iteration == 0
    assert step.tune


@pytest.mark.parametrize("bound", [0.4, 1.0])
@pytest.mark.parametrize("fixed_size", [True, False])
def test_a_chain_is_led_to_the_best_sets(bound, fixed_size):
    rng = np.random.default_rng(8)
    data = rng.normal(size=(25, 4)) @ rng.normal(size=(4, 10)) + 0.6 * rng.normal(size=(25, 10))
    products = reduce_regression(data, data).products
    prior = WeightPrior.of((10, 10), 0.0, 1.0, -bound, bound)
    setting = Setting(products, True, prior, OwnColumns.none(10), np.zeros(10))

    def chain_at(columns):
        state = np.isin(np.arange(10), columns).astype(np.int64)
        return Chain(state, np.zeros((10, 10)), np.full(10, 0.5))

    def evidence(columns):
        chain = chain_at(columns)
        similar, sites = setting.likeness(chain), Sites.none(products)
        return fit_state(chain.state, 0.5, chain, similar, setting, sites).log_evidence

    sizes = [4] if fixed_size else range(11)
    values = {
        columns: evidence(columns) for size in sizes for columns in combinations(range(10), size)
    }
    assert np.ptp(list(values.values())) > 30
    for start in (min(values, key=values.get), (0, 1, 2, 3), (6, 7, 8, 9)):
        chain, scout = chain_at(start), TabuScout(fixed_size)
        for _ in range(50):
            scout.advance(rng, chain, setting)
        found = values[tuple(np.flatnonzero(chain.state).tolist())]
        # Exact moves go to and fro between sets that are as close as that.
        assert found > max(values.values()) - 2
        assert np.all(np.abs(chain.weights) < bound)


def test_the_noise_variance_of_a_crowded_set_is_found_from_afar():
    # As many columns as rows, and nothing that they have in common: expectation-maximisation closes
    # a tenth of the distance at a time.
    data = np.random.default_rng(4).normal(size=(40, 60))
    products = reduce_regression(data, data).products
    prior = WeightPrior.of((60, 60), 0.0, 0.1, -1.0, 1.0)
    setting = Setting(products, True, prior, OwnColumns.none(60), np.zeros(60))
    state = (np.arange(60) < 40).astype(np.int64)

    def log_evidence(variance, noise_is_free):
        chain = Chain(state, np.zeros((60, 60)), np.full(60, variance), noise_is_free)
        similar, sites = setting.likeness(chain), Sites.none(products)
        return fit_state(state, variance, chain, similar, setting, sites).log_evidence

    at = {variance: log_evidence(variance, False) for variance in np.geomspace(0.05, 2, 40)}
    best = max(at, key=at.get)
    assert 0.1 < best < 1
    for factor in (0.2, 0.8, 1.5, 5):
        found = log_evidence(factor * best, True)
        # Between the values that were tried the evidence may be a little higher.
        assert -0.1 < found - at[best] < 0.5


def planted_setting():
    data = PLANTED.A.to_numpy()
    products = reduce_regression(data, data).products
    prior = WeightPrior.of((16, 16), 0.0, 1.0, -1.0, 1.0)
    return Setting(products, True, prior, OwnColumns.none(16), np.zeros(16))


def test_every_other_expedition_starts_from_the_set_of_the_chain(monkeypatch):
    setting = planted_setting()
    chain = Chain((np.arange(16) < 4).astype(np.int64), np.zeros((16, 16)), np.ones(16))
    rng, scout, distances = np.random.default_rng(3), TabuScout(True), []
    start = TabuScout._start

    def observed(self, rng, chain, setting):
        start(self, rng, chain, setting)
        distances.append(np.abs(self.camp.state - chain.state).sum())

    monkeypatch.setattr(TabuScout, "_start", observed)
    while len(distances) < 12:
        scout.advance(rng, chain, setting)
    assert not any(distances[1::2])
    # The first one starts from a random set whatever the rule for the others is.
    assert sum(distances[2::2]) > 0


def test_searches_become_rarer_when_they_lead_to_the_same_set_again(monkeypatch):
    setting = planted_setting()
    start = (np.arange(16) % 4 == 0).astype(np.int64)
    chain = Chain(start, np.zeros((16, 16)), np.ones(16))
    rng, scout, searched = np.random.default_rng(2), TabuScout(True), []
    search = TabuScout._search
    monkeypatch.setattr(
        TabuScout, "_search", lambda self, *given: searched.append(1) or search(self, *given)
    )
    numbers = []
    for _ in range(15):
        searched.clear()
        for _ in range(4 * INTERVAL):
            scout.advance(rng, chain, setting)
        numbers.append(len(searched))
    assert numbers[0] > 4 * INTERVAL
    assert numbers[-1] == 4
    assert scout.returns >= ENOUGH_RETURNS
