"""The ladder: what it reports, how it is tuned, and that it crosses between modes."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.steps import marginal
from pymc_bid.steps.settings import BOUNDS_FROM
from tests.helpers.cases import small_data

POOL, TARGET = small_data(rows=30, pool_columns=6, target_columns=4)
QUIET = {"progressbar": False, "compute_convergence_checks": False, "random_seed": 2}


def step_of(model, **options):
    with model:
        return bid.FlipStep(model["r"], rng=np.random.default_rng(1), **options)


def run(step, model, iterations):
    point, reports = model.initial_point(random_seed=1), []
    for _ in range(iterations):
        point, (report,) = step.step(point)
        reports.append(report)
    return point, reports


@pytest.mark.parametrize("noise", ["common", "column"])
def test_sets_come_down_the_ladder_and_are_taken(noise):
    model = bid.gbt(POOL, identity=True, noise=noise)
    with model:
        statistics = pm.sample(draws=200, tune=200, chains=2, cores=1, **QUIET)["sample_stats"]
    assert (np.asarray(statistics["bid_round_trips"]).sum(axis=1) > 5).all()
    tried = np.asarray(statistics["bid_exchanges_tried"]).sum(axis=1)
    assert (tried == 100).all()
    assert (np.asarray(statistics["bid_exchanges_accepted"]).sum(axis=1) > 90).all()


def test_powers_are_placed_while_tuning_and_frozen_then():
    model = bid.gbt(POOL)
    step = step_of(model)
    point, _ = run(step, model, 30)
    early = step.ladder.replicas.powers
    step.stop_tuning()
    for _ in range(60):
        point, _ = step.step(point)
    assert step.ladder.replicas.powers is early
    assert early[0] == 1.0 and early[-1] == 0.0
    assert (np.diff(early) < 0).all()
    # From one power for each halving to as many as the exchanges need.
    assert early.size < 2 + np.log2(POOL.size / 2)


@pytest.mark.parametrize("noise", ["common", "column"])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), None])
def test_the_path_at_given_noise_ends_at_the_bounds_if_there_are_any(bounds, noise, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", 2)
    model = bid.gbt(POOL, identity=True, noise=noise, bounds=bounds)
    step = step_of(model)
    assert step.ladder.given_noise
    point = model.initial_point(random_seed=1)
    # Where it starts, and after it has been placed anew.
    for iterations in (1, 70):
        for _ in range(iterations):
            point, _ = step.step(point)
        replicas = step.ladder.replicas
        powers, bound_powers = replicas.powers, replicas.bound_powers
        assert powers[0] == 1.0 and powers[-1] == 0.0 and bound_powers[-1] == 0.0
        assert (np.diff(powers) < 0).all() and (np.diff(bound_powers) <= 0).all()
        assert step.ladder.knows_bounds == (bounds is not None)
        assert bound_powers[0] == (0.0 if bounds is None else 1.0)
        # The bounds come in where sets still move, and not before.
        assert ((bound_powers > 0) == ((powers > BOUNDS_FROM) & (bounds is not None))).all()
        known = replicas.log_masses[bound_powers > 0]
        assert (known <= 0).all()


def test_rungs_have_powers_of_the_bounds_where_there_are_bounds():
    for bounds in ((-1.0, 1.0), None):
        model = bid.gbt(POOL, bounds=bounds)
        step = step_of(model)
        run(step, model, 40)
        assert step.ladder.replicas.bound_powers.any() == (bounds is not None)


def test_without_warm_up_there_is_one_replica():
    model = bid.gbt(POOL)
    step = step_of(model, warm_up=False)
    _, reports = run(step, model, 40)
    assert step.ladder.replicas.powers.tolist() == [1.0]
    assert sum(report["bid_round_trips"] for report in reports) == 0
    assert sum(report["bid_exchanges_accepted"] for report in reports) > 0


def test_columns_that_are_forced_stay_where_they_are():
    inclusion = np.array([1.0, 0.0, 0.5, 0.5, 0.5, 0.5])
    with bid.gbt(POOL, identity=True, inclusion=inclusion):
        r = np.asarray(pm.sample(draws=400, tune=50, chains=1, **QUIET)["posterior"]["r"])[0]
    assert (r[:, 0] == 1).all() and (r[:, 1] == 0).all()
    assert np.ptp(r[:, 2:]) == 1


def two_modes():
    """A matrix that two or three of nine columns explain with much noise, or eight with little.

    By enumeration, P(K ≤ 3) = 0.49 and P(K ≥ 7) = 0.42; found by looking at many random ones.
    """
    rng = np.random.default_rng(262)
    rows, noise, _ = rng.integers(8, 16), rng.uniform(0.3, 1.0), rng.choice(5)
    loadings = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, 9)) / 2
    return loadings + noise * rng.normal(size=(rows, 9))


def test_a_chain_crosses_between_few_columns_and_many():
    with bid.gbt(two_modes(), bounds=None):
        posterior = pm.sample(draws=4000, tune=500, chains=1, **QUIET)["posterior"]
    K, sigma2 = (np.asarray(posterior[name])[0] for name in ("K", "sigma2"))
    few, many = K <= 3, K >= 7
    assert np.median(sigma2[few]) > 3 * np.median(sigma2[many])
    side = np.where(few, -1, np.where(many, 1, 0))
    assert (np.diff(side[side != 0]) != 0).sum() >= 20
    # A binomial error would take draws for independent; these are not, by a factor of some 50.
    assert few.mean() == pytest.approx(0.49, abs=0.16)
