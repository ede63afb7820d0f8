"""Distributions of the models: state vector, weights' parameters, matrix with the identity."""

from pymc_bid.distributions.gtnsng import GTNSNG, log_precision
from pymc_bid.distributions.interpolation import CompressedNormal, Interpolation
from pymc_bid.distributions.state_vector import StateVector

__all__ = ["CompressedNormal", "GTNSNG", "Interpolation", "StateVector", "log_precision"]
