"""What can't be served exactly is refused with advice, and PyMC samples it all the same."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from tests.helpers.cases import small_data

POOL, TARGET = small_data()


def model_with(weights=None, likelihood=None):
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.Normal("Y", shape=(3, 2)) if weights is None else weights()
        if likelihood is None:
            pm.Normal("A", (POOL * r) @ Y, 1.0, observed=TARGET)
        else:
            likelihood(r, Y)
    return model


CASES = {
    "a mean that is no product": (
        lambda: model_with(
            likelihood=lambda r, Y: pm.Normal(
                "A", pm.math.tanh((POOL * r) @ Y), 1.0, observed=TARGET
            )
        ),
        ["mean of A", "not a plain product", "`(B * r) @ Y`"],
    ),
    "a likelihood that is not normal": (
        lambda: model_with(
            likelihood=lambda r, Y: pm.StudentT(
                "A", nu=4, mu=(POOL * r) @ Y, sigma=1.0, observed=TARGET
            )
        ),
        ["A is StudentT", "pm.Normal"],
    ),
    "weights that are not normal": (
        lambda: model_with(weights=lambda: pm.Laplace("Y", 0, 1, shape=(3, 2))),
        ["Y, the weights in the mean of A, is Laplace", "pm.TruncatedNormal or pm.Normal"],
    ),
}


@pytest.mark.parametrize(("make", "words"), CASES.values(), ids=CASES.keys())
def test_the_message_says_what_was_found_what_is_supported_and_what_to_use(make, words):
    with make() as model:
        for step, name, sampler in (
            (bid.FlipStep, "r", "pm.BinaryGibbsMetropolis"),
            (bid.WeightStep, "Y", "pm.NUTS"),
        ):
            with pytest.raises(TypeError) as caught:
                step(model[name])
            for word in (*words, f"PyMC's own sampler for {name} is {sampler}"):
                assert word in str(caught.value)


def check_sampled(make):
    with make():
        idata = pm.sample(
            draws=5,
            tune=5,
            chains=1,
            cores=1,
            progressbar=False,
            compute_convergence_checks=False,
            random_seed=1,
        )
    assert np.isfinite(np.asarray(idata["posterior"]["Y"])).all()
    assert not any(name.startswith("bid_") for name in idata["sample_stats"])


@pytest.mark.usefixtures("interpreted")
def test_pymc_samples_what_is_refused():
    check_sampled(CASES["weights that are not normal"][0])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("interpreted")
def test_pymc_samples_everything_that_is_refused(case):
    check_sampled(CASES[case][0])


def test_a_potential_that_is_not_linear_is_refused_for_a_fixed_number_of_columns():
    model = bid.gbt(TARGET, k=1)
    with model:
        pm.Potential("both", model["r"][0] * model["r"][1])
        with pytest.raises(TypeError, match="r enters both as well as A"):
            bid.SwapStep(model["r"])


def test_an_inclusion_probability_that_is_not_beta_is_named():
    with pm.Model():
        p = pm.Uniform("p", 0, 1)
        r = pm.Bernoulli("r", p, shape=3)
        Y = pm.Normal("Y", shape=(3, 2))
        pm.Normal("A", (POOL * r) @ Y, 1.0, observed=TARGET)
        with pytest.raises(TypeError, match=r"p is Uniform .* pm.NUTS"):
            bid.InclusionStep(p)


def test_a_shared_inclusion_probability_is_left_to_pymc():
    with pm.Model():
        p = pm.Beta("p", 1, 1)
        r = pm.Bernoulli("r", p, shape=3)
        Y = pm.Normal("Y", shape=(3, 2))
        pm.Normal("A", (POOL * r) @ Y, 1.0, observed=TARGET)
        pm.Bernoulli("another", p, observed=1)
        with pytest.raises(TypeError, match="p enters another as well as r"):
            bid.InclusionStep(p)
