"""A model that is built again is the same, and one with another number in it is not."""

import subprocess
import sys

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.sampling.fingerprint import fingerprint

TABLE = np.random.default_rng(0).normal(size=(6, 3))


def with_data(value):
    with pm.Model() as model:
        data = pm.Data("data", value)
        pm.Normal("x", pm.Normal("mean"), 1.0, observed=data)
    return model


OTHERS = {
    "data": lambda: bid.gbt(TABLE + 1e-12, identity=True),
    "prior": lambda: bid.gbt(TABLE, identity=True, tau=1.1),
    "bounds": lambda: bid.gbt(TABLE, identity=True, bounds=(-1, 2)),
    "size": lambda: bid.gbt(TABLE, k=2, identity=True),
    "hierarchy": lambda: bid.gbtn(TABLE, identity=True),
    "identity": lambda: bid.gbt(TABLE),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_another_model_has_another_fingerprint(other):
    assert fingerprint(bid.gbt(TABLE, identity=True)) != fingerprint(other())


def test_new_values_of_a_container_are_another_model():
    model = with_data(np.zeros(3))
    before = fingerprint(model)
    pm.set_data({"data": np.ones(3)}, model=model)
    assert before != fingerprint(model) == fingerprint(with_data(np.ones(3)))


@pytest.mark.slow
def test_another_process_finds_the_same():
    code = """
from tests.sampling.test_fingerprint import *
print(fingerprint(bid.gbtn(TABLE, identity=True)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == fingerprint(bid.gbtn(TABLE, identity=True))
