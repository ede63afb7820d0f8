"""Chains start apart, so that a sampler that is stuck shows; a start the user gives is kept."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.graph.decomposition import find_decompositions
from pymc_bid.steps.first_state import thin_out
from tests.helpers.cases import handwritten, small_data

POOL, TARGET = small_data(pool_columns=8)
SUPPORT_POINT = np.ones(8, int)


@pytest.fixture(autouse=True)
def stuck_steps(monkeypatch):
    """Steps whose moves do nothing, so that every draw is the start."""
    for step in (bid.FlipStep, bid.SwapStep):
        monkeypatch.setattr(step, "_collapsed", lambda self, point: ({}, point))


def starts(model, chains=3, seed=8, **options):
    with model:
        idata = pm.sample(
            draws=chains,  # fewer than chains make ArviZ warn
            tune=1,
            chains=chains,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            **{"cores": 1, **options},
        )
    r = np.asarray(idata["posterior"]["r"])
    assert (r == r[:, :1]).all()
    return r[:, 0]


@pytest.mark.parametrize("k", [None, 3])
def test_chains_of_a_handwritten_graph_start_apart(k):
    found = starts(handwritten(POOL, TARGET, k=k), cores=1)
    assert len(np.unique(found, axis=0)) == 3
    assert k is None or (found.sum(axis=1) == k).all()
    # The seed says where, whatever runs the chains.
    model = handwritten(POOL, TARGET, k=k)
    np.testing.assert_array_equal(starts(model, cores=2, mp_ctx="fork"), found)
    assert (starts(model, seed=9) != found).any()


def test_chains_of_a_step_made_by_hand_start_apart():
    model = handwritten(POOL, TARGET)
    with model:
        step = bid.FlipStep(model["r"])
    assert len(np.unique(starts(model, step=[step]), axis=0)) == 3


@pytest.mark.parametrize("cores", [1, 2])
def test_initvals_are_kept(cores):
    none, other = np.zeros(8, int), np.arange(8) % 2
    given = [{"r": none}, {"r": other}, {"r": none}]
    found = starts(handwritten(POOL, TARGET), initvals=given, cores=cores, mp_ctx="fork")
    np.testing.assert_array_equal(found, [none, other, none])


def test_a_state_vector_keeps_initvals_whatever_they_are():
    ones = np.ones(8, int)
    found = starts(bid.gbt(TARGET, pool=POOL), initvals={"r": ones}, chains=2)
    np.testing.assert_array_equal(found, [ones, ones])
    first = (np.arange(8) < 3).astype(int)
    with handwritten(POOL, TARGET, k=3) as model:
        found = starts(model, initvals={"r": first}, chains=2)
    np.testing.assert_array_equal(found, [first, first])


def test_the_model_is_left_as_it_was():
    model = handwritten(POOL, TARGET)
    starts(model)
    assert model.rvs_to_initial_values[model["r"]] is None


@pytest.mark.parametrize("initval", ["support_point", SUPPORT_POINT])
def test_an_initval_of_the_model_is_kept(initval):
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=8, initval=initval)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(8, 2))
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=1.0, observed=TARGET)
    np.testing.assert_array_equal(starts(model, chains=2), [SUPPORT_POINT] * 2)


def test_variables_that_are_no_state_vector_keep_their_start():
    with pm.Model() as model:
        b = pm.Bernoulli("b", 0.5, shape=8)
        pm.Normal("y", b.sum(), observed=1.0)
        pm.sample(draws=1, tune=0, chains=1, progressbar=False, compute_convergence_checks=False)
    assert model.rvs_to_initial_values[b] is None


@pytest.mark.parametrize("most", [1e9, 0.0])
def test_a_wide_chain_starts_with_few_columns_and_keeps_those_that_are_forced(most, monkeypatch):
    monkeypatch.setattr("pymc_bid.steps.first_state.MOST_START_WORK", most)
    forced = np.full(30, 0.5)
    forced[[3, 8]] = 1.0
    model = bid.gbt(np.random.default_rng(0).normal(size=(9, 30)), inclusion=forced)
    joint = find_decompositions(model)[0].joint
    point = model.initial_point() | {"r": np.ones(30, int)}
    found = thin_out(np.random.default_rng(1), joint, point)["r"]
    assert found.sum() == (30 if most else 12)
    assert found[[3, 8]].all()
    # Whose starts they are.
    assert (point["r"] == 1).all()
