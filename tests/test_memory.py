"""Memory of the draws: said before sampling if it is more than there is."""

import warnings

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid import memory

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


def test_too_large_a_trace_is_said_before_sampling(model, monkeypatch):
    needed = CHAINS * (TUNE + 2 * DRAWS) * ONE_DRAW
    monkeypatch.setattr(memory, "free_memory", lambda: needed - 1)
    with pytest.warns(UserWarning, match=r"need 8.8 kB, and 8.8 kB of memory are free: 2 chains"):
        sample(model)
    for enough in (
        lambda: sample(model, var_names=["r", "sigma2", "K"]),
        lambda: (monkeypatch.setattr(memory, "free_memory", lambda: needed), sample(model)),
    ):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="The draws that pm.sample")
            enough()


def test_steps_made_by_hand_do_not_ask(model, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bid.WeightStep(model["Y"], model=model)


def test_free_memory_is_some():
    free = memory.free_memory()
    assert free is None or 2**20 < free < 2**50
