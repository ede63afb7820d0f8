"""Wherever a chain is to start: an error that names the variable, or draws within the bounds."""

import copy
from functools import cache

import numpy as np
import pytest
from hypothesis import strategies as st

import pymc_bid as bid
from tests.fuzzing.judging import CLEAR, DRAWN, kind_of, make_steps, strictly, try_all, walk
from tests.fuzzing.strategies import SEEDS, starts

A = np.random.default_rng(0).normal(size=(9, 4))
MODELS = {
    "paper": lambda: bid.gbt(A),
    "fixed": lambda: bid.gbtn(A, k=2, identity=True),
    "columns": lambda: bid.column_selection(A),
    "gaps": lambda: bid.gbt(np.where(A > 1, np.nan, A), missing="mask", noise="column"),
    "pool": lambda: bid.gbt(A[:, :2], pool=A, bounds=(-0.5, 0.5)),
}
EXAMPLES = st.tuples(st.sampled_from(tuple(MODELS)), starts(), SEEDS)


@cache
def made(name):
    model = MODELS[name]()
    steps = make_steps(model)
    return model.initial_point(random_seed=1), steps, [step.sampling_state for step in steps]


def judge(example):
    name, changes, seed = example
    point, steps, states = made(name)
    for step, state in zip(steps, states, strict=True):
        step.sampling_state = copy.deepcopy(state)
        # By which a step tells chains apart.
        step.rng = np.random.default_rng(seed)
    changed = {
        change.name: change.build(point[change.name].shape)
        for change in changes
        if change.name in point
    }
    before = copy.deepcopy(changed)
    largest = 0.5 if name == "pool" else 1.0
    try:
        with strictly():
            walk(steps, point | changed, -largest, largest)
    except CLEAR as error:
        outcome = kind_of(error, changed)
    else:
        outcome = DRAWN
    for variable, value in changed.items():
        # Bytes: an object that is nan equals nothing.
        assert value.tobytes() == before[variable].tobytes()
    return outcome


@pytest.mark.parametrize("number", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_start_is_refused_by_name_or_drawn_from(number, report):
    outcomes = try_all(EXAMPLES, judge, number)
    report(outcomes)
    assert outcomes[DRAWN] > number / 20 and outcomes["ValueError"] > number / 10, outcomes
