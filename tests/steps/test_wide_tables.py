"""Noise with more columns than rows: no iteration takes long, from the first one on."""

import time

import numpy as np
import pytest

import pymc_bid as bid
from tests.fuzzing.judging import make_steps

LONGEST = 3.0
"""Seconds of an iteration; with 400 columns it was 2 to 7, with 700 it was 13 to 18."""
slow = pytest.mark.slow


def iterate(columns, number):
    """How long each iteration takes."""
    model = bid.gbt(np.random.default_rng(0).normal(size=(20, columns)), identity=True)
    steps, point, times = make_steps(model), model.initial_point(random_seed=1), []
    for _ in range(number):
        started = time.process_time()
        for step in steps:
            point, _ = step.step(point)
        times.append(time.process_time() - started)
    return times


@pytest.mark.parametrize(
    "columns", [400, pytest.param(700, marks=slow), pytest.param(2000, marks=slow)]
)
def test_noise_is_sampled_in_short_iterations(columns):
    # Compiles what is needed.
    iterate(30, 4)
    assert max(iterate(columns, 10)) < LONGEST
