"""Bayesian interpolative decomposition for PyMC."""

from pymc_bid import datasets
from pymc_bid.diagnostics import check_state
from pymc_bid.distributions import GTNSNG, Interpolation, StateVector
from pymc_bid.models import gbt, gbtn
from pymc_bid.steps import FlipStep, NoiseStep, SwapStep, WeightStep
from pymc_bid.steps.assignment import register_steps

__version__ = "0.1.0"

__all__ = [
    "GTNSNG",
    "FlipStep",
    "Interpolation",
    "NoiseStep",
    "StateVector",
    "SwapStep",
    "WeightStep",
    "check_state",
    "datasets",
    "gbt",
    "gbtn",
]

register_steps()
