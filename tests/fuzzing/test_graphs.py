"""Whatever graph is written by hand: refused with a name of it, or drawn from in its support."""

import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.graph.values import Entry
from tests.fuzzing.graphs import Graph, graphs
from tests.fuzzing.judging import (
    CLEAR,
    DRAWN,
    ITERATIONS,
    assert_usable,
    kind_of,
    strictly,
    try_all,
)

EXAMPLES = graphs()
KINDS = {
    "r": (bid.FlipStep, bid.SwapStep),
    "sigma2": (bid.NoiseStep,),
    "Y": (bid.WeightStep,),
    "share": (bid.InclusionStep,),
}
BOUNDS = {
    "one-sided": (0.0, np.inf),
    "normal": (-np.inf, np.inf),
    "random scale": (-np.inf, np.inf),
    "wide": (-np.inf, np.inf),
}
NO_MODEL = "no model"


def judge(graph: Graph):
    model = graph.build()
    if model is None:
        return NO_MODEL
    values = (variable.name for variable in model.value_vars)
    names = [*model.named_vars, *values, "target", "pool", "data"]
    refusals, steps = [], []
    with model, strictly():
        for name in set(KINDS) & {variable.name for variable in model.free_RVs}:
            for kind in KINDS[name]:
                try:
                    steps.append(kind([model[name]], rng=np.random.default_rng(0)))
                except CLEAR as error:
                    refusals.append(kind_of(error, names))
        if not steps:
            return refusals[0] if refusals else NO_MODEL
        try:
            walk(model, steps, BOUNDS.get(graph.weights, (-1.0, 1.0)))
        except CLEAR as error:
            return kind_of(error, [*names, "would have drawn"])
    return DRAWN


def walk(model, steps, bounds):
    entries = {
        name: Entry(model[name], model)
        for name in ("r", "Y", "sigma2")
        if name in model.named_vars and model[name] in model.free_RVs
    }
    point = model.initial_point(random_seed=0)
    if "bound" in model.named_vars:
        bounds = (-1.0, np.exp(point["bound_log__"]))
    for iteration in range(2 * ITERATIONS):
        for step in steps:
            if iteration == ITERATIONS:
                step.stop_tuning()
            point, _ = step.step(point)
            assert all(np.isfinite(value).all() for value in point.values())
            assert_usable({name: entry.read(point) for name, entry in entries.items()}, *bounds)


@pytest.mark.parametrize("number", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_graph_is_refused_by_name_or_drawn_from(number, report):
    outcomes = try_all(EXAMPLES, judge, number)
    report(outcomes)
    assert outcomes[DRAWN] > number / 10 and outcomes["TypeError"] > number / 10, outcomes
