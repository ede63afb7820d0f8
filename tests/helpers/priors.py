"""A small model with parts to replace, and its posterior by weighted draws from the prior."""

import numpy as np
import pymc as pm
from scipy import stats

from tests.helpers.chains import as_columns, found_steps, run_chain
from tests.reference.weighting import assert_moments_agree, log_likelihood, weighted_moments

RNG = np.random.default_rng(6)
POOL = RNG.normal(size=(3, 3))
TARGET = 0.7 * POOL[:, :2] + 0.6 * RNG.normal(size=(3, 2))
SHAPE = (3, 2)
REFERENCE_DRAWS = 300_000
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
