"""What the chains did over their iterations."""

from typing import Any

import numpy as np
import pandas as pd

from pymc_bid.plots.layout import make_axes
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.results.diagnostics import autocorrelation
from pymc_bid.results.posterior import read_error, read_posterior, read_state


def plot_size(
    source: Any, *, state: str = "r", axes: Any = None, figsize: tuple[float, float] = (10, 3.5)
):
    """Draw the number of chosen columns K over the iterations of each chain, and its distribution.

    Parameters
    ----------
    source : InterpolativeDecomposition, arviz.InferenceData or xarray.DataTree
    state : str
        Name of the state vector in draws.
    axes, figsize
        Two axes to draw on, or the size of a new figure; the axes are returned.

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
    _legend(over)
    return axes


def plot_error(source: Any, *, ax: Any = None, figsize: tuple[float, float] = (10, 3.5)):
    """Draw the mean squared error of each draw over the iterations of each chain.

    From a decomposition, before and after post-processing; from draws, as the sampler reported it.

    Parameters
    ----------
    source : InterpolativeDecomposition, arviz.InferenceData or xarray.DataTree
    ax, figsize
        Axes to draw on, or the size of a new figure; the axes are returned.

    Examples
    --------
    >>> ax = bid.plot_error(result)
    """
    if isinstance(source, InterpolativeDecomposition):
        lines = {"before": source.error_before.values, "after": source.error_after.values}
        if np.isnan(lines["after"]).any():
            del lines["after"]
        elif source.data.attrs["identity"]:
            del lines["before"]
    else:
        error = read_error(source)
        if error is None:
            raise ValueError(
                "There is no bid_mse of one decomposition in sample_stats; pass what decompose "
                "returned."
            )
        lines = {"before": error}
    (ax,) = make_axes(ax, 1, figsize)
    both = len(lines) > 1
    for name, values in lines.items():
        style = {"linewidth": 0.8, "alpha": 0.4 if both and name == "before" else 1.0}
        for chain, series in enumerate(values):
            label = f"chain {chain}, {name}" if both else f"chain {chain}"
            ax.plot(series, color=f"C{chain}", label=label, **style)
    ax.set(xlabel="draw", ylabel="mean squared error of a draw")
    _legend(ax)
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
    ax, figsize
        Axes to draw on, or the size of a new figure; the axes are returned.

    Examples
    --------
    >>> ax = bid.plot_autocorrelation(idata, basis=result.columns, lags=10)
    """
    found = source
    if not isinstance(source, pd.Series):
        lags = min(lags, read_posterior(source).sizes["draw"] - 1)
        found = autocorrelation(source, weights=weights, lags=lags, basis=basis)
    (ax,) = make_axes(ax, 1, figsize)
    ax.vlines(found.index, 0, found, color="C0")
    ax.plot(found.index, found, "o", color="C0", markersize=3)
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set(xlabel="lag", ylabel="mean autocorrelation of $y_{kl}$")
    ax.set_ylim(min(-0.05, float(found.min()) * 1.1), 1.05)
    return ax


def _legend(ax) -> None:
    if len(ax.lines) <= 8:
        # Above the axes: lines may be anywhere inside.
        place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
        ax.legend(fontsize=8, ncols=4, frameon=False, **place)
