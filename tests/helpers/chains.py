"""Chains of the steps that PyMC finds by itself, without pm.sample's compilations."""

import numpy as np
from pymc.sampling.mcmc import assign_step_methods
from pymc.step_methods import STEP_METHODS

from pymc_bid.graph.values import Entry


def found_steps(model, seed=0, beside=()):
    """Steps for every variable that no step of `beside` has, none of them a sampler of PyMC."""
    with model:
        _, selected = assign_step_methods(model, step=list(beside), methods=list(STEP_METHODS))
    rngs = np.random.default_rng(seed).spawn(len(selected))
    steps = [
        method(values, model=model, rng=rng)
        for (method, values), rng in zip(selected.items(), rngs, strict=True)
    ]
    # Several decompositions have several steps of a kind.
    steps = [part for step in steps for part in getattr(step, "methods", [step])]
    foreign = [type(step).__name__ for step in steps if not step.name.startswith("bid_")]
    assert not foreign, f"PyMC gave some variables {foreign}"
    return [*steps, *beside]


def run_chain(model, steps, names, draws, tune=50, seed=1):
    """Run the steps in turn; return the draws of the named variables, each (draws, ...)."""
    entries = {name: Entry(model[name], model) for name in names}
    point = model.initial_point(random_seed=seed)
    kept = {name: [] for name in names}
    for iteration in range(-tune, draws):
        if iteration == 0:
            for step in steps:
                step.stop_tuning()
        for step in steps:
            point, _ = step.step(point)
        if iteration >= 0:
            for name, entry in entries.items():
                kept[name].append(entry.read(point))
    return {name: np.array(values) for name, values in kept.items()}


def as_columns(draws):
    """One column for each number that is drawn; weights also as they enter the fit."""
    columns = {name: value.reshape(len(value), -1) for name, value in draws.items()}
    if {"r", "Y"} <= set(draws):
        columns["rY"] = (draws["r"][:, :, None] * draws["Y"]).reshape(len(draws["r"]), -1)
    return np.hstack([columns[name] for name in sorted(columns)]).astype(float)
