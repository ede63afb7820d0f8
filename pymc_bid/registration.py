"""Making `pm.sample()` find the steps of this package by itself."""

import importlib

import pymc as pm
import pymc.step_methods

STEPS = {
    "FlipStep": "bid_flip",
    "SwapStep": "bid_swap",
    "NoiseStep": "bid_noise",
    "WeightStep": "bid_weights",
    "InclusionStep": "bid_inclusion",
}
"""Classes of `pymc_bid.steps` and the words that pass them options through `pm.sample`."""


def register_steps() -> None:
    """Enter the steps in PyMC's list of step methods, once.

    PyMC takes the first of the most competent methods and calls its own BinaryGibbsMetropolis ideal
    for every Bernoulli variable, so ours have to stand before it. They claim nothing in models that
    hold no decomposition.
    """
    methods = pymc.step_methods.STEP_METHODS
    # PyMC 5 reads the list from its root, where it is the same object unless someone replaced it.
    for registry in {id(x): x for x in (methods, vars(pm).get("STEP_METHODS", methods))}.values():
        if not any(isinstance(method, _StepOnDemand) for method in registry):
            registry[:0] = [_StepOnDemand(*step) for step in STEPS.items()]


class _StepOnDemand:
    """Stands for a step class in PyMC's list, and loads it when a model is to be sampled.

    The steps come with compiled kernels, and numba takes longer to import than the rest of this
    package and a good part of PyMC together.
    """

    def __init__(self, step: str, name: str):
        self.__name__ = step
        self.name = name

    def _competence(self, vars, have_grad):
        return self._load()._competence(vars, have_grad)

    def __call__(self, *arguments, **options):
        return self._load()(*arguments, **options)

    def __repr__(self):
        return f"<pymc_bid.{self.__name__}, loaded when needed>"

    def _load(self):
        return getattr(importlib.import_module("pymc_bid.steps"), self.__name__)
