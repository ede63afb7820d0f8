"""Making `pm.sample()` find the steps of this package by itself."""

import pymc as pm
import pymc.step_methods

from pymc_bid.steps.inclusion import InclusionStep
from pymc_bid.steps.noise import NoiseStep
from pymc_bid.steps.state import FlipStep, SwapStep
from pymc_bid.steps.weights import WeightStep

STEPS = (FlipStep, SwapStep, NoiseStep, WeightStep, InclusionStep)


def register_steps() -> None:
    """Enter the steps in PyMC's list of step methods, once.

    PyMC takes the first of the most competent methods and calls its own BinaryGibbsMetropolis ideal
    for every Bernoulli variable, so ours have to stand before it. They claim nothing in models that
    hold no decomposition.
    """
    methods = pymc.step_methods.STEP_METHODS
    # PyMC 5 reads the list from its root, where it is the same object unless someone replaced it.
    for registry in {id(x): x for x in (methods, vars(pm).get("STEP_METHODS", methods))}.values():
        if FlipStep not in registry:
            registry[:0] = STEPS
