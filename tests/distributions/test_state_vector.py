"""StateVector: uniform over subsets with k, pm.Bernoulli with p."""

import itertools
import math
import warnings

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError
from pytensor.compile.mode import Mode
from pytensor.tensor.random.basic import BernoulliRV
from scipy import stats

from pymc_bid.distributions import StateVector
from pymc_bid.distributions.subset import SubsetRV

PYTHON = Mode(linker="py", optimizer=None)
BACKENDS = {"default": None, "numba": "NUMBA", "python": PYTHON}


@pytest.fixture(scope="module")
def log_probability():
    """Log probability as a function of (value, k, n)."""
    value, k, n = pt.lvector("value"), pt.lscalar("k"), pt.lscalar("n")
    return pytensor.function([value, k, n], pm.logp(StateVector.dist(k=k, n=n), value), mode=PYTHON)


def draw(variable, mode=PYTHON, **kwargs):
    return pm.draw(variable, random_seed=1, mode=mode, **kwargs)


@pytest.mark.parametrize(("k", "n"), [(2, 5), (1, 3), (4, 5)])
def test_subsets_are_equally_frequent(k, n):
    draws = draw(StateVector.dist(k=k, n=n, size=20_000))
    assert np.all(draws.sum(axis=1) == k)
    counts = np.unique(draws @ 2 ** np.arange(n), return_counts=True)[1]
    assert counts.size == math.comb(n, k)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    "arguments", [{"alpha": 1.0, "beta": 1.0}, {"alpha": 0.7, "beta": 3.0}, {"k": 3}], ids=str
)
def test_draws_have_the_probabilities_of_the_density_with_entries_forced(arguments):
    arguments |= {"n": 6, "include": [4], "exclude": [0, 5]}
    draws = draw(StateVector.dist(**arguments, size=20_000))
    assert np.all(draws[:, [4, 0, 5]] == [1, 0, 0])
    value = pt.lvector("value")
    log_density = pytensor.function(
        [value], pm.logp(StateVector.dist(**arguments), value), mode=PYTHON
    )
    states = np.array(list(itertools.product([0, 1], repeat=6)))
    probability = np.exp([log_density(state) for state in states])
    assert probability.sum() == pytest.approx(1.0, rel=1e-12)
    number = states @ 2 ** np.arange(6)
    counts = np.bincount(draws @ 2 ** np.arange(6), minlength=64)[number]
    assert not counts[probability == 0].any()
    found, expected = counts[probability > 0], 20_000 * probability[probability > 0]
    assert stats.chisquare(found, expected).pvalue > 1e-4


def test_every_number_of_ones_is_as_probable_with_a_uniform_size():
    variable = StateVector.dist(alpha=1, beta=1, n=5)
    for ones in range(6):
        found = float(pm.logp(variable, np.arange(5) < ones).eval(mode=PYTHON))
        assert np.exp(found) * math.comb(5, ones) == pytest.approx(1 / 6, rel=1e-12)


@pytest.mark.parametrize("n", [1, 4])
def test_probabilities_sum_to_one_over_the_support(log_probability, n):
    for k in range(n + 1):
        total = 0.0
        for value in itertools.product([0, 1], repeat=n):
            found = log_probability(np.array(value), k, n)
            if sum(value) == k:
                assert found == pytest.approx(-math.log(math.comb(n, k)), rel=1e-13, abs=1e-13)
            else:
                assert found == -np.inf
            total += math.exp(found)
        assert total == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("value", [[2, 0, 0], [1, 2, -1], [3, -1, 0], [1, 1], [1, 1, 0, 0]])
def test_other_vectors_have_no_probability(log_probability, value):
    assert log_probability(np.array(value), 2, 3) == -np.inf


def test_other_numbers_have_no_probability():
    value = np.array([0.5, 0.5, 1.0])
    assert pm.logp(StateVector.dist(k=2, n=3), value).eval(mode=PYTHON) == -np.inf


def test_constants_give_double_precision():
    found = pm.logp(StateVector.dist(k=2, n=5), [0, 1, 1, 0, 0]).eval(mode=PYTHON)
    assert found == pytest.approx(-math.log(10), rel=1e-14)


@pytest.mark.parametrize(
    "variable",
    [
        StateVector.dist(k=np.array([[0], [2]]), n=6, size=(2, 3)),
        StateVector.dist(alpha=np.array([[0.5], [2]]), beta=2, n=6, size=(2, 3), include=[1]),
    ],
    ids=["fixed", "random"],
)
def test_backends_draw_the_same_numbers(variable):
    found = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*object mode.*")
        for name, mode in BACKENDS.items():
            found[name] = draw(variable, mode=mode, draws=5)
    assert found["default"].shape == (5, 2, 3, 6)
    np.testing.assert_array_equal(found["default"], found["numba"])
    np.testing.assert_array_equal(found["default"], found["python"])


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ({"k": 2, "n": 4}, (4,)),
        ({"k": 0, "n": 4}, (4,)),
        ({"k": 4, "n": 4}, (4,)),
        ({"k": 1, "n": 1}, (1,)),
        ({"k": 2, "shape": 4}, (4,)),
        ({"k": 2, "shape": (3, 4)}, (3, 4)),
        ({"k": 2, "n": 4, "size": 3}, (3, 4)),
        ({"k": 2, "n": 4, "size": (2, 3)}, (2, 3, 4)),
        ({"k": [0, 1, 2], "n": 4}, (3, 4)),
        ({"k": [0, 1, 2], "n": 4, "size": (2, 3)}, (2, 3, 4)),
        ({"p": 0.5, "n": 4}, (4,)),
        ({"p": 0.5, "shape": (3, 4)}, (3, 4)),
        ({"p": 0.5, "n": 4, "size": 3}, (3, 4)),
        ({"p": [0.1, 0.2, 0.3]}, (3,)),
        ({"p": [0.1, 0.2, 0.3], "n": 3, "size": 2}, (2, 3)),
        ({"p": [[0.1], [0.2]], "n": 3}, (2, 3)),
    ],
    ids=str,
)
def test_shapes(arguments, shape):
    variable = StateVector.dist(**arguments)
    assert variable.type.shape == shape
    draws = draw(variable)
    assert draws.shape == shape
    assert draws.dtype == np.int64
    if "k" in arguments:
        assert isinstance(variable.owner.op, SubsetRV)
        np.testing.assert_array_equal(
            draws.sum(axis=-1), np.broadcast_to(arguments["k"], shape[:-1])
        )
        point = pm.distributions.distribution.support_point(variable).eval(mode=PYTHON)
        assert point.shape == shape
        np.testing.assert_array_equal(point.sum(axis=-1), draws.sum(axis=-1))
    else:
        assert isinstance(variable.owner.op, BernoulliRV)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 3}, "none of them"),
        ({"k": 1, "p": 0.5, "n": 3}, "k as well as p"),
        ({"k": 1}, "n is missing"),
        ({"alpha": 1, "beta": 1}, "n is missing"),
        ({"alpha": 1, "n": 3}, "alpha and beta must both be given"),
        ({"k": 1, "alpha": 1, "beta": 1, "n": 3}, "k as well as alpha and beta"),
        ({"k": 1, "n": 3, "include": [0, 1]}, "k must be at least 2"),
        ({"k": 3, "n": 3, "exclude": [0]}, "k must be at most 2"),
        ({"k": 1, "n": 3, "exclude": [3]}, "exclude must be different positions"),
        ({"k": 1, "n": 3, "include": [1, 1]}, "include must be different positions"),
        ({"k": 1, "n": 3, "include": [1], "exclude": [1]}, "positions in common"),
        ({"p": 0.5, "n": 3, "include": [1]}, "let p be a vector"),
        ({"p": 0.5}, "n is missing"),
        ({"k": -1, "n": 3}, "k must not be negative"),
        ({"k": 4, "n": 3}, "k must be at most n = 3, got 4"),
        ({"k": [1, 4], "n": 3}, "k must be at most n = 3"),
        ({"k": 1.5, "n": 3}, "k must be an integer"),
        ({"k": True, "n": 3}, "k must be an integer"),
        ({"k": pt.dscalar(), "n": 3}, "k must be an integer"),
        ({"k": 1, "n": 3.0}, "n must be an integer"),
        ({"k": 1, "n": [3, 3]}, "n must be a single number"),
        ({"k": 0, "n": 0}, "n must be at least 1"),
        ({"k": 1, "n": 3, "shape": (2, 4)}, "n is 3, but shape or dims say 4"),
        ({"p": 0.5, "n": 3, "shape": (2, 4)}, "n is 3, but shape or dims say 4"),
        ({"p": [0.1, 0.2], "n": 3}, "p has length 2"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        StateVector.dist(**arguments)


def test_bad_arguments_with_dims_are_named():
    with pm.Model(coords={"column": range(3)}):
        with pytest.raises(ValueError, match="k must be at most n = 3"):
            StateVector("a", k=4, dims="column")
        with pytest.raises(ValueError, match="n is 4, but shape or dims say 3"):
            StateVector("b", k=2, n=4, dims="column")
        with pytest.raises(ValueError, match="n is 4, but shape or dims say 3"):
            StateVector("c", p=0.5, n=4, dims="column")


def test_bad_symbolic_k_is_found_at_run_time(log_probability):
    k = pt.lscalar("k")
    variable = StateVector.dist(k=k, n=3)
    with pytest.raises(ValueError, match="k must be between 0 and n"):
        draw(variable, givens={k: 4})
    for bad in (-1, 4):
        with pytest.raises(ParameterValueError, match="0 <= k <= n"):
            log_probability(np.array([1, 1, 1]), bad, 3)


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"column": list("abcde")}) as model:
        size = pm.Binomial("size", n=5, p=0.5)
        StateVector("fixed", k=2, dims="column")
        StateVector("random", k=size, dims="column")
        inclusion = pm.Beta("inclusion", 1, 1)
        StateVector("free", p=inclusion, n=4)
    return model


@pytest.mark.usefixtures("interpreted")
def test_a_model_starts_inside_the_support(model):
    starts = [model.initial_point(random_seed=seed) for seed in range(10)]
    assert all(start["fixed"].sum() == 2 for start in starts)
    assert len({tuple(start["fixed"]) for start in starts}) > 1
    assert starts[0]["random"].sum() == starts[0]["size"]
    assert starts[0]["free"].shape == (4,)


@pytest.mark.usefixtures("interpreted")
def test_log_probability_of_a_model(model):
    evaluate = model.compile_logp(vars=[model["fixed"], model["random"]], sum=False)
    point = model.initial_point(random_seed=1)
    point["size"] = np.array(1)
    point["random"] = np.array([0, 0, 1, 0, 0])
    np.testing.assert_allclose(evaluate(point), -np.log([10, 5]))
    # In a model a bad parameter has no probability, rather than being an error.
    point["size"] = np.array(6)
    assert evaluate(point)[1] == -np.inf


@pytest.mark.usefixtures("interpreted")
def test_prior_predictive_and_sampling_record_subsets(model):
    prior = pm.sample_prior_predictive(draws=20, model=model, random_seed=1)["prior"]
    assert prior["fixed"].dims == ("chain", "draw", "column")
    assert np.all(prior["fixed"].sum("column") == 2)
    assert np.all(prior["random"].sum("column") == prior["size"])
    with pm.Model():
        StateVector("r", k=1, n=3)
        posterior = pm.sample(
            draws=20,
            tune=5,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )["posterior"]
    assert posterior["r"].shape == (2, 20, 3)
    assert np.all(posterior["r"].sum("r_dim_0") == 1)


def test_pickling():
    variable = cloudpickle.loads(cloudpickle.dumps(StateVector.dist(k=2, n=5)))
    np.testing.assert_array_equal(draw(variable), draw(StateVector.dist(k=2, n=5)))
