"""Heat maps of the matrix, its decomposition and the weights."""

from typing import Any

import numpy as np

from pymc_bid.inputs import read_matrix
from pymc_bid.plots.layout import FONT_SIZE, label_columns, make_axes
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.results.units import Units, select_columns


def plot_decomposition(
    result: InterpolativeDecomposition,
    A: Any,
    *,
    axes: Any = None,
    figsize: tuple[float, float] = (13, 4.5),
):
    """Heat maps of A, C·W and what is left over, the chosen columns marked by triangles.

    As the model was given them: standardised, if it standardises columns, and without those that it
    left out.

    Parameters
    ----------
    result : InterpolativeDecomposition
    A : array_like, pandas.DataFrame or xarray.DataArray
        The matrix that was decomposed.
    axes, figsize
        Three axes to draw on, or the size of a new figure; the axes are returned.

    Examples
    --------
    >>> axes = bid.plot_decomposition(result, A)
    >>> [ax.get_title() for ax in axes]
    ['A', 'C·W', 'A - C·W']
    """
    fit = result.reconstruct().values
    # Columns that the model left out are in the table, and told by their labels.
    if np.shape(A)[1:] != fit.shape[1:]:
        A, _, _ = select_columns(A, result.data["column"].values, "A")
    target = read_matrix(A, "A", "mask")
    if target.values.shape != fit.shape:
        shape = target.values.shape
        raise ValueError(f"A has shape {shape}, the decomposition is of one {fit.shape}.")
    units = Units.read(result.data, "", fit.shape[1])
    values, fit = (units.standardise_values(rows) for rows in (target.values, fit))
    if target.observed is not None:
        values[~target.observed] = np.nan
    axes = make_axes(axes, 3, figsize, sharey=True)
    # A few extreme entries must not make all others pale.
    limit = np.nanquantile(np.abs(values), 0.995) or 1.0
    maps = {"A": values, "C·W": fit, "A - C·W": values - fit}
    for ax, (title, shown) in zip(axes, maps.items(), strict=True):
        image = _heat_map(ax, shown, title, -limit, limit, "RdBu_r")
    axes[0].set_ylabel("row")
    # As broad beside axes that are stacked as beside one row.
    places = axes[0].get_subplotspec()
    rows = 1 if places is None else places.get_gridspec().nrows
    axes[0].figure.colorbar(image, ax=list(axes), extend="both", aspect=20 * rows)
    axes[0].figure.draw_without_rendering()
    for ax in axes if not result.data.attrs["pool"] else []:
        _mark(ax, result)
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
    axes, figsize
        Two axes to draw on, or the size of a new figure; the axes are returned.

    Examples
    --------
    >>> mean, spread = bid.plot_weights(result)
    """
    if not result.columns:
        raise ValueError("No column is chosen; there are no weights to show.")
    axes = make_axes(axes, 2, figsize, sharey=True)
    largest = float(np.abs(result.W).max()) or 1.0
    spread = float(result.W_sd.max()) or 1.0
    axes[0].set_ylabel("chosen column")
    images = (
        _heat_map(axes[0], result.W, "W, posterior mean", -largest, largest, "RdBu_r"),
        _heat_map(axes[1], result.W_sd, "W, posterior standard deviation", 0.0, spread, "viridis"),
    )
    for ax, image in zip(axes, images, strict=True):
        ax.figure.colorbar(image, ax=ax)
    label_columns(axes[0], result.data["chosen"].values, axis="y")
    axes[0].figure.draw_without_rendering()
    for ax in axes:
        if result.data.attrs["pool"]:
            label_columns(ax, result.data["column"].values)
        else:
            _mark(ax, result)
    # Once more: the labels of the columns took some of the height.
    axes[0].figure.draw_without_rendering()
    label_columns(axes[0], result.data["chosen"].values, axis="y")
    axes[1].tick_params(axis="y", labelsize=FONT_SIZE)
    return axes


def _heat_map(ax, values, title, low, high, colors):
    # What is missing is grey.
    ax.set_facecolor("0.8")
    image = ax.imshow(np.asarray(values), aspect="auto", cmap=colors, vmin=low, vmax=high)
    ax.set_xlabel("column")
    ax.set_title(title, pad=12)
    return image


def _mark(ax, result: InterpolativeDecomposition) -> None:
    """Triangles above the chosen columns, outside of the map, and their names below."""
    places = result.positions
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
    label_columns(ax, result.data["column"].values, first=places)
