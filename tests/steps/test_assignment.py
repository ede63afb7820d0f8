"""pm.sample() finds the steps where they belong and nowhere else."""

import subprocess
import sys

import numpy as np
import pymc as pm
import pytest
from pymc.sampling.mcmc import assign_step_methods
from pymc.step_methods import STEP_METHODS
from pymc.step_methods.compound import BlockedStep

import pymc_bid as bid
from pymc_bid.registration import STEPS, register_steps
from tests.helpers.cases import handwritten, small_data


def assigned(model, **options):
    _, selected = assign_step_methods(model, methods=list(STEP_METHODS), **options)
    return {
        model.values_to_rvs[value].name: step.__name__
        for step, values in selected.items()
        for value in values
    }


@pytest.mark.parametrize("k", [None, 2])
def test_constructors_get_the_block_updates_inside_and_outside_a_context(k):
    model = bid.gbtn(small_data()[0], k=k)
    expected = {
        "r": "FlipStep" if k is None else "SwapStep",
        "sigma2": "NoiseStep",
        "mu_tau": "WeightStep",
        "Y": "WeightStep",
    }
    assert assigned(model) == expected
    with model:
        assert assigned(model) == expected


@pytest.mark.parametrize("k", [None, 2])
def test_handwritten_graph_gets_the_block_updates_in_its_context(k):
    model = handwritten(*small_data(), k=k, hierarchical=True)
    with model:
        assert assigned(model) == {
            "r": "FlipStep" if k is None else "SwapStep",
            "sigma2": "NoiseStep",
            "hyper": "WeightStep",
            "Y": "WeightStep",
        }


def mixed_model():
    pool, target = small_data()
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        r = pm.Bernoulli("r", p, shape=3)
        spread = pm.HalfNormal("spread")
        sigma = pm.HalfNormal("sigma")
        Y = pm.TruncatedNormal("Y", 0, spread, lower=-1, upper=1, shape=(3, 2))
        pm.Normal("A", mu=(pool * r) @ Y, sigma=sigma, observed=target)
        pm.Bernoulli("unrelated", 0.5)
    return model


def test_other_variables_get_the_samplers_of_pymc():
    model = mixed_model()
    with model:
        assert assigned(model) == {
            "p": "InclusionStep",
            "r": "FlipStep",
            "spread": "NUTS",
            "sigma": "NUTS",
            "Y": "WeightStep",
            "unrelated": "BinaryGibbsMetropolis",
        }


@pytest.mark.slow
def test_a_mixed_model_is_sampled():
    with mixed_model():
        idata = pm.sample(
            draws=20, tune=20, chains=1, progressbar=False, compute_convergence_checks=False
        )
    assert np.isfinite(np.asarray(idata["posterior"]["Y"])).all()


PLAIN = """
import pymc as pm
from pymc.sampling.mcmc import assign_step_methods
from pymc.step_methods import STEP_METHODS
{imported}
with pm.Model() as model:
    x = pm.Normal("x")
    b = pm.Bernoulli("b", 0.5, shape=3)
    c = pm.Categorical("c", [0.2, 0.3, 0.5])
    n = pm.Poisson("n", 3)
    t = pm.TruncatedNormal("t", lower=0, shape=(3, 2))
    s = pm.InverseGamma("s", 2, 1)
    pm.Normal("y", x + b.sum() + t.sum(), s, observed=[1.0, 2.0])
    _, selected = assign_step_methods(model, methods=list(STEP_METHODS))
print({{step.__name__: [v.name for v in values] for step, values in selected.items()}})
"""


def test_plain_models_are_sampled_as_if_the_package_were_not_imported():
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PLAIN.format(imported=imported)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for imported in ("", "import pymc_bid")
    ]
    assert outputs[0] == outputs[1] != ""


def test_nutpie_samples_plain_models():
    pytest.importorskip("nutpie")
    with pm.Model():
        pm.Normal("x")
        idata = pm.sample(
            draws=5,
            tune=5,
            chains=1,
            nuts_sampler="nutpie",
            progressbar=False,
            compute_convergence_checks=False,
        )
    assert np.isfinite(np.asarray(idata["posterior"]["x"])).all()


def test_pymc_finds_classes_of_steps_in_its_list():
    assert all(isinstance(step, type) and issubclass(step, BlockedStep) for step in STEP_METHODS)


def test_registering_twice_enters_the_steps_once():
    register_steps()
    names = [method.name for method in STEP_METHODS]
    assert [names.count(getattr(bid, step).name) for step in STEPS] == [1] * len(STEPS)


def test_the_registered_names_are_those_of_the_steps():
    assert {step: getattr(bid, step).name for step in STEPS} == STEPS


def test_options_reach_the_assigned_steps():
    with bid.gbt(small_data()[0]):
        idata = pm.sample(
            draws=5,
            tune=0,
            chains=1,
            progressbar=False,
            compute_convergence_checks=False,
            bid_weights={"nu": 3},
            bid_flip={"scheme": "paper"},
        )
    assert (np.asarray(idata["sample_stats"]["bid_nu"]) == 3).all()
