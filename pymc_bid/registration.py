"""Making `pm.sample()` find the steps of this package by itself."""

import importlib

import pymc as pm
import pymc.step_methods
from pymc.step_methods.compound import BlockedStep

STEPS = {
    "FlipStep": "bid_flip",
    "SwapStep": "bid_swap",
    "NoiseStep": "bid_noise",
    "WeightStep": "bid_weights",
    "InclusionStep": "bid_inclusion",
}
"""Classes of `pymc_bid.steps` and the words that pass them options through `pm.sample`."""


class StepOnDemand(BlockedStep):
    """Stands for a step class in PyMC's list, and loads it when a model is to be sampled.

    The steps come with compiled kernels, and numba takes longer to import than the rest of this
    package and a good part of PyMC together. Making a step of this class makes one of the class
    that it stands for.
    """

    def __new__(cls, *args, **kwargs):
        """Make the step."""
        return cls._loaded()(*args, **kwargs)

    @classmethod
    def competence(cls, var, has_grad=False):
        """Claim what the step claims."""
        return cls._loaded().competence(var, has_grad)

    @classmethod
    def _loaded(cls) -> type[BlockedStep]:
        return getattr(importlib.import_module("pymc_bid.steps"), cls.__name__)


ON_DEMAND = [type(step, (StepOnDemand,), {"name": name}) for step, name in STEPS.items()]


def register_steps() -> None:
    """Enter the steps in PyMC's list of step methods, once.

    PyMC takes the first of the most competent methods and calls its own BinaryGibbsMetropolis ideal
    for every Bernoulli variable, so ours have to stand before it. They claim nothing in models that
    hold no decomposition.
    """
    methods = pymc.step_methods.STEP_METHODS
    # PyMC 5 reads the list from its root, where it is the same object unless someone replaced it.
    for registry in {id(x): x for x in (methods, vars(pm).get("STEP_METHODS", methods))}.values():
        registry[:0] = [step for step in ON_DEMAND if step not in registry]
