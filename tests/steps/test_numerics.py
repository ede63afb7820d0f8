"""Whole runs where floating point has every chance to go wrong: finite draws within the bounds."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid

RNG = np.random.default_rng(41)
BASE = RNG.normal(size=(12, 3))
MATRICES = {
    "correlations of one and minus one": np.hstack([BASE, -BASE, BASE]),
    "nearly singular": np.hstack([BASE, BASE @ RNG.uniform(-1, 1, (3, 4)) + 1e-9]),
    "zero column": np.hstack([BASE, np.zeros((12, 1))]),
    "huge and tiny entries": BASE * [1e6, 1.0, 1e-6],
}
TINY = {"alpha_sigma": 0.1, "beta_sigma": 1e-14}
"""A prior of the noise variance that lets an exact fit bring it below 1e-12."""


def sample(model, start, draws=20):
    with model:
        return pm.sample(
            draws=draws,
            tune=105,
            chains=1,
            initvals=start,
            random_seed=42,
            progressbar=False,
            compute_convergence_checks=False,
        )["posterior"]


def assert_finite_and_bounded(posterior):
    for name in posterior.data_vars:
        assert np.isfinite(np.asarray(posterior[name])).all(), name
    assert (np.abs(np.asarray(posterior["Y"])) <= 1).all()
    assert (np.asarray(posterior["sigma2"]) > 0).all()


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("start", [0, 1])
def test_awkward_matrices_with_a_free_number_of_columns(name, start):
    data = MATRICES[name]
    start = {"r": np.full(data.shape[1], start), "sigma2": 1e-12}
    posterior = sample(bid.gbt(data, **TINY), start)
    assert_finite_and_bounded(posterior)
    if name in ("correlations of one and minus one", "nearly singular"):
        assert np.asarray(posterior["sigma2"]).min() < 1e-12


@pytest.mark.parametrize("name", MATRICES)
def test_awkward_matrices_with_a_fixed_number_of_columns(name):
    assert_finite_and_bounded(sample(bid.gbtn(MATRICES[name], k=2, **TINY), {"sigma2": 1e-12}))


@pytest.mark.parametrize("model", [bid.gbt, bid.gbtn])
def test_all_columns(model):
    data = MATRICES["nearly singular"]
    fixed = sample(model(data, k=data.shape[1], **TINY), {"sigma2": 1e-12})
    assert_finite_and_bounded(fixed)
    assert (np.asarray(fixed["r"]) == 1).all()
    # At almost no noise, weights of columns that are nearly copies are hardly ever found within
    # their bounds by one draw after the other: the chain may stay where it started.
    start = {"r": np.zeros(data.shape[1], int)}
    assert_finite_and_bounded(sample(model(data, inclusion=1 - 1e-12, **TINY), start))
    free = sample(model(data, inclusion=1 - 1e-12), start)
    assert_finite_and_bounded(free)
    assert (np.asarray(free["K"]) == data.shape[1]).any()


def test_no_column():
    posterior = sample(bid.gbt(BASE, inclusion=1e-300), {"r": np.ones(3, int)})
    assert_finite_and_bounded(posterior)
    assert (np.asarray(posterior["K"]) == 0).all()


def test_weights_stay_off_the_bounds_where_a_transform_would_make_them_infinite():
    data = MATRICES["correlations of one and minus one"]
    size = data.shape[1]
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=size)
        sigma2 = pm.InverseGamma("sigma2", 0.1, 1e-14)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(size, size))
        pm.Normal("A", mu=(data * r) @ Y, sigma=pm.math.sqrt(sigma2), observed=data)
    with model:
        steps = [bid.FlipStep(r), bid.NoiseStep(sigma2), bid.WeightStep(Y)]
    point = model.initial_point(random_seed=43)
    log_density = model.compile_logp()
    for _ in range(200):
        for step in steps:
            point, _ = step.step(point)
        assert np.isfinite(log_density(point))
