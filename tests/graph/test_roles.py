"""Graphs that are a decomposition in disguise, and graphs that only look like one."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_bid as bid
from pymc_bid.graph.decomposition import Decomposition, find_decompositions
from tests.helpers.cases import small_data

POOL, TARGET = small_data()


def build(mean=lambda r, Y: (POOL * r) @ Y, sigma=None, observed=TARGET, **likelihood):
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        sigma2 = pm.InverseGamma("sigma2", 2, 1)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 2))
        if not likelihood:
            likelihood = {"sigma": pm.math.sqrt(sigma2) if sigma is None else sigma(sigma2)}
        else:
            likelihood = {name: value(sigma2) for name, value in likelihood.items()}
        pm.Normal("A", mu=mean(r, Y), observed=observed, **likelihood)
    return model


@pytest.mark.parametrize(
    "mean",
    [
        lambda r, Y: pt.dot(POOL * r, Y),
        lambda r, Y: POOL @ (r[:, None] * Y),
        lambda r, Y: POOL @ pt.diag(r) @ Y,
        lambda r, Y: (Y.T @ (POOL * r).T).T,
        lambda r, Y: 2.0 * ((0.5 * POOL * pt.cast(r, "float64")) @ Y),
        lambda r, Y: pm.Deterministic("fit", (pm.Deterministic("X", POOL * r)) @ Y),
        lambda r, Y: (pm.Data("B", POOL) * r) @ Y,
    ],
)
def test_equivalent_ways_to_write_the_mean_are_read_alike(mean):
    model = build(mean)
    found = Decomposition(model["A"], model)
    data = found.regression()
    np.testing.assert_allclose(data.products.gram, POOL.T @ POOL, rtol=1e-12)
    np.testing.assert_allclose(data.products.cross, POOL.T @ TARGET, rtol=1e-12)
    assert data.products.rows.sum() == TARGET.size


@pytest.mark.parametrize(
    "likelihood",
    [
        {"sigma": lambda s: pt.sqrt(s)},
        {"sigma": lambda s: s**0.5},
        {"tau": lambda s: 1 / s},
        {"sigma": lambda s: 2 * pt.sqrt(s / 4)},
    ],
)
def test_equivalent_ways_to_write_the_noise_are_read_alike(likelihood):
    model = build(**likelihood)
    assert Decomposition(model["A"], model).roles.noise is model["sigma2"]


@pytest.mark.parametrize("sigma", [lambda s: s, lambda s: s ** (1 / 3), lambda s: 1 + pt.sqrt(s)])
def test_a_scale_that_is_not_the_root_of_the_variance_is_left_to_pymc(sigma):
    model = build(sigma=sigma)
    assert Decomposition(model["A"], model).roles.noise is None
    with model, pytest.raises(TypeError, match="sigma2"):
        bid.NoiseStep(model["sigma2"])


@pytest.mark.parametrize(
    "mean",
    [
        lambda r, Y: (POOL * r) @ pt.tanh(Y),
        lambda r, Y: (POOL * r) @ Y + 1.0,
        lambda r, Y: (POOL * (1 - r)) @ Y,
        lambda r, Y: (POOL * r * r) @ Y,
        lambda r, Y: (POOL * r) @ (Y * Y),
        lambda r, Y: (POOL * r) @ Y[::-1],
        lambda r, Y: POOL @ Y + 0.0 * r.sum(),
        lambda r, Y: (POOL * r) @ Y * pt.arange(1, 3),
        lambda r, Y: pt.switch(r.sum() > 1, (POOL * r) @ Y, 0.0),
        lambda r, Y: (POOL * r) @ Y + pm.Normal("intercept"),
    ],
)
def test_another_mean_is_refused_by_name(mean):
    model = build(mean)
    assert find_decompositions(model) == []
    with model:
        for variable, step in (("r", bid.FlipStep), ("Y", bid.WeightStep)):
            with pytest.raises(TypeError, match="mean of A"):
                step(model[variable])


def test_another_likelihood_is_refused_by_name():
    with pm.Model():
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.Normal("Y", shape=(3, 2))
        pm.StudentT("A", nu=4, mu=(POOL * r) @ Y, sigma=1, observed=TARGET)
        with pytest.raises(TypeError, match="A is StudentT"):
            bid.FlipStep(r)


def test_missing_entries_are_refused_by_name():
    holed = TARGET.copy()
    holed[0, 0] = np.nan
    with pytest.warns(UserWarning, match="missing values"):
        model = build(observed=holed)
    with model, pytest.raises(TypeError, match="missing"):
        bid.FlipStep(model["r"])


def test_random_noise_that_differs_between_rows_is_refused():
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.Normal("Y", shape=(3, 2))
        scale = pm.HalfNormal("scale", shape=(len(TARGET), 1))
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=scale, observed=TARGET)
        with pytest.raises(TypeError, match="scale of A differs between the entries of a column"):
            bid.WeightStep(model["Y"])


def test_noise_that_depends_on_the_state_is_refused():
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.Normal("Y", shape=(3, 2))
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=1.0 + r.sum(), observed=TARGET)
        with pytest.raises(TypeError, match="depends on r"):
            bid.FlipStep(model["r"])


def test_a_state_vector_with_a_second_child_is_refused():
    with pm.Model():
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.Normal("Y", sigma=1.0 + r[:, None], shape=(3, 2))
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=1, observed=TARGET)
        with pytest.raises(TypeError, match="r enters Y as well as A"):
            bid.FlipStep(r)


def test_weights_with_a_potential_are_refused():
    model = build()
    with model:
        pm.Potential("smooth", -pt.sum(pt.diff(model["Y"]) ** 2))
        with pytest.raises(TypeError, match="Y enters smooth as well as A"):
            bid.WeightStep(model["Y"])


def test_a_variable_outside_any_likelihood_is_refused():
    with pm.Model():
        r = pm.Bernoulli("r", 0.5, shape=3)
        with pytest.raises(TypeError, match="r enters no observed variable"):
            bid.FlipStep(r)


def test_flip_and_swap_refuse_the_other_kind_of_state_vector():
    free, fixed = bid.gbt(TARGET), bid.gbt(TARGET, k=1)
    with pytest.raises(TypeError, match="FlipStep"):
        bid.SwapStep([free["r"]], model=free)
    with pytest.raises(TypeError, match="SwapStep"):
        bid.FlipStep([fixed["r"]], model=fixed)


@pytest.mark.parametrize("bounds", [(-1.0, 0.5), (-2.0, 2.0)])
def test_a_hyperprior_with_other_bounds_than_the_weights_is_left_to_pymc(bounds):
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        hyper = bid.GTNSNG("hyper", lower=-1, upper=1, shape=(3, 2, 2))
        Y = pm.TruncatedNormal(
            "Y", mu=hyper[..., 0], tau=hyper[..., 1], lower=bounds[0], upper=bounds[1]
        )
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=1, observed=TARGET)
    assert Decomposition(model["A"], model).roles.hyperparameters is None


def test_an_observed_noise_variance_is_known_noise():
    model = pm.observe(build(), {"sigma2": 0.25})
    found = Decomposition(model["A"], model)
    assert found.roles.noise is None
    assert found.noise_variance(model.initial_point()) == pytest.approx(0.25)


def test_observed_weights_are_refused_by_name():
    model = pm.observe(build(), {"Y": np.zeros((3, 2))})
    with model, pytest.raises(TypeError, match="Y is observed"):
        bid.FlipStep(model["r"])


def test_new_data_in_a_container_are_noticed():
    with pm.Model() as model:
        data = pm.Data("data", TARGET)
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.Normal("Y", shape=(3, 2))
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=1, observed=data)
    found = Decomposition(model["A"], model)
    before = found.regression()
    found.refresh()
    assert found.regression() is before
    with model:
        pm.set_data({"data": 2 * TARGET})
    found.refresh()
    np.testing.assert_allclose(found.regression().products.cross, 2 * before.products.cross)


def test_the_model_is_read_again_when_a_variable_was_added():
    model = build()
    assert len(find_decompositions(model)) == 1
    with model:
        pm.Potential("late", -(model["Y"].sum() ** 2))
        with pytest.raises(TypeError, match="late"):
            bid.FlipStep(model["r"])
