"""Graphs in which chosen columns have a density of their own, and graphs that nearly do."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

import pymc_bid as bid
from pymc_bid.graph.decomposition import Decomposition

pytestmark = pytest.mark.usefixtures("interpreted")

MATRIX = np.random.default_rng(0).normal(size=(6, 3))


def fit(r, Y, matrix=MATRIX):
    return (matrix * r) @ Y


def build(mean, scale, variance=None, observed=MATRIX):
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        sigma2 = pm.InverseGamma("sigma2", 2, 1)
        omega2 = pm.InverseGamma("omega2", 3, 2, shape=3) if variance is None else variance()
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 3))
        sigma, omega = pt.sqrt(sigma2), pt.sqrt(omega2)
        pm.Normal("A", mu=mean(r, Y), sigma=scale(r, sigma, omega), observed=observed)
    return model


def plain_mean(r, Y):
    return pt.where(r, 0, fit(r, Y))


def plain_scale(r, sigma, omega):
    return pt.where(r, omega, sigma)


@pytest.mark.parametrize(
    ("mean", "scale"),
    [
        (plain_mean, plain_scale),
        (lambda r, Y: pt.switch(pt.eq(r, 0), fit(r, Y), 0.0), plain_scale),
        (plain_mean, lambda r, s, o: pm.math.switch(r > 0, o[None, :], s)),
        (lambda r, Y: pt.where(pt.eq(r, 1)[None, :], 0, MATRIX @ (r[:, None] * Y)), plain_scale),
    ],
)
def test_equivalent_ways_to_write_the_choice_are_read_alike(mean, scale):
    model = build(mean, scale)
    roles = Decomposition(model["A"], model).roles
    assert roles.noise is model["sigma2"]
    assert roles.own.variance is model["omega2"]


def test_steps_are_found_for_the_handwritten_graph():
    model = build(plain_mean, plain_scale)
    with model:
        idata = pm.sample(
            draws=20, tune=20, chains=1, progressbar=False, compute_convergence_checks=False
        )
    assert "bid_exchanges_tried" in idata["sample_stats"]
    assert "tree_depth" not in idata["sample_stats"]


def test_the_constructor_has_the_density_of_the_handwritten_graph():
    written = build(plain_mean, plain_scale)
    made = bid.gbt(MATRIX, identity=True, alpha_sigma=2, beta_sigma=1, alpha_omega=3, beta_omega=2)
    point = {
        "r": np.array([1, 0, 1]),
        "sigma2": np.array(0.7),
        "omega2": np.array([0.5, 1.0, 2.0]),
        "Y": np.random.default_rng(1).uniform(-1, 1, (3, 3)),
    }
    logs = [
        model.compile_fn(model.logp(jacobian=False), inputs=model.value_vars)(
            {
                model.rvs_to_values[model[name]].name: forward(model, name, value)
                for name, value in point.items()
            }
        )
        for model in (written, made)
    ]
    np.testing.assert_allclose(*logs, rtol=1e-7)


def forward(model, name, value):
    transform = model.rvs_to_transforms[model[name]]
    if transform is None:
        return value
    return transform.forward(pt.as_tensor(value), *model[name].owner.inputs).eval()


def test_own_density_has_its_variance_integrated_out():
    model = build(plain_mean, plain_scale)
    found = Decomposition(model["A"], model)
    point = model.initial_point()
    own = found.own_columns(point)
    # A normal vector with an inverse gamma variance is a multivariate t.
    expected = [
        stats.multivariate_t.logpdf(column, shape=2 / 3 * np.eye(6), df=6) for column in MATRIX.T
    ]
    constant = -0.5 * 6 * np.log(2 * np.pi)
    np.testing.assert_allclose(own.log_densities + constant, expected, rtol=1e-10)
    assert own.targets.tolist() == [[0], [1], [2]]


def test_another_prior_of_the_own_variance_is_left_to_pymc():
    model = build(plain_mean, plain_scale, lambda: pm.HalfNormal("omega2", 1.0, shape=3))
    found = Decomposition(model["A"], model)
    assert found.roles.own.variance is None
    point = model.initial_point()
    expected = stats.norm.logpdf(MATRIX, 0, np.sqrt(np.exp(point["omega2_log__"]))).sum(axis=0)
    constant = -0.5 * 6 * np.log(2 * np.pi)
    found_densities = found.own_columns(point).log_densities + constant
    np.testing.assert_allclose(found_densities, expected, rtol=1e-10)
    with model:
        flip = bid.FlipStep(model["r"])
    assert [value.name for value in flip.vars] == ["r"]


@pytest.mark.parametrize(
    ("mean", "scale", "message"),
    [
        (plain_mean, lambda r, s, o: s, "its scale does not in the same way"),
        (lambda r, Y: pt.where(r, Y[0, 0], fit(r, Y)), plain_scale, "depends on Y"),
        (lambda r, Y: pt.where(r, 0, fit(r, Y, MATRIX[::-1])), plain_scale, "are not its own"),
        (lambda r, Y: pt.where(r, 0, fit(r, Y) ** 2), plain_scale, "not a plain product"),
        (plain_mean, lambda r, s, o: pt.where(r, o, s * (1 + r.sum())), "depends on r"),
        (lambda r, Y: pt.where(r[::-1], 0, fit(r, Y)), plain_scale, "not a plain product"),
    ],
)
def test_graphs_that_nearly_are_one_are_refused_by_name(mean, scale, message):
    model = build(mean, scale)
    with pytest.raises(TypeError, match=message):
        Decomposition(model["A"], model)


def test_a_function_of_the_weights_in_an_interpolation_is_refused():
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 3))
        bid.Interpolation("A", r, Y**2, 1.0, 1.0, observed=MATRIX)
    with pytest.raises(TypeError, match="needs Y itself"):
        Decomposition(model["A"], model)


def test_new_data_change_the_own_density():
    model = bid.gbt(MATRIX, identity=True)
    found = Decomposition(model["A"], model)
    point = model.initial_point(random_seed=1)
    before = found.own_columns(point).log_densities
    with model:
        pm.set_data({"target": 2 * MATRIX, "own_mean": np.ones(3)})
    found.refresh()
    np.testing.assert_allclose(found.regression().products.gram, 4 * MATRIX.T @ MATRIX)
    after = found.own_columns(point).log_densities
    other = bid.gbt(2 * MATRIX, identity=True, own_mean=1.0)
    fresh = Decomposition(other["A"], other).own_columns(point).log_densities
    np.testing.assert_allclose(after, fresh)
    assert not np.allclose(after, before)
