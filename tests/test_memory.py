"""Memory of the draws: said before sampling if it is more than there is."""

import gc
import pickle
import warnings
import weakref
from types import SimpleNamespace

import cloudpickle
import numpy as np
import psutil
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid import memory
from pymc_bid.graph.decomposition import find_decompositions

COLUMNS, CHAINS, DRAWS, TUNE = 6, 2, 4, 3
# r and omega2, K, sigma2, Y, all of eight bytes.
ONE_DRAW = 8 * (2 * COLUMNS + 2 + COLUMNS**2)


@pytest.fixture(scope="module")
def model():
    data = np.random.default_rng(0).normal(size=(20, COLUMNS))
    return bid.gbt(data, identity=True)


def sample(model, **options):
    with model:
        return pm.sample(
            draws=DRAWS,
            tune=TUNE,
            chains=CHAINS,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            **options,
        )


def test_size_of_a_trace(model):
    size = bid.trace_size(draws=DRAWS, tune=TUNE, chains=CHAINS, model=model)
    assert size == CHAINS * (TUNE + 2 * DRAWS) * ONE_DRAW
    few = bid.trace_size(DRAWS, TUNE, CHAINS, var_names=["r", "sigma2"], model=model)
    assert few == CHAINS * (TUNE + 2 * DRAWS) * 8 * (COLUMNS + 1)


def test_transformed_variables_are_kept_twice():
    with pm.Model() as model:
        pm.Exponential("x", shape=3)
    assert bid.trace_size(1, 0, 1, model=model) == 2 * 2 * 3 * 8


def test_too_large_a_trace_is_said_once_before_sampling(model, monkeypatch):
    needed = bid.trace_size(model=model)
    assert needed == 4 * 3000 * ONE_DRAW
    message = r"4 chains of 1000 \+ 1000 draws, keeps 4.8 MB, and 4.8 MB of memory .* leave Y out"
    for free, warned in ((needed, False), (needed - 1, True), (needed - 1, False)):
        monkeypatch.setattr(memory, "free_memory", lambda free=free: free)
        if warned:
            with pytest.warns(UserWarning, match=message):
                sample(model)
        else:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="pm.sample")
                sample(model)


def test_steps_made_by_hand_do_not_ask(model, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bid.WeightStep(model["Y"], model=model)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("5000", 1000), ("3000", 0), ("90000", 10_000), ("max", 10_000), (None, 10_000)],
    ids=["less than the machine", "used up", "more than the machine", "no limit", "no container"],
)
def test_free_memory_is_that_of_the_container(limit, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10_000))
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
    if limit is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text("4000\n")
    assert memory.free_memory() == expected


@pytest.mark.filterwarnings("ignore:Only [12] of the draws")
@pytest.mark.parametrize("options", [{"k": 2}, {"identity": True}], ids=["fixed", "identity"])
def test_a_model_that_was_sampled_is_freed(options):
    """With its matrix: what is known of a model must not outlive it."""
    model = bid.gbt(np.random.default_rng(0).normal(size=(9, 4)), **options)
    with model:
        idata = pm.sample(
            2, tune=2, chains=1, cores=1, progressbar=False, compute_convergence_checks=False
        )
    assert bid.decompose(idata, model["target"].get_value()).columns is not None
    left = [weakref.ref(model), weakref.ref(find_decompositions(model)[0])]
    copied = pickle.loads(cloudpickle.dumps(model))
    assert find_decompositions(copied)[0] is not left[1]()
    del model
    gc.collect()
    assert [reference() for reference in left] == [None, None]
