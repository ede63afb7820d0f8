"""Pictures of draws and decompositions; matplotlib is imported when one is made, not before."""

from pymc_bid.plots.chains import plot_autocorrelation, plot_error, plot_size
from pymc_bid.plots.inclusion import plot_inclusion
from pymc_bid.plots.matrices import plot_decomposition, plot_weights

__all__ = [
    "plot_autocorrelation",
    "plot_decomposition",
    "plot_error",
    "plot_inclusion",
    "plot_size",
    "plot_weights",
]
