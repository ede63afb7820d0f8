"""Noise and missing entries that differ between columns, against weighted draws from the prior."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_bid as bid
from tests.helpers.chains import as_columns, found_steps, run_chain
from tests.helpers.priors import (
    NOISE,
    POOL,
    REFERENCE_DRAWS,
    SHAPE,
    TARGET,
    add_weights,
    bernoulli,
    truncated,
)
from tests.reference.weighting import assert_moments_agree, log_likelihood, weighted_moments

pytestmark = pytest.mark.usefixtures("few_columns")

KNOWN = np.array([[0.5, 1.0], [2.0, 0.7], [1.0, 1.6]])
OBSERVED = np.array([[True, True], [False, True], [True, True]])
DRAWS = 2500


def inverse_gamma(rng, shape=()):
    return NOISE[1] / rng.gamma(NOISE[0], size=(REFERENCE_DRAWS, *shape))


def add_variance(shape=(), name="sigma2"):
    return pm.InverseGamma(name, *NOISE, shape=shape, default_transform=None)


def build(sigma, index=None):
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=SHAPE[0])
        mean = (POOL * r) @ add_weights()
        if index is None:
            pm.Normal("A", mean, sigma(), observed=TARGET)
        else:
            pm.Normal("A", mean[index], sigma(), observed=TARGET[index])
    return model


def check(model, noise, entry_variance, beside=(), label=""):
    """Compare with draws of r, Y and `noise`, whose entries have variances `entry_variance`."""
    rng = np.random.default_rng(9)
    drawn = {"r": bernoulli(rng), "Y": truncated(rng)} | noise(rng)
    log_weights = log_likelihood(POOL, TARGET, drawn["r"], drawn["Y"], entry_variance(drawn))
    compare(model, drawn, log_weights, beside, label)


def compare(model, drawn, log_weights, beside=(), label=""):
    names = [variable.name for variable in model.free_RVs]
    reference = weighted_moments(as_columns({name: drawn[name] for name in names}), log_weights)
    chain = run_chain(model, found_steps(model, beside=beside), names, DRAWS)
    assert_moments_agree(as_columns(chain), reference, alpha=1e-5, label=label)


def test_one_variance_per_column():
    check(
        build(lambda: pt.sqrt(add_variance(2))),
        lambda rng: {"sigma2": inverse_gamma(rng, (2,))},
        lambda drawn: drawn["sigma2"][:, None, :],
    )


def test_known_noise_of_every_column():
    check(
        build(lambda: np.array([0.6, 1.1])),
        lambda rng: {},
        lambda drawn: np.array([0.36, 1.21]),
    )


def test_known_noise_of_every_entry():
    check(build(lambda: KNOWN**-0.5), lambda rng: {}, lambda drawn: 1 / KNOWN)


@pytest.mark.parametrize("shape", [(), (2,)], ids=["one variance", "one per column"])
def test_known_precision_of_every_entry(shape):
    check(
        build(lambda: pt.sqrt(add_variance(shape) / KNOWN)),
        lambda rng: {"sigma2": inverse_gamma(rng, shape)},
        lambda drawn: drawn["sigma2"].reshape(len(drawn["sigma2"]), 1, -1) / KNOWN,
    )


def test_missing_entries():
    # Without the entry, not with an infinite variance, whose logarithm would count.
    rng = np.random.default_rng(10)
    drawn = {"r": bernoulli(rng), "Y": truncated(rng), "sigma2": inverse_gamma(rng)}
    residual = TARGET - np.einsum("mk,nkl->nml", POOL, drawn["r"][:, :, None] * drawn["Y"])
    squares = np.sum(residual[:, OBSERVED] ** 2, axis=1)
    log_weights = -0.5 * (squares / drawn["sigma2"] + OBSERVED.sum() * np.log(drawn["sigma2"]))
    compare(build(lambda: pt.sqrt(add_variance()), OBSERVED), drawn, log_weights)


def test_two_likelihoods_with_one_state_vector():
    other = POOL[::-1] * np.array([1.5, 0.5, 1.0])
    data = 0.5 * other[:, 1:2] + np.array([[0.3], [-0.4], [0.2]])
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=SHAPE[0])
        pm.Normal("A", (POOL * r) @ add_weights(), pt.sqrt(add_variance()), observed=TARGET)
        Z = pm.TruncatedNormal(
            "Z", 0.2, tau=1.5, lower=-1, upper=1, shape=(3, 1), default_transform=None
        )
        pm.Normal("B", (other * r) @ Z, pt.sqrt(add_variance(name="other")), observed=data)
    rng = np.random.default_rng(11)
    drawn = {
        "r": bernoulli(rng),
        "Y": truncated(rng),
        "Z": truncated(rng)[:, :, :1],
        "sigma2": inverse_gamma(rng),
        "other": inverse_gamma(rng),
    }
    log_weights = sum(
        log_likelihood(pool, target, drawn["r"], drawn[weights], drawn[variance][:, None, None])
        for pool, target, weights, variance in (
            (POOL, TARGET, "Y", "sigma2"),
            (other, data, "Z", "other"),
        )
    )
    compare(model, drawn, log_weights)


# In the model with the identity, chosen columns have a density of their own.
MATRIX = np.column_stack([0.8 * TARGET, 0.7 * TARGET[:, 0] + np.array([0.2, -0.3, 0.1])])


def identity_log_weights(matrix, precision, drawn, weights, variance, omega2):
    """Log density of a matrix for each draw; entries with precision 0 have none."""
    state = drawn["r"]
    fitted = np.einsum("mk,nkl->nml", matrix, state[:, :, None] * drawn[weights])
    known = np.where(precision > 0, precision, 1.0)
    spread = np.reshape(drawn[variance], (len(state), 1, -1)) / known
    own = np.broadcast_to(drawn[omega2][:, None, :], fitted.shape)
    chosen = state[:, None, :] == 1
    squares = np.where(chosen, matrix**2 / own, (matrix - fitted) ** 2 / spread)
    logs = np.where(chosen, np.log(own), np.log(spread))
    return -0.5 * np.sum((squares + logs) * (precision > 0), axis=(1, 2))


def add_identity(r, matrix, precision, suffix="", shape=()):
    Y = pm.TruncatedNormal(
        f"Y{suffix}", 0.2, tau=1.5, lower=-1, upper=1, shape=(3, 3), default_transform=None
    )
    variance = add_variance(shape, f"sigma2{suffix}")
    own = add_variance(3, f"omega2{suffix}")
    scales = pt.sqrt(variance), pt.sqrt(own)
    bid.Interpolation(f"A{suffix}", r, Y, *scales, precision=precision, observed=matrix)


def draw_identity(rng, suffix="", shape=()):
    weights = np.concatenate([truncated(rng), truncated(rng)[:, :, :1]], axis=2)
    return {
        f"Y{suffix}": weights,
        f"sigma2{suffix}": inverse_gamma(rng, shape),
        f"omega2{suffix}": inverse_gamma(rng, (3,)),
    }


@pytest.mark.parametrize("shape", [(), (3,)], ids=["one variance", "one per column"])
def test_missing_entries_and_known_precision_with_the_identity(shape):
    precision = np.column_stack([KNOWN * OBSERVED, [1.0, 0.5, 0.0]])
    with pm.Model() as model:
        add_identity(pm.Bernoulli("r", 0.5, shape=3), MATRIX, precision, shape=shape)
    rng = np.random.default_rng(12)
    drawn = {"r": bernoulli(rng)} | draw_identity(rng, shape=shape)
    log_weights = identity_log_weights(MATRIX, precision, drawn, "Y", "sigma2", "omega2")
    compare(model, drawn, log_weights)


def test_two_matrices_with_one_state_vector_and_the_identity():
    other, everything = MATRIX[::-1, [2, 0, 1]], np.ones((3, 3))
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        add_identity(r, MATRIX, 1.0)
        add_identity(r, other, 1.0, "_other")
    rng = np.random.default_rng(13)
    drawn = {"r": bernoulli(rng)} | draw_identity(rng) | draw_identity(rng, "_other")
    log_weights = identity_log_weights(MATRIX, everything, drawn, "Y", "sigma2", "omega2")
    log_weights += identity_log_weights(
        other, everything, drawn, "Y_other", "sigma2_other", "omega2_other"
    )
    compare(model, drawn, log_weights)


@pytest.mark.parametrize("index", [None, OBSERVED], ids=["all entries", "missing entries"])
def test_the_density_of_the_model_is_the_one_that_the_steps_use(index):
    """The change of the model's own log density along σ² is that of its conditional."""
    model = build(lambda: pt.sqrt(add_variance()), index)
    logp = model.compile_logp()
    point = model.initial_point(random_seed=1)
    entries = TARGET.size if index is None else index.sum()
    residual = TARGET - (POOL * point["r"]) @ point["Y"]
    squares = np.sum(residual**2 if index is None else residual[index] ** 2)
    shape, scale = NOISE[0] + entries / 2, NOISE[1] + squares / 2
    values = [logp(point | {"sigma2": np.array(v)}) for v in (0.5, 2.0)]
    expected = -(shape + 1) * np.log(4.0) - scale * (0.5 - 2.0)
    np.testing.assert_allclose(values[1] - values[0], expected, rtol=1e-9)
