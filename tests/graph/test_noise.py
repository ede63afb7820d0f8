"""What the steps are told of noise that differs between columns and entries."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_bid as bid
from pymc_bid.graph.decomposition import Decomposition, find_decompositions
from tests.helpers.cases import small_data

POOL, TARGET = small_data()
KNOWN = np.random.default_rng(1).gamma(2.0, size=TARGET.shape)


def build(sigma, observed=TARGET, index=None):
    """A model whose scale is a function of a few variables that it may make."""
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 2))
        mean = (POOL * r) @ Y
        pm.Normal("A", mean if index is None else mean[index], sigma(), observed=observed)
    return model


def variances(shape=()):
    return pm.InverseGamma("sigma2", 2.0, 1.5, shape=shape, default_transform=None)


@pytest.mark.parametrize(
    ("sigma", "point", "expected", "conjugate"),
    [
        (lambda: 0.5, {}, [0.25, 0.25], False),
        (lambda: np.array([0.5, 2.0]), {}, [0.25, 4.0], False),
        (lambda: pt.sqrt(variances()), {"sigma2": 3.0}, [3.0, 3.0], True),
        (lambda: pt.sqrt(variances(2)), {"sigma2": [3.0, 4.0]}, [3.0, 4.0], True),
        (lambda: pt.sqrt(variances(2))[::-1], {"sigma2": [3.0, 4.0]}, [4.0, 3.0], False),
        (lambda: pm.HalfNormal("s", default_transform=None), {"s": 3.0}, [9.0, 9.0], False),
        (lambda: pm.HalfNormal("s", shape=2, default_transform=None), {"s": [1, 2]}, [1, 4], False),
    ],
)
def test_variances_of_the_columns_are_read_off_the_scale(sigma, point, expected, conjugate):
    model = build(sigma)
    found = Decomposition(model["A"], model)
    point = {name: np.asarray(value, float) for name, value in point.items()}
    np.testing.assert_allclose(found.noise_variance(point), expected)
    assert (found.noise.variance is not None) == conjugate
    assert len(found.regression().blocks) == 1


@pytest.mark.parametrize(
    ("sigma", "point", "expected", "conjugate"),
    [
        (lambda: KNOWN**-0.5, {}, [1.0, 1.0], False),
        (lambda: pt.sqrt(variances() / KNOWN), {"sigma2": 3.0}, [3.0, 3.0], True),
        (lambda: pt.sqrt(variances(2) / KNOWN), {"sigma2": [3.0, 4.0]}, [3.0, 4.0], True),
        (
            lambda: pm.HalfNormal("s", default_transform=None) / np.sqrt(KNOWN),
            {"s": 3.0},
            [9.0, 9.0],
            False,
        ),
    ],
)
def test_known_precision_of_the_entries_is_read_off_the_scale(sigma, point, expected, conjugate):
    model = build(sigma)
    found = Decomposition(model["A"], model)
    point = {name: np.asarray(value, float) for name, value in point.items()}
    np.testing.assert_allclose(found.noise_variance(point), expected)
    assert (found.noise.variance is not None) == conjugate
    products = found.regression().products
    np.testing.assert_allclose(products.squares, np.sum(KNOWN * TARGET**2, axis=0))
    np.testing.assert_allclose(products.cross, POOL.T @ (KNOWN * TARGET))


@pytest.mark.parametrize("way", ["mask", "numbers", "container"])
def test_observed_entries_are_read_off_the_mean(way):
    observed = np.ones(TARGET.shape, bool)
    observed[:3, 1] = False
    with pm.Model(coords={}) as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 2))
        places = np.argwhere(observed)
        if way == "container":
            places = pm.Data("places", places)
        index = observed if way == "mask" else (places[:, 0], places[:, 1])
        pm.Normal("A", ((POOL * r) @ Y)[index], pt.sqrt(variances()), observed=TARGET[observed])
    found = Decomposition(model["A"], model)
    products = found.regression().products
    assert products.rows.tolist() == [6, 3]
    np.testing.assert_allclose(products.cross[:, 0], POOL.T @ TARGET[:, 0])
    np.testing.assert_allclose(products.cross[:, 1], POOL[3:].T @ TARGET[3:, 1])
    assert found.noise.variance is not None


def test_an_entry_that_is_observed_twice_is_refused():
    model = build(lambda: 1.0, TARGET[[0, 0], [1, 1]], (np.array([0, 0]), np.array([1, 1])))
    with model, pytest.raises(TypeError, match="twice"):
        bid.FlipStep(model["r"])


@pytest.mark.parametrize("factor", [0.0, -1.0, np.inf])
def test_a_scale_that_can_not_be_is_an_error_with_the_name_of_its_likelihood(factor):
    model = build(lambda: pt.sqrt(variances()) * np.array([factor, 1.0]))
    with pytest.raises(ValueError, match="scale of the entries of A must be finite and positive"):
        Decomposition(model["A"], model)


def test_new_precisions_are_noticed():
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 2))
        known = pm.Data("known", KNOWN)
        pm.Normal("A", (POOL * r) @ Y, pt.sqrt(variances() / known), observed=TARGET)
        found = Decomposition(model["A"], model)
        before = found.regression().products.squares
        pm.set_data({"known": 2 * KNOWN})
    found.refresh()
    np.testing.assert_allclose(found.regression().products.squares, 2 * before)


def test_likelihoods_with_one_state_vector_stand_side_by_side():
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        for name, columns in (("first", 2), ("second", 1)):
            Y = pm.TruncatedNormal(f"Y_{name}", 0, 1, lower=-1, upper=1, shape=(3, columns))
            variance = pm.InverseGamma(f"sigma2_{name}", 2.0, 1.0, default_transform=None)
            data = TARGET[:, :columns] if name == "first" else 2 * TARGET[:4, :columns]
            pm.Normal(name, (POOL[: len(data)] * r) @ Y, pt.sqrt(variance), observed=data)
    first, second = find_decompositions(model)
    joint = first.joint
    assert joint is second.joint
    products = joint.products()
    assert products.pattern.tolist() == [0, 0, 1]
    assert products.rows.tolist() == [6, 6, 4]
    point = model.initial_point() | {"sigma2_first": np.array(2.0), "sigma2_second": np.array(3.0)}
    assert joint.noise_variance(point).tolist() == [2.0, 2.0, 3.0]
    weights = np.full((3, 3), 0.5)
    point = joint.write_weights(weights, joint.write_noise(np.array([4.0, 4.0, 5.0]), point))
    np.testing.assert_allclose(joint.weights(point), weights)
    assert joint.noise_variance(point).tolist() == [4.0, 4.0, 5.0]
    assert joint.products() is products


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_variances_of_columns_belong_to_the_columns_of_observed_entries(order):
    observed = np.ones(TARGET.shape, bool)
    observed[:3, 1] = False
    places = np.nonzero(observed)
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 2))
        scale = pt.sqrt(variances(2))[places[1][order]]
        pm.Normal("A", ((POOL * r) @ Y)[places], scale, observed=TARGET[observed])
    if order == slice(None):
        found = Decomposition(model["A"], model)
        assert found.noise_variance({"sigma2": np.array([3.0, 4.0])}).tolist() == [3.0, 4.0]
        assert found.noise.variance is not None
    else:
        with pytest.raises(TypeError, match="not those of the columns"):
            Decomposition(model["A"], model)


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_a_variance_for_each_column_is_one_word(identity, missing):
    data = np.random.default_rng(2).normal(size=(12, 3))
    if missing:
        data[0, 1] = np.nan
    model = bid.gbt(data, identity=identity, missing="mask", noise="column")
    found = Decomposition(model["A"], model)
    assert model["sigma2"].type.shape == (3,) or model["sigma2"].ndim == 1
    assert found.noise.variance is not None
    assert found.noise_variance({"sigma2": np.array([1.0, 2.0, 3.0])}).tolist() == [1.0, 2.0, 3.0]
