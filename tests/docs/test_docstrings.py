"""Every public name has an example in its docstring, and the examples do what they say."""

import doctest
import logging
import warnings

import matplotlib
import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid

matplotlib.use("Agg")
pytestmark = pytest.mark.documentation

NAMES = [name for name in bid.__all__ if name != "datasets"]
OBJECTS = {
    **{name: getattr(bid, name) for name in NAMES},
    **{f"datasets.{name}": getattr(bid.datasets, name) for name in ("load", "make_planted")},
    "datasets.prepare": bid.datasets.prepare,
}


@pytest.fixture(scope="module")
def namespace():
    """The names that the page of the reference introduces."""
    planted = bid.datasets.make_planted(rows=30, columns=6, rank=2, noise=0.2, seed=0)
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    with bid.gbt(planted.A, identity=True) as model:
        idata = pm.sample(
            400, tune=200, chains=2, cores=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    return {
        "np": np,
        "pm": pm,
        "bid": bid,
        "planted": planted,
        "A": planted.A,
        "model": model,
        "idata": idata,
        "result": bid.decompose(idata, planted.A),
        "make_planted": bid.datasets.make_planted,
        "prepare": bid.datasets.prepare,
    }


@pytest.mark.parametrize("name", OBJECTS)
def test_the_example_runs(name, namespace):
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(OBJECTS[name], name, globs=dict(namespace))
    assert test.examples, f"{name} has no example"
    with warnings.catch_warnings():
        # So few draws do not converge, and are told so.
        warnings.simplefilter("ignore")
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        said = []
        runner.run(test, out=said.append)
    matplotlib.pyplot.close("all")
    assert runner.failures == 0, "".join(said)
