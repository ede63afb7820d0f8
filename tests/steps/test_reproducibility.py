"""A seed means something: the same draws whatever runs the chains."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid

DATA = bid.datasets.make_planted(rows=20, columns=6, rank=3, noise=0.5).A.to_numpy()


def sample(model, **options):
    with model:
        return pm.sample(
            draws=30,
            tune=30,
            chains=2,
            random_seed=42,
            progressbar=False,
            compute_convergence_checks=False,
            **options,
        )["posterior"]


def assert_identical(first, second):
    for name in first.data_vars:
        np.testing.assert_array_equal(np.asarray(first[name]), np.asarray(second[name]))


@pytest.mark.parametrize(
    ("k", "context"),
    [
        (None, "fork"),
        (3, "fork"),
        (None, "spawn"),
        # Both processes import PyMC anew.
        pytest.param(3, "spawn", marks=pytest.mark.slow),
    ],
)
def test_one_and_two_processes_draw_the_same(k, context):
    model = bid.gbtn(DATA, k=k)
    assert_identical(sample(model, cores=1), sample(model, cores=2, mp_ctx=context))


def test_chains_differ_from_each_other():
    posterior = sample(bid.gbt(DATA), cores=1)
    for name in ("Y", "sigma2"):
        values = np.asarray(posterior[name])
        assert not np.isclose(values[0], values[1]).any()


def test_first_chain_does_not_leak_into_the_second():
    model = bid.gbt(DATA)
    start = model.initial_point(random_seed=1)
    both = sample(model, cores=1, initvals=[start, start])
    other_start = {**start, "r": 1 - start["r"]}
    changed = sample(model, cores=1, initvals=[other_start, start])
    for name in ("r", "Y", "sigma2"):
        np.testing.assert_array_equal(both[name][1], changed[name][1])


def test_a_step_leaves_the_point_alone():
    model = bid.gbtn(DATA)
    point = model.initial_point(random_seed=2)
    for value in point.values():
        value.setflags(write=False)
    kept = {name: value.copy() for name, value in point.items()}
    with model:
        steps = [
            bid.FlipStep(model["r"]),
            bid.NoiseStep(model["sigma2"]),
            bid.WeightStep(model["Y"]),
        ]
    for step in steps:
        changed, _ = step.step(point)
        assert list(changed) == list(point)
        for name, value in kept.items():
            np.testing.assert_array_equal(point[name], value)
            assert changed[name].dtype == value.dtype
            assert changed[name].shape == value.shape
