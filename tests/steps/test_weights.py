"""How many sweeps a step of the weights takes; more of them change nothing but the pace."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.steps.weights import SWEEPS_IF_CROWDED
from tests.reference.monte_carlo import assert_means_agree

CROWD = np.random.default_rng(2).normal(size=(6, 5))


def draws_of(model, draws, **options):
    """Return σ² and the weights of the chosen columns, which stand still."""
    rng = np.random.default_rng(4)
    noise = bid.NoiseStep([model["sigma2"]], model=model, rng=rng)
    weights = bid.WeightStep([model["Y"]], model=model, rng=rng, **options)
    point = model.initial_point(random_seed=1)
    point["r"] = np.array([1, 1, 1, 1, 0])
    name = model.rvs_to_values[model["sigma2"]].name
    rows = np.empty((draws, 21))
    for row in rows:
        point, _ = noise.step(point)
        point, (statistics,) = weights.step(point)
        row[0] = point[name]
        row[1:] = model_weights(model, point)[:4].ravel()
    return rows, statistics["bid_nu"]


def model_weights(model, point):
    value = model.rvs_to_values[model["Y"]]
    transform = model.rvs_to_transforms[model["Y"]]
    given = point[value.name]
    if transform is None:
        return given
    return transform.backward(given, *model["Y"].owner.inputs).eval()


@pytest.mark.parametrize("make", [bid.gbt, bid.gbtn])
def test_the_sweeps_of_a_crowded_set_have_the_same_posterior(make):
    model = make(CROWD, k=4)
    crowded, sweeps = draws_of(model, 2000)
    assert sweeps == SWEEPS_IF_CROWDED
    single, sweeps = draws_of(model, 10_000, nu=1)
    assert sweeps == 1
    for power in (1, 2):
        assert_means_agree(crowded**power, single**power, label=f"power {power}")


@pytest.mark.parametrize("k", [3, None])
def test_few_columns_are_swept_as_often_as_asked_for(k):
    model = bid.gbt(np.random.default_rng(3).normal(size=(30, 6)), k=k)
    for options, sweeps in (({}, 1), ({"nu": 5}, 5)):
        step = bid.WeightStep([model["Y"]], model=model, **options)
        _, (statistics,) = step.step(model.initial_point(random_seed=1))
        assert statistics["bid_nu"] == sweeps


def test_a_noise_variance_with_other_children_is_left_alone():
    with bid.gbt(CROWD, k=4) as model:
        pm.Normal("other", 0, pm.math.sqrt(model["sigma2"]), observed=1.0)
    step = bid.WeightStep([model["Y"]], model=model)
    point = model.initial_point(random_seed=1)
    name = model.rvs_to_values[model["sigma2"]].name
    after, (statistics,) = step.step(point)
    assert statistics["bid_nu"] == SWEEPS_IF_CROWDED
    assert after[name] == point[name]
