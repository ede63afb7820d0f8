"""Bayesian interpolative decomposition for PyMC."""

import importlib
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymc_bid import datasets
    from pymc_bid.compression import CompressedMatrix, compress
    from pymc_bid.distributions import GTNSNG, CompressedNormal, Interpolation, StateVector
    from pymc_bid.evidence import LogEvidence, log_evidence
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
    "log_evidence",
    "LogEvidence",
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

# numba, ArviZ and matplotlib together take longer to import than PyMC, so each name is loaded when
# it is first asked for.
_MODULES = {
    "models": ("gbt", "gbtn"),
    "distributions": ("StateVector", "GTNSNG", "Interpolation", "CompressedNormal"),
    "compression": ("compress", "CompressedMatrix"),
    "steps": ("FlipStep", "SwapStep", "NoiseStep", "WeightStep", "InclusionStep"),
    "stopping": ("StopWhenStationary",),
    "running_means": ("RunningMeans",),
    "memory": ("trace_size",),
    "evidence": ("log_evidence", "LogEvidence"),
    "results": (
        "decompose",
        "InterpolativeDecomposition",
        "impute",
        "log_likelihood",
        "state_summary",
        "check_convergence",
        "Convergence",
        "autocorrelation",
        "ess_per_second",
    ),
    "plots": (
        "plot_inclusion",
        "plot_size",
        "plot_error",
        "plot_autocorrelation",
        "plot_decomposition",
        "plot_weights",
    ),
    "datasets": (),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _runs_as_command() -> bool:
    """Whether this is `pymc-bid` or `python -m pymc_bid`, whose --help needs no PyMC."""
    return PurePath(sys.argv[0]).stem == "pymc-bid" or sys.orig_argv[1:3] == ["-m", __name__]


if not _runs_as_command():
    from pymc_bid.registration import register_steps

    register_steps()
