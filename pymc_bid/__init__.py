"""Bayesian interpolative decomposition for PyMC."""

from pymc_bid import datasets
from pymc_bid.compression import CompressedMatrix, compress
from pymc_bid.distributions import GTNSNG, CompressedNormal, Interpolation, StateVector
from pymc_bid.memory import trace_size
from pymc_bid.models import gbt, gbtn
from pymc_bid.plots import (
    plot_autocorrelation,
    plot_decomposition,
    plot_error,
    plot_inclusion,
    plot_size,
    plot_weights,
)
from pymc_bid.results import (
    Convergence,
    InterpolativeDecomposition,
    autocorrelation,
    check_convergence,
    decompose,
    ess_per_second,
    impute,
    log_likelihood,
    state_summary,
)
from pymc_bid.running_means import RunningMeans
from pymc_bid.steps import FlipStep, InclusionStep, NoiseStep, SwapStep, WeightStep
from pymc_bid.steps.assignment import register_steps
from pymc_bid.stopping import StopWhenStationary

__version__ = "0.1.0"

__all__ = [
    # models
    "gbt",
    "gbtn",
    "StateVector",
    "GTNSNG",
    "Interpolation",
    "compress",
    "CompressedMatrix",
    "CompressedNormal",
    # sampling
    "FlipStep",
    "SwapStep",
    "NoiseStep",
    "WeightStep",
    "InclusionStep",
    "StopWhenStationary",
    "RunningMeans",
    "trace_size",
    # results
    "decompose",
    "InterpolativeDecomposition",
    "impute",
    "log_likelihood",
    "state_summary",
    "check_convergence",
    "Convergence",
    "autocorrelation",
    "ess_per_second",
    # pictures
    "plot_inclusion",
    "plot_size",
    "plot_error",
    "plot_autocorrelation",
    "plot_decomposition",
    "plot_weights",
    # data
    "datasets",
]

register_steps()
