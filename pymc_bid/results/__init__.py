"""From draws to a decomposition: what is read off after sampling."""

from pymc_bid.results.convergence import Convergence, check_convergence
from pymc_bid.results.decompose import decompose
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.results.diagnostics import autocorrelation, ess_per_second, state_summary
from pymc_bid.results.impute import impute
from pymc_bid.results.likelihood import log_likelihood

__all__ = [
    "Convergence",
    "InterpolativeDecomposition",
    "autocorrelation",
    "check_convergence",
    "decompose",
    "ess_per_second",
    "impute",
    "log_likelihood",
    "state_summary",
]
