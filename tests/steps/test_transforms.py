"""Transforms that PyMC's own samplers need can be added to a model, and disturb no step."""

import numpy as np
import pymc as pm
import pytest
from pymc.distributions.transforms import Interval, log
from pymc.model.transform.conditioning import change_value_transforms

import pymc_bid as bid
from tests.helpers.chains import found_steps

A = bid.datasets.make_planted(rows=30, columns=4, rank=2, noise=0.3, seed=1).A
TRANSFORMS = {"Y": Interval(-1.0, 1.0), "sigma2": log, "omega2": log}


@pytest.fixture(scope="module")
def model():
    return bid.gbt(A, k=2, identity=True)


def test_the_steps_are_found_in_a_model_with_transforms_and_draw_the_same(model):
    changed = change_value_transforms(model, TRANSFORMS)
    drawn = []
    for one in (model, changed):
        values, point = {v.name: v for v in one.unobserved_RVs}, one.initial_point(random_seed=1)
        steps = found_steps(one)
        for _ in range(5):
            for step in steps:
                point, _ = step.step(point)
        variables = [values[name] for name in ("r", "sigma2", "omega2", "Y")]
        drawn.append(one.compile_fn(one.replace_rvs_by_values(variables), point_fn=True)(point))
    for plain, transformed in zip(*drawn, strict=True):
        np.testing.assert_allclose(transformed, plain, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:`find_MAP` will:FutureWarning")
def test_a_posterior_mode_lies_within_the_bounds(model):
    given = pm.do(model, {"r": np.array([1, 1, 0, 0])})
    with change_value_transforms(given, TRANSFORMS):
        found = pm.find_MAP(progressbar=False)
    assert (found["sigma2"] > 0) and (found["omega2"] > 0).all()
    assert (np.abs(found["Y"]) < 1).all()


@pytest.mark.slow
def test_nuts_draws_the_same_noise_without_divergences(model):
    with change_value_transforms(model, TRANSFORMS) as changed:
        options = {"chains": 1, "cores": 1, "progressbar": False, "random_seed": 1}
        nuts = pm.NUTS([changed["Y"], changed["sigma2"]])
        found = pm.sample(500, tune=500, step=[nuts], compute_convergence_checks=False, **options)
    assert int(found["sample_stats"]["diverging"].sum()) == 0
    with model:
        ours = pm.sample(500, tune=200, compute_convergence_checks=False, **options)
    means = [float(one["posterior"]["sigma2"].mean()) for one in (found, ours)]
    # Standard deviation 0.02, and some 100 effective draws.
    assert abs(means[0] - means[1]) < 5 * 0.02 * np.sqrt(2 / 100)


@pytest.mark.slow
def test_sequential_monte_carlo_stays_within_the_support(model):
    with change_value_transforms(model, TRANSFORMS):
        found = pm.sample_smc(
            200,
            chains=1,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )["posterior"]
    values = {name: np.asarray(found[name]) for name in ("r", "sigma2", "omega2", "Y")}
    assert np.isin(values["r"], (0, 1)).all() and (values["r"].sum(axis=-1) == 2).all()
    assert (values["sigma2"] > 0).all() and (values["omega2"] > 0).all()
    assert (np.abs(values["Y"]) < 1).all()
