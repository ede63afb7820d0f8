"""Probabilities of being chosen."""

from typing import Any

import numpy as np

from pymc_bid.plots.layout import label_columns, make_axes
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.results.diagnostics import state_summary

WORTH_A_NAME = 0.05
"""Probability from which a column is named where there is no room to name all."""


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
