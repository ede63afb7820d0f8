"""Priors that the block updates serve exactly, each against weighted draws from the prior."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

import pymc_bid as bid
from tests.reference.weighting import assert_moments_agree, log_likelihood, weighted_moments
from tests.steps.chains import as_columns, found_steps, run_chain

RNG = np.random.default_rng(6)
POOL = RNG.normal(size=(3, 3))
TARGET = 0.7 * POOL[:, :2] + 0.6 * RNG.normal(size=(3, 2))
SHAPE = (3, 2)
REFERENCE_DRAWS = 200_000
DRAWS = 1000
NOISE = 8.0, 5.0


def truncated(rng, mean=0.2, precision=1.5, lower=-1.0, upper=1.0):
    """Draws of Y from its prior; parameters broadcast to (draws, N, L)."""
    scale = np.asarray(precision) ** -0.5
    low, high = (np.broadcast_to((b - mean) / scale, SHAPE) for b in (lower, upper))
    uniform = rng.uniform(stats.norm.cdf(low), stats.norm.cdf(high), (REFERENCE_DRAWS, *SHAPE))
    return mean + scale * stats.norm.ppf(uniform)


def bernoulli(rng, probability=0.5):
    shape = (REFERENCE_DRAWS, SHAPE[0])
    return (rng.random(shape) < np.broadcast_to(probability, shape)).astype(int)


def add_weights(mu=0.2, tau=1.5, lower=-1.0, upper=1.0):
    return pm.TruncatedNormal(
        "Y", mu=mu, tau=tau, lower=lower, upper=upper, shape=SHAPE, default_transform=None
    )


def build(state=None, weights=add_weights, noise=None, target=TARGET, name=""):
    """The model by hand, one of its parts replaced."""
    with pm.Model(name=name) as model:
        r = pm.Bernoulli("r", 0.5, shape=SHAPE[0]) if state is None else state()
        Y = weights()
        if noise is None:
            sigma2 = pm.InverseGamma("sigma2", *NOISE, default_transform=None)
            noise = pm.math.sqrt(sigma2)
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=noise, observed=target)
    return model


def draw_prior(rng, given=lambda rng: {}):
    """Draws of r, Y and σ², but for those that `given` draws."""
    drawn = {"r": bernoulli(rng), "Y": truncated(rng), "sigma2": None} | given(rng)
    if drawn["sigma2"] is None:
        drawn["sigma2"] = NOISE[1] / rng.gamma(NOISE[0], size=REFERENCE_DRAWS)
    return drawn


def reference(drawn, names, target=TARGET, log_weights=0.0):
    """Moments of the named variables, the draws weighted by the likelihood and further weights."""
    variance = np.reshape(drawn["sigma2"], (-1, 1, 1))
    log_weights = log_weights + log_likelihood(POOL, target, drawn["r"], drawn["Y"], variance)
    return weighted_moments(as_columns({name: drawn[name] for name in names}), log_weights)


def check(model, prior_draws, label, log_weights=0.0, draws=DRAWS, beside=()):
    """Compare the chain's moments with those of the weighted draws.

    `prior_draws` maps a generator to a dict of draws; σ² and what is missing are drawn here.
    """
    drawn = draw_prior(np.random.default_rng(8), prior_draws)
    log_weights = log_weights(drawn) if callable(log_weights) else log_weights
    names = [variable.name for variable in model.free_RVs]
    expected = reference(drawn, names, log_weights=log_weights)
    chain = run_chain(model, found_steps(model, beside=beside), names, draws)
    assert_moments_agree(as_columns(chain), expected, alpha=1e-5, label=label)


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
