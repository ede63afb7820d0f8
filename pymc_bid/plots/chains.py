"""Which columns are chosen how often, and what the chains did over their iterations."""

from typing import Any

import numpy as np
import pandas as pd
from pymc.model import Model

from pymc_bid.plots.layout import label_columns, make_axes
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.results.diagnostics import autocorrelation, state_summary
from pymc_bid.results.posterior import read_error, read_posterior, read_state
from pymc_bid.results.size_prior import read_size_prior

WORTH_A_NAME = 0.05
"""Probability from which a column is named where there is no room to name all."""
ROOM = 10
"""Numbers of columns that are shown on either side of those drawn, for their prior."""


def plot_inclusion(
    source: Any,
    *,
    state: str = "r",
    highlight: Any = None,
    ax: Any = None,
    figsize: tuple[float, float] = (10, 3.5),
):
    """Bars of each column's probability of being chosen, with two Monte Carlo standard errors.

    Where not all labels fit, the most probable columns are named first.

    Parameters
    ----------
    source : InterpolativeDecomposition, arviz.InferenceData or xarray.DataTree
    state : str
        Name of the state vector in draws.
    highlight : list of labels, optional
        Columns in another colour; the chosen ones of a decomposition if not given.
    ax, figsize
        Axes to draw on, or the size of a new figure; the axes are returned.

    Examples
    --------
    >>> ax = bid.plot_inclusion(result)
    >>> ax.get_ylabel()
    'probability of being chosen'
    """
    if isinstance(source, InterpolativeDecomposition):
        table = source.inclusion
        marked = np.isin(np.arange(len(table)), source.positions)
    else:
        table = state_summary(source, state=state)
        marked = np.zeros(len(table), dtype=bool)
    labels, inclusion, error = (np.asarray(x) for x in (table.index, table.inclusion, table.mcse))
    if highlight is not None:
        marked = np.isin(labels.astype(str), np.asarray(highlight).astype(str))
    (ax,) = make_axes(ax, 1, figsize)
    places = np.arange(labels.size)
    few = labels.size <= 100
    for mask, color in ((~marked, "C0"), (marked, "C1")):
        if few:
            ax.bar(places[mask], inclusion[mask], color=color, width=0.8)
        else:
            # Bars narrower than a pixel would come and go with its rounding.
            ax.vlines(places[mask], 0, inclusion[mask], color=color, linewidth=0.8)
            ax.plot(places[mask], inclusion[mask], ".", color=color, markersize=3)
    known = np.isfinite(error) & (error > 0)
    style = {"fmt": "none", "ecolor": "0.2", "elinewidth": 1 if few else 0.5}
    ax.errorbar(places[known], inclusion[known], 2 * error[known], **style)
    ax.axhline(0.5, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    ax.set(xlim=(-1, labels.size), ylim=(0, 1.05), ylabel="probability of being chosen")
    ax.figure.draw_without_rendering()
    order = np.argsort(-inclusion, kind="stable")
    label_columns(ax, labels, first=order[inclusion[order] >= WORTH_A_NAME])
    return ax


def plot_size(
    source: Any,
    *,
    state: str = "r",
    model: Model | None = None,
    axes: Any = None,
    figsize: tuple[float, float] = (10, 3.5),
):
    """Draw the number of chosen columns K in each chain, one after the other, and how often it is.

    Next to the distribution stands the prior where it is known: from the model, or from draws of
    the prior in `source` (`pm.sample_prior_predictive`).

    Parameters
    ----------
    source : InterpolativeDecomposition, arviz.InferenceData or xarray.DataTree
    state : str
        Name of the state vector in draws.
    model : pymc.Model, optional
        The model sampled, for its prior; that of the context if not given.
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
    _one_after_the_other(over, size, drawstyle="steps-mid")
    over.set_ylabel("number of columns K")
    over.yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    values, counts = np.unique(size, return_counts=True)
    distribution.barh(values, counts / counts.sum(), height=0.8, color="0.6", label="posterior")
    distribution.set(xlabel="probability", ylim=(values[0] - 0.9, values[-1] + 0.9))
    prior = read_size_prior(source, state, model)
    if prior is not None:
        # A little of it beside the draws, which would be a line in all of a flat one.
        likely = np.flatnonzero(prior >= 0.01 * prior.max())
        low = min(values[0], max(likely[0], values[0] - ROOM))
        high = max(values[-1], min(likely[-1], values[-1] + ROOM))
        distribution.set_ylim(low - 0.9, high + 0.9)
        distribution.plot(
            prior, np.arange(prior.size), "o-", color="C1", markersize=3, label="prior"
        )
        # Above the wider of the two, for on a phone it is broader than the other.
        _legend(over, distribution.get_legend_handles_labels()[0])
    return axes


def plot_error(source: Any, *, ax: Any = None, figsize: tuple[float, float] = (10, 3.5)):
    """Draw the mean squared error of each draw, one chain after the other.

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
        _one_after_the_other(ax, values, label=name, alpha=0.4 if both and name == "before" else 1)
    ax.set_ylabel("error of a draw")
    if both:
        _legend(ax, ax.lines[:: len(lines["before"])])
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


def _one_after_the_other(ax, chains, label: str | None = None, **style) -> None:
    """Draw chains next to each other, for on top of each other they would hide each other."""
    number, draws = chains.shape
    for chain, series in enumerate(chains):
        places = chain * draws + np.arange(draws)
        ax.plot(places, series, color=f"C{chain % 10}", linewidth=0.6, label=label, **style)
    between = {"color": "0.8", "linewidth": 0.8, "zorder": 0}
    ax.vlines(np.arange(1, number) * draws, 0, 1, transform=ax.get_xaxis_transform(), **between)
    names = [f"chain {chain}" if number <= 4 else str(chain) for chain in range(number)]
    ax.set_xticks((np.arange(number) + 0.5) * draws, names)
    ax.tick_params(axis="x", length=0)
    what = "" if number <= 4 else " (by number)"
    ax.set(xlim=(0, number * draws), xlabel=f"{draws} draws of each chain{what}")


def _legend(ax, lines=None) -> None:
    # Above the axes: lines may be anywhere inside.
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
    ax.legend(handles=lines, fontsize=8, ncols=4, frameon=False, **place)
