"""What the chains did over their iterations."""

from typing import Any

import numpy as np
import pandas as pd

from pymc_bid.plots.layout import make_axes
from pymc_bid.results.autocorrelation import autocorrelation
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.results.posterior import read_error, read_posterior, read_state


def plot_size(
    source: Any,
    *,
    state: str = "r",
    axes: Any = None,
    figsize: tuple[float, float] = (10, 3.5),
):
    """Draw the number of chosen columns K over the iterations of each chain, and its distribution.

    Parameters
    ----------
    source : InterpolativeDecomposition, arviz.InferenceData or xarray.DataTree
    state : str
        Name of the state vector in draws.
    axes : pair of matplotlib.axes.Axes, optional
    figsize : pair of float
        Size of a new figure.

    Returns
    -------
    array of matplotlib.axes.Axes

    Examples
    --------
    >>> over_draws, distribution = bid.plot_size(idata)
    """
    if isinstance(source, InterpolativeDecomposition):
        size = source.data["K"].values
    else:
        size = read_state(source, state)[0].sum(axis=2)
    axes = make_axes(axes, 2, figsize, width_ratios=[3, 1], sharey=True)
    over, distribution = axes
    for chain, values in enumerate(size):
        over.plot(values, drawstyle="steps-mid", linewidth=0.8, label=f"chain {chain}")
    over.set(xlabel="draw", ylabel="number of columns K")
    over.yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    values, counts = np.unique(size, return_counts=True)
    distribution.barh(values, counts / counts.sum(), height=0.8, color="0.6")
    distribution.set(xlabel="probability", ylim=(values[0] - 0.9, values[-1] + 0.9))
    _legend(over, len(size))
    return axes


def plot_error(source: Any, *, ax: Any = None, figsize: tuple[float, float] = (10, 3.5)):
    """Draw the mean squared error of each draw over the iterations of each chain.

    From a decomposition, before and after post-processing; from draws, as the sampler reported it.

    Parameters
    ----------
    source : InterpolativeDecomposition, arviz.InferenceData or xarray.DataTree
    ax : matplotlib.axes.Axes, optional
    figsize : pair of float
        Size of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = bid.plot_error(result)
    """
    if isinstance(source, InterpolativeDecomposition):
        before, after = source.error_before.values, source.error_after.values
        lines = {"before": before} if np.isnan(after).any() else {"after": after}
        if not source.data.attrs["identity"] and not np.isnan(after).any():
            lines = {"before": before, "after": after}
    else:
        error = read_error(source)
        if error is None:
            raise ValueError(
                "There is no bid_mse of one decomposition in sample_stats; pass what decompose "
                "returned."
            )
        lines = {"before": error}
    (ax,) = make_axes(ax, 1, figsize)
    for name, values in lines.items():
        for chain, series in enumerate(values):
            label = f"chain {chain}" + (f", {name}" if len(lines) > 1 else "")
            ax.plot(
                series,
                color=f"C{chain}",
                linewidth=0.8,
                alpha=0.4 if name == "before" and len(lines) > 1 else 1.0,
                label=label,
            )
    ax.set(xlabel="draw", ylabel="mean squared error of a draw")
    _legend(ax, len(lines) * len(values))
    return ax


def plot_autocorrelation(
    source: Any,
    *,
    weights: str = "Y",
    lags: int = 40,
    basis: Any = None,
    ax: Any = None,
    figsize: tuple[float, float] = (6, 3.5),
):
    """Draw the autocorrelation of the weights averaged over their entries.

    Parameters
    ----------
    source : arviz.InferenceData, xarray.DataTree or pandas.Series
        Draws, or what `bid.autocorrelation` returned.
    weights, lags, basis
        As for `bid.autocorrelation`.
    ax : matplotlib.axes.Axes, optional
    figsize : pair of float
        Size of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = bid.plot_autocorrelation(idata, basis=result.columns, lags=10)
    """
    if isinstance(source, pd.Series):
        found = source
    else:
        lags = min(lags, read_posterior(source).sizes["draw"] - 1)
        found = autocorrelation(source, weights=weights, lags=lags, basis=basis)
    (ax,) = make_axes(ax, 1, figsize)
    ax.vlines(found.index, 0, found, color="C0")
    ax.plot(found.index, found, "o", color="C0", markersize=3)
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="lag", ylabel="mean autocorrelation of $y_{kl}$")
    ax.set_ylim(min(-0.05, float(found.min()) * 1.1), 1.05)
    return ax


def _legend(ax, entries: int) -> None:
    if entries <= 8:
        # Above the axes: lines may be anywhere inside.
        ax.legend(
            fontsize=8,
            ncols=4,
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
        )
