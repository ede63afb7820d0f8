"""Reading the pool off the mean of a likelihood."""

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

from pymc_bid.graph import structure
from pymc_bid.graph.decomposition import find_decompositions


def test_new_data_are_read_without_compiling_anything(monkeypatch):
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        data = pm.Data("data", rng.normal(size=(5, 3)))
        r = pm.Bernoulli("r", 0.5, shape=3)
        Y = pm.TruncatedNormal("Y", 0.0, 1.0, lower=-1.0, upper=1.0, shape=(3, 3))
        sigma2 = pm.InverseGamma("sigma2", 1.0, 1.0)
        pm.Normal("A", (data * r) @ Y, pm.math.sqrt(sigma2), observed=data)
    decomposition = find_decompositions(model)[0]

    def refuse(*arguments, **options):
        raise AssertionError("something is compiled")

    monkeypatch.setattr(structure.pytensor, "function", refuse)
    monkeypatch.setattr(Variable, "eval", refuse)
    changed = rng.normal(size=(7, 3))
    with model:
        pm.set_data({"data": changed})
    decomposition.refresh()
    np.testing.assert_allclose(decomposition.regression().products.grams[0], changed.T @ changed)
