"""Models that were observed, intervened on, copied, nested, renamed or given other data."""

import cloudpickle
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.model.transform.conditioning import do, observe
from pymc.sampling.mcmc import assign_step_methods
from pymc.step_methods import STEP_METHODS

import pymc_bid as bid
from pymc_bid.graph.decomposition import Decomposition, find_decompositions
from tests.helpers.chains import as_columns, found_steps, run_chain
from tests.helpers.priors import (
    DRAWS,
    POOL,
    REFERENCE_DRAWS,
    TARGET,
    build,
    check,
    draw_prior,
    reference,
)
from tests.reference.weighting import assert_moments_agree

QUIET = {
    "chains": 1,
    "cores": 1,
    "progressbar": False,
    "compute_convergence_checks": False,
    "random_seed": 3,
}


def assigned(model):
    with model:
        _, selected = assign_step_methods(model, methods=list(STEP_METHODS))
    return {
        model.values_to_rvs[value].name: step.__name__
        for step, values in selected.items()
        for value in values
    }


def sample(model, draws=25, tune=25):
    with model:
        return pm.sample(draws=draws, tune=tune, **QUIET)


STATE = np.array([1, 0, 1])


@pytest.mark.parametrize("transform", [observe, do])
def test_weights_and_noise_are_drawn_for_a_state_vector_that_is_given(transform):
    model = transform(build(), {"r": STATE})
    check(model, lambda rng: {"r": np.tile(STATE, (REFERENCE_DRAWS, 1))}, transform.__name__)


def test_a_given_state_vector_of_another_kind_is_left_to_pymc():
    assert set(assigned(do(build(), {"r": np.array([2, 0, 1])})).values()) == {"NUTS"}


@pytest.mark.parametrize("transform", [observe, do])
def test_the_identity_model_takes_a_given_state_vector(transform):
    model = transform(bid.gbt(POOL, identity=True), {"r": STATE})
    assert assigned(model) == {"sigma2": "NoiseStep", "omega2": "NUTS", "Y": "WeightStep"}
    with model:
        step = bid.WeightStep(model["Y"])
    assert step.decomposition.interpolated(STATE).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("transform", [observe, do])
def test_given_weights_leave_the_state_vector_to_pymc(transform):
    model = transform(build(noise=0.8), {"Y": np.full((3, 2), 0.5)})
    assert assigned(model) == {"r": "BinaryGibbsMetropolis"}
    with model, pytest.raises(TypeError, match="BinaryGibbsMetropolis"):
        bid.FlipStep(model["r"])


@pytest.mark.slow
@pytest.mark.parametrize("transform", [observe, do])
def test_pymc_samples_the_state_vector_of_given_weights(transform):
    model = transform(build(noise=0.8), {"Y": np.full((3, 2), 0.5)})
    assert sample(model)["posterior"]["r"].shape == (1, 25, 3)


def test_copies_draw_what_the_model_draws():
    model = bid.gbt(TARGET, pool=POOL)
    expected = np.asarray(sample(model)["posterior"]["Y"])
    for other in (model.copy(), cloudpickle.loads(cloudpickle.dumps(model))):
        np.testing.assert_array_equal(np.asarray(sample(other)["posterior"]["Y"]), expected)


@pytest.fixture(scope="module")
def pair():
    """Two decompositions of their own columns and names in one model, and its draws."""
    with pm.Model() as model:
        with pm.Model(name="first"):
            bid.gbt(TARGET, k=1)
        with pm.Model(name="second"):
            bid.gbt(POOL, identity=True)
    return model, sample(model)


def test_two_decompositions_in_one_model(pair):
    model, idata = pair
    assert assigned(model) == {
        "first::r": "SwapStep",
        "first::sigma2": "NoiseStep",
        "first::Y": "WeightStep",
        "second::r": "FlipStep",
        "second::sigma2": "NoiseStep",
        "second::omega2": "FlipStep",
        "second::Y": "WeightStep",
    }
    posterior = idata["posterior"]
    assert (np.asarray(posterior["first::r"]).sum(axis=-1) == 1).all()
    for name in ("first::r", "first::Y", "second::r", "second::Y"):
        assert np.ptp(np.asarray(posterior[name]), axis=1).max() > 0, name


def test_two_decompositions_in_one_model_have_posteriors_of_their_own():
    names = ["r", "Y", "sigma2"]
    targets = {"first": TARGET, "second": 1 - TARGET}
    with pm.Model() as model:
        for prefix, target in targets.items():
            build(target=target, name=prefix)
    everything = [f"{prefix}::{name}" for prefix in targets for name in names]
    chain = run_chain(model, found_steps(model), everything, DRAWS)
    rng = np.random.default_rng(8)
    for prefix, target in targets.items():
        values = as_columns({name: chain[f"{prefix}::{name}"] for name in names})
        assert_moments_agree(values, reference(draw_prior(rng), names, target), label=prefix)


def test_nested_models_have_prefixes_on_names_and_dims(pair):
    posterior = pair[1]["posterior"]
    assert posterior["first::Y"].dims[2:] == ("first::basis", "first::column")
    assert posterior["second::r"].dims[2:] == ("second::basis",)


@pytest.mark.filterwarnings("ignore:Only .* of the draws")
def test_draws_of_nested_models_can_be_decomposed(pair):
    for prefix, data, identity in (("first", TARGET, False), ("second", POOL, True)):
        names = {"state": "r", "weights": "Y", "noise": "sigma2"}
        names = {argument: f"{prefix}::{name}" for argument, name in names.items()}
        result = bid.decompose(pair[1], data, **names)
        assert bool(result.data.attrs["identity"]) is identity


def test_a_constructor_joins_the_model_around_it():
    with pm.Model() as outer:
        p = pm.Beta("p", 1, 3)
        inner = bid.gbt(TARGET, pool=POOL, inclusion=p, tau=pm.Gamma("tau", 2, 2))
    assert inner is outer
    assert assigned(outer) == {
        "p": "InclusionStep",
        "tau": "NUTS",
        "r": "FlipStep",
        "sigma2": "NoiseStep",
        "Y": "WeightStep",
    }


def test_names_and_dims_are_the_users():
    coords = {"drug": ["a", "b", "c"], "cell": ["u", "v"], "line": [1, 2, 3]}
    with pm.Model(coords=coords) as model:
        chosen = bid.StateVector("chosen drugs", p=0.4, dims="drug")
        effect = pm.Normal("effect", dims=("drug", "cell"))
        pm.Normal("response", (POOL * chosen) @ effect, 1.0, observed=TARGET, dims=("line", "cell"))
    posterior = sample(model)["posterior"]
    assert posterior["effect"].dims[2:] == ("drug", "cell")
    assert posterior["chosen drugs"].dims[2:] == ("drug",)


def test_every_parameter_may_be_data_that_are_exchanged():
    with pm.Model() as model:
        data = {
            name: pm.Data(name, value)
            for name, value in {
                "p": np.full(3, 0.5),
                "mu": np.zeros((3, 2)),
                "tau": np.ones((3, 2)),
                "lower": np.full((3, 2), -1.0),
                "upper": np.full((3, 2), 1.0),
                "sigma": np.array(0.8),
                "slope": np.zeros(3),
                "pool": POOL,
            }.items()
        }
        r = pm.Bernoulli("r", data["p"])
        pm.Potential("offset", (data["slope"] * r).sum())
        bounds = {"lower": data["lower"], "upper": data["upper"]}
        Y = pm.TruncatedNormal("Y", data["mu"], tau=data["tau"], **bounds, default_transform=None)
        pm.Normal("A", (data["pool"] * r) @ Y, data["sigma"], observed=TARGET)
    sample(model, draws=2, tune=2)
    new = {
        "p": np.array([1.0, 0.0, 0.5]),
        "mu": np.full((3, 2), 0.3),
        "tau": np.full((3, 2), 1e6),
        "lower": np.full((3, 2), 0.2),
        "upper": np.full((3, 2), 0.4),
        "sigma": np.array(2.0),
        "slope": np.array([0.0, 0.0, 50.0]),
        "pool": 2 * POOL,
    }
    with model:
        pm.set_data(new)
    posterior = sample(model)["posterior"]
    assert (np.asarray(posterior["r"]) == [1, 0, 1]).all()
    np.testing.assert_allclose(np.asarray(posterior["Y"]), 0.3, atol=0.01)
    (found,) = find_decompositions(model)
    np.testing.assert_allclose(found.noise_variance(model.initial_point()), 4.0)
    np.testing.assert_allclose(found.regression().products.gram, 4 * POOL.T @ POOL)


def test_other_data_may_have_other_columns():
    with pm.Model() as model:
        data = pm.Data("data", TARGET)
        r = pm.Bernoulli("r", 0.5, shape=data.shape[1])
        Y = pm.Normal("Y", shape=(data.shape[1], data.shape[1]))
        pm.Normal("A", (data * r) @ Y, 1.0, observed=data)
    assert sample(model, 3, 3)["posterior"]["r"].shape == (1, 3, 2)
    with model:
        pm.set_data({"data": POOL})
    assert sample(model, 3, 3)["posterior"]["r"].shape == (1, 3, 3)


def test_a_posterior_predictive_leaves_one_decomposition():
    model = bid.gbt(TARGET, pool=POOL)
    idata = sample(model, 3, 3)
    with model:
        pm.sample_posterior_predictive(idata, progressbar=False)
    assert len(find_decompositions(model)) == 1


def test_a_regression_without_a_state_vector_is_not_taken_over():
    with pm.Model() as model:
        Y = pm.Normal("Y", shape=(3, 2))
        sigma2 = pm.InverseGamma("sigma2", 2, 1)
        pm.Normal("A", POOL @ Y, pm.math.sqrt(sigma2), observed=TARGET)
    assert set(assigned(model).values()) == {"NUTS"}


def test_a_state_vector_of_another_distribution_gets_a_step_of_its_own():
    def log_prior(value, size):
        return pt.switch(pt.all(pt.eq(value, 0) | pt.eq(value, 1)), -value.sum() * size, -np.inf)

    with pm.Model() as model:
        r = pm.CustomDist("r", 0.3, logp=log_prior, shape=3, dtype="int64")
        Y = pm.TruncatedNormal("Y", 0.2, tau=1.5, lower=-1, upper=1, shape=(3, 2))
        pm.Normal("A", (POOL * r) @ Y, 0.8, observed=TARGET)
    assert Decomposition(model["A"], model).roles.state is r
    # PyMC can't know that there are no other values, so nothing is taken from it.
    assert assigned(model) == {"r": "Metropolis", "Y": "NUTS"}
    with model:
        with pytest.raises(TypeError, match=r"a pm\.Potential"):
            bid.FlipStep(r)
        idata = pm.sample(
            draws=25,
            tune=25,
            step=[pm.Metropolis([r]), bid.WeightStep(Y)],
            initvals={"r": np.array([1, 0, 1])},
            **QUIET,
        )
    assert "tree_depth" not in idata["sample_stats"]
