"""Kernels are compiled once, before chains start, and sampling sees nothing of how that is done."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numba import typeof

import pymc_bid as bid
from pymc_bid.graph.decomposition import find_decompositions
from pymc_bid.steps.rehearsal import Verdict, rehearse

MOST_OVERLOADS = 45
"""Of kernels, in the quickstart."""

QUICKSTART = """
import json
import os
import sys

from numba.core import event


class Listener(event.Listener):
    def on_start(self, event):
        pass

    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        signature = str(event.data["args"])
        note("compiled", f"{function.__module__}.{function.__name__}", signature)


def note(*what):
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps([os.getpid(), *what]) + "\\n")


# Spawned processes import this file as well.
note("listens", __name__)
event.register("numba:compile", Listener())

if __name__ == "__main__":
    import pymc as pm

    import pymc_bid as bid

    planted = bid.datasets.make_planted(rows=90, columns=15, rank=6, noise=0.3, seed=1)
    with bid.column_selection(planted.A):
        pm.sample(
            draws=50, tune=50, chains=2, cores=2, mp_ctx="spawn", random_seed=1,
            progressbar=False, compute_convergence_checks=False,
        )
"""


def test_the_quickstart_compiles_once_and_says_so(tmp_path):
    script, notes = tmp_path / "quickstart.py", tmp_path / "notes"
    script.write_text(QUICKSTART)
    run = subprocess.run(
        [sys.executable, script, notes],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr.count("pymc_bid: compiling, once: about ") == 1
    noted = [json.loads(line) for line in notes.read_text().splitlines()]
    listening = {process: name for process, what, name, *_ in noted if what == "listens"}
    assert sorted(listening.values()) == ["__main__", "__mp_main__", "__mp_main__"]
    compiled = [
        (process, *function)
        for process, what, *function in noted
        if what == "compiled" and function[0].startswith("pymc_bid.")
    ]
    # In the process that samples, and in one that it forks: none that runs a chain.
    assert not [row for row in compiled if listening.get(row[0]) == "__mp_main__"]
    assert len({process for process, *_ in compiled}) <= 2
    overloads = {tuple(function) for _, *function in compiled}
    print(f"{len({name for name, _ in overloads})} functions, {len(overloads)} overloads")
    assert 0 < len(overloads) <= MOST_OVERLOADS


DATA = bid.datasets.make_planted(rows=20, columns=6, rank=3, noise=0.5).A.to_numpy()


def everything(step):
    """What the step is made of, in a form that can be compared."""
    state = step.sampling_state
    if hasattr(state, "ladder"):
        state.ladder = vars(state.ladder)
    return pickle.dumps(state)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("scheme", ["collapsed", "paper"])
def test_a_rehearsal_leaves_the_step_as_it_is(k, scheme):
    model = bid.gbtn(DATA, k=k)
    with model:
        state = bid.FlipStep if k is None else bid.SwapStep
        steps = [
            state(model["r"], scheme=scheme, rng=1),
            bid.NoiseStep(model["sigma2"], rng=2),
            bid.WeightStep(model["Y"], rng=3),
        ]
    for step in steps:
        before, attributes = everything(step), dict(vars(step))
        assert rehearse(step, model)
        assert everything(step) == before
        assert vars(step).keys() == attributes.keys()
        assert all(vars(step)[name] is value for name, value in attributes.items())
        seeds = {bid.NoiseStep: 2, bid.WeightStep: 3}
        fresh = np.random.default_rng(seeds.get(type(step), 1))
        assert step.rng.random() == fresh.random()


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("accepts", [True, False])
def test_the_verdict_decides_about_every_exchange(k, accepts):
    model = bid.gbt(DATA, k=k)
    with model:
        step = (bid.FlipStep if k is None else bid.SwapStep)(model["r"], rng=1)
    point = model.initial_point(random_seed=1)
    step.tune, step.rng = False, Verdict(accepts)
    decisions = []
    for _ in range(20):
        point, (statistics,) = step.step(point)
        if statistics["bid_exchanges_tried"]:
            decisions.append(bool(statistics["bid_exchanges_accepted"]))
    assert decisions == [accepts] * 10


def test_moves_of_the_user_are_not_rehearsed():
    def move(*arguments):
        raise AssertionError("called")

    model = bid.gbt(DATA)
    with model:
        step = bid.FlipStep(model["r"], moves=[move])
        assert len(rehearse(step, model)) == 6
        with pytest.raises(AssertionError, match="called"):
            step.step(model.initial_point())


def test_a_step_may_be_made_where_sampling_could_not_start():
    model = bid.gbt(DATA)
    step = bid.NoiseStep(model["sigma2"], model=model, initial_point={})
    assert rehearse(step, model, {}) == []
    assert len(rehearse(step, model)) == 6


def test_priors_have_the_same_type_after_a_pickle():
    model = bid.gbt(DATA)
    prior = find_decompositions(model)[0].weight_prior(model.initial_point())
    again = pickle.loads(pickle.dumps(prior))
    assert typeof(again) == typeof(prior)
    for one, other in zip(again, prior, strict=True):
        np.testing.assert_array_equal(one, other)
