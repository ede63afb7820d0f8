"""Squared errors that steps report are those of the point that they return."""

import numpy as np
import pytest

import pymc_bid as bid
from tests.helpers.cases import make_steps

MODELS = {
    "flips": {},
    "swaps": {"k": 3},
    "flips with the identity": {"identity": True},
    "swaps with the identity": {"identity": True, "k": 3},
}


@pytest.mark.parametrize("scheme", ["collapsed", "paper"])
@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_errors_are_those_of_the_point(options, scheme):
    data = bid.datasets.make_planted(rows=40, columns=7, rank=3, noise=0.4, seed=4).A.to_numpy()
    model = bid.gbt(data, **options)
    steps = make_steps(model, seed=5, scheme=scheme)
    point = model.initial_point(random_seed=5)
    for iteration in range(30):
        if iteration == 5:
            for step in steps:
                step.stop_tuning()
        for step in steps:
            point, statistics = step.step(point)
            state, weights = point["r"], point["Y"]
            residual = data - (data * state) @ weights
            counted = state == 0 if "identity" in options else np.full(7, True)
            decomposition = step.decomposition
            found = decomposition.squared_errors(state, weights)[counted]
            np.testing.assert_allclose(found, np.sum(residual**2, axis=0)[counted], rtol=1e-9)
        np.testing.assert_allclose(
            statistics[0]["bid_sse"], np.sum(residual[:, counted] ** 2), rtol=1e-9
        )


@pytest.mark.filterwarnings("ignore:A has columns the last of which")
def test_errors_of_a_nearly_perfect_fit_are_computed_from_the_residual():
    rng = np.random.default_rng(6)
    basis = rng.normal(size=(30, 2))
    data = np.column_stack([basis, basis @ [0.5, -0.4] + 1e-7 * rng.normal(size=30)])
    model = bid.gbt(data, k=2, identity=True, beta_sigma=1e-16, alpha_sigma=2.0)
    _, noise, weights_step = make_steps(model, seed=7)
    point = model.initial_point(random_seed=7)
    point["r"], point["sigma2"] = np.array([1, 1, 0]), np.array(1e-14)
    for _ in range(20):
        point, statistics = weights_step.step(point)
        point, _ = noise.step(point)
    left = data[:, 2] - basis @ point["Y"][:2, 2]
    np.testing.assert_allclose(statistics[0]["bid_sse"], left @ left, rtol=1e-4)
    assert left @ left < 1e-11
