"""Distributions of the models: the state vector, and the prior of the weights' parameters."""

from pymc_bid.distributions.gtnsng import GTNSNG, log_precision
from pymc_bid.distributions.state_vector import StateVector

__all__ = ["GTNSNG", "StateVector", "log_precision"]
