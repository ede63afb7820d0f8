"""Distributions of the models: state vector, weights' parameters, matrix with the identity."""

from pymc_bid.distributions.compressed_normal import CompressedNormal
from pymc_bid.distributions.gtnsng import GTNSNG, log_precision
from pymc_bid.distributions.interpolation import Interpolation
from pymc_bid.distributions.state_vector import StateVector

__all__ = ["CompressedNormal", "GTNSNG", "Interpolation", "StateVector", "log_precision"]
