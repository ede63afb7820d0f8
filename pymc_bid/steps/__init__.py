"""Step methods: each translates between PyMC's point and a kernel."""

from pymc_bid.steps.flip import FlipStep
from pymc_bid.steps.inclusion import InclusionStep
from pymc_bid.steps.noise import NoiseStep
from pymc_bid.steps.swap import SwapStep
from pymc_bid.steps.weights import WeightStep

__all__ = ["FlipStep", "InclusionStep", "NoiseStep", "SwapStep", "WeightStep"]
