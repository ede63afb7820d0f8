"""Priors that the block updates serve exactly, each against weighted draws from the prior."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

import pymc_bid as bid
from tests.helpers.priors import (
    REFERENCE_DRAWS,
    SHAPE,
    add_weights,
    bernoulli,
    build,
    check,
    truncated,
)

pytestmark = pytest.mark.usefixtures("few_columns")

ENTRIES = np.arange(6.0).reshape(SHAPE)
BOUNDS = {
    "scalars": (-0.5, 1.5),
    "per entry": (-0.2 - 0.1 * ENTRIES, np.where(ENTRIES % 2, np.inf, 0.3 + 0.2 * ENTRIES)),
    "below only": (-0.3, np.inf),
    "above only": (-np.inf, 0.4),
    "nonnegative": (0.0, np.inf),
}


def some(cases, default):
    """Parameters of all cases, those not in `default` for the slow run."""
    marks = {name: () if name in default else pytest.mark.slow for name in cases}
    return [pytest.param(*case, id=name, marks=marks[name]) for name, case in cases.items()]


@pytest.mark.parametrize(("lower", "upper"), some(BOUNDS, ["per entry", "nonnegative"]))
def test_bounds(lower, upper):
    given = [None if np.isinf(bound).all() else bound for bound in (lower, upper)]
    model = build(weights=lambda: add_weights(lower=given[0], upper=given[1]))
    check(model, lambda rng: {"Y": truncated(rng, lower=lower, upper=upper)}, "bounds")


@pytest.mark.slow
def test_no_bounds():
    model = build(weights=lambda: pm.Normal("Y", 0.2, tau=1.5, shape=SHAPE))
    check(model, lambda rng: {"Y": truncated(rng, lower=-np.inf, upper=np.inf)}, "normal")


def test_arrays_of_means_and_precisions():
    mu, tau = 0.3 * ENTRIES - 0.7, 0.5 + ENTRIES
    model = build(weights=lambda: add_weights(mu, tau))
    check(model, lambda rng: {"Y": truncated(rng, mu, tau)}, "arrays")


@pytest.mark.slow
def test_informative_inclusion():
    probability = np.array([0.2, 0.7, 0.5])
    model = build(lambda: pm.Bernoulli("r", probability))
    check(model, lambda rng: {"r": bernoulli(rng, probability)}, "p vector")


def test_forced_columns():
    probability = np.array([1.0, 0.0, 0.4])
    model = build(lambda: pm.Bernoulli("r", probability))
    check(model, lambda rng: {"r": bernoulli(rng, probability)}, "forced")


GROUPS = {
    "one for all": ((), np.zeros(3, int)),
    "one for each": ((3,), np.arange(3)),
    "one for a group": ((2,), np.array([1, 0, 1])),
}


@pytest.mark.parametrize(("shape", "group"), some(GROUPS, ["one for a group"]))
def test_beta_inclusion(shape, group):
    def state():
        p = pm.Beta("p", 1.5, 2.0, shape=shape)
        return pm.Bernoulli("r", p if shape in ((), (3,)) else p[group], shape=3)

    def prior(rng):
        p = rng.beta(1.5, 2.0, size=(REFERENCE_DRAWS, *shape))
        return {"p": p, "r": bernoulli(rng, p.reshape(REFERENCE_DRAWS, -1)[:, group])}

    check(build(state), prior, "beta")


OFFSET = np.array([1.0, -0.5, 0.3])


def test_logit_offset():
    model = build()
    with model:
        pm.Potential("offset", (OFFSET * model["r"]).sum())
    assert bid.FlipStep([model["r"]], model=model).decomposition.joint.state_prior.linear
    check(model, lambda rng: {}, "offset", log_weights=lambda drawn: drawn["r"] @ OFFSET)


TERMS = {
    "neighbours": (
        lambda r: 1.2 * (r[:-1] * r[1:]).sum(),
        lambda r: 1.2 * (r[:, 0] + r[:, 2]) * r[:, 1],
    ),
    "at most two": (
        lambda r: pt.switch(pt.le(r.sum(), 2), 0.0, -np.inf),
        lambda r: np.where(r.sum(axis=1) <= 2, 0.0, -np.inf),
    ),
}


@pytest.mark.parametrize(("term", "reference"), some(TERMS, ["neighbours"]))
def test_potential_of_the_state_vector(term, reference):
    model = build(lambda: pm.Bernoulli("r", 0.5, shape=3, initval=[1, 0, 0]))
    with model:
        pm.Potential("term", term(model["r"]))
    check(model, lambda rng: {}, "potential", log_weights=lambda drawn: reference(drawn["r"]))


@pytest.mark.slow
def test_another_variable_that_depends_on_the_state_vector():
    model = build()
    with model:
        pm.Poisson("count", 0.5 + model["r"].sum(), observed=3)
    check(
        model,
        lambda rng: {},
        "child",
        log_weights=lambda drawn: stats.poisson.logpmf(3, 0.5 + drawn["r"].sum(axis=1)),
    )


def test_known_noise():
    model = build(noise=0.8)
    check(model, lambda rng: {"sigma2": np.full(REFERENCE_DRAWS, 0.64)}, "known noise")


@pytest.mark.slow
def test_offset_with_a_fixed_number_of_columns():
    model = build(lambda: bid.StateVector("r", k=1, n=3))
    with model:
        pm.Potential("offset", (OFFSET * model["r"]).sum())
    check(
        model,
        lambda rng: {"r": np.eye(3, dtype=int)[rng.integers(0, 3, REFERENCE_DRAWS)]},
        "offset",
        log_weights=lambda drawn: drawn["r"] @ OFFSET,
    )
