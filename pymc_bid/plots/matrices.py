"""Heat maps of the matrix, its decomposition and the weights."""

from typing import Any

import numpy as np

from pymc_bid.inputs import read_matrix
from pymc_bid.plots.layout import label_columns, make_axes
from pymc_bid.results.decomposition import InterpolativeDecomposition


def plot_decomposition(
    result: InterpolativeDecomposition,
    A: Any,
    *,
    axes: Any = None,
    figsize: tuple[float, float] = (13, 4.5),
):
    """Heat maps of A, C·W and what is left over, the chosen columns marked by triangles.

    Parameters
    ----------
    result : InterpolativeDecomposition
    A : array_like, pandas.DataFrame or xarray.DataArray
        The matrix that was decomposed.
    axes : three matplotlib.axes.Axes, optional
    figsize : pair of float
        Size of a new figure.

    Returns
    -------
    array of matplotlib.axes.Axes

    Examples
    --------
    >>> axes = bid.plot_decomposition(result, A)
    >>> [ax.get_title() for ax in axes]
    ['A', 'C·W', 'A - C·W']
    """
    target, fit = read_matrix(A, "A").values, result.reconstruct().values
    if target.shape != fit.shape:
        raise ValueError(f"A has shape {target.shape}, the decomposition is of one {fit.shape}.")
    axes = make_axes(axes, 3, figsize, sharey=True)
    # A few extreme entries must not make all others pale.
    limit = np.quantile(np.abs(target), 0.995) or 1.0
    own = not result.data.attrs["pool"]
    for ax, values, title in zip(
        axes, (target, fit, target - fit), ("A", "C·W", "A - C·W"), strict=True
    ):
        image = _heat_map(ax, values, -limit, limit, "RdBu_r")
        ax.set_title(title, pad=12)
    axes[0].set_ylabel("row")
    axes[0].figure.colorbar(image, ax=list(axes), extend="both")
    axes[0].figure.draw_without_rendering()
    for ax in axes if own else []:
        _mark(ax, result.positions)
        label_columns(ax, result.data["column"].values, first=result.positions)
    return axes


def plot_weights(
    result: InterpolativeDecomposition,
    *,
    axes: Any = None,
    figsize: tuple[float, float] = (13, 4.5),
):
    """Heat maps of W: posterior mean, and standard deviation.

    Parameters
    ----------
    result : InterpolativeDecomposition
    axes : pair of matplotlib.axes.Axes, optional
    figsize : pair of float
        Size of a new figure.

    Returns
    -------
    array of matplotlib.axes.Axes

    Examples
    --------
    >>> mean, spread = bid.plot_weights(result)
    """
    if not result.columns:
        raise ValueError("No column is chosen; there are no weights to show.")
    axes = make_axes(axes, 2, figsize, sharey=True)
    largest = float(np.abs(result.W).max()) or 1.0
    spread = float(result.W_sd.max()) or 1.0
    parts = (
        (result.W, -largest, largest, "RdBu_r", "W, posterior mean"),
        (result.W_sd, 0.0, spread, "viridis", "W, posterior standard deviation"),
    )
    own = not result.data.attrs["pool"]
    axes[0].set_ylabel("chosen column")
    for ax, (values, low, high, colors, title) in zip(axes, parts, strict=True):
        image = _heat_map(ax, values.values, low, high, colors)
        ax.set_title(title, pad=12)
        ax.figure.colorbar(image, ax=ax)
    label_columns(axes[0], result.data["chosen"].values, axis="y")
    axes[0].figure.draw_without_rendering()
    for ax in axes:
        if own:
            _mark(ax, result.positions)
        label_columns(ax, result.data["column"].values, first=result.positions if own else None)
    # Once more: the labels of the columns took some of the height.
    axes[0].figure.draw_without_rendering()
    label_columns(axes[0], result.data["chosen"].values, axis="y")
    return axes


def _heat_map(ax, values, low, high, colors):
    image = ax.imshow(values, aspect="auto", cmap=colors, vmin=low, vmax=high)
    ax.set_xlabel("column")
    return image


def _mark(ax, places) -> None:
    """Triangles above the chosen columns, outside of the map."""
    ax.plot(
        places,
        np.full(len(places), 1.02),
        marker=7,
        linestyle="none",
        color="k",
        markersize=5 if len(places) <= 60 else 3,
        transform=ax.get_xaxis_transform(),
        clip_on=False,
    )
