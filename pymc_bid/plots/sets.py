"""Pictures of sets of columns: how much each size explains, and what a replacement costs."""

from typing import Any

import numpy as np
import pandas as pd

from pymc_bid.plots.layout import FONT_SIZE, label_columns, make_axes, shorten

LINEAR = 5.0
"""Log evidence up to which the axis of costs is linear; beyond, it is logarithmic."""


def plot_size_curve(curve: pd.DataFrame, *, ax: Any = None, figsize: tuple[float, float] = (7, 4)):
    """Draw the explained variance against the number of columns, and the probability of each.

    Bands are the intervals of the mean R² over the columns that are not chosen.

    Parameters
    ----------
    curve : pandas.DataFrame
        What `bid.size_curve` returned.
    ax, figsize
        Axes to draw on, or the size of a new figure; the axes are returned.

    Examples
    --------
    >>> ax = bid.plot_size_curve(bid.size_curve(model, range(4), random_seed=1))
    >>> ax.get_xlabel()
    'number of columns K'
    """
    (ax,) = make_axes(ax, 1, figsize)
    lines = {"": ("C0", "rows of the model"), "held_out_": ("C1", "held-out rows")}
    for prefix, (color, label) in lines.items():
        if f"{prefix}r2" in curve:
            mean, lower, upper = (curve[f"{prefix}{name}"] for name in ("r2", "lower", "upper"))
            ax.fill_between(curve.index, lower, upper, color=color, alpha=0.25, linewidth=0)
            ax.plot(curve.index, mean, "o-", color=color, markersize=4, label=label)
    if "probability" in curve:
        # On an axis of its own, from 0 to 1 over the whole height.
        behind = ax.get_xaxis_transform()
        ax.bar(
            *(curve.index, curve["probability"]),
            transform=behind, color="0.85", zorder=0, label="probability of K",
        )  # fmt: skip
    explained = curve.filter(regex="(r2|upper|lower)$")
    ax.set_xlim(curve.index.min() - 0.6, curve.index.max() + 0.6)
    ax.set_ylim(min(0.0, 1.05 * float(explained.min().min())), 1.0)
    ax.set(xlabel="number of columns K", ylabel="mean R² of the other columns")
    ax.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
    ax.legend(fontsize=FONT_SIZE, ncols=3, frameon=False, **place)
    return ax


def plot_replacements(
    cost: pd.DataFrame, *, ax: Any = None, figsize: tuple[float, float] | None = None
):
    """Draw for each chosen column what any other one in its place would cost.

    A dot for each candidate; the best one of each row has its name.

    Parameters
    ----------
    cost : pandas.DataFrame
        What `bid.replacements` returned.
    ax, figsize
        Axes to draw on, or the size of a new figure; the axes are returned.

    Examples
    --------
    >>> ax = bid.plot_replacements(bid.replacements(model, planted.columns))
    >>> [label.get_text() for label in ax.get_yticklabels()] == planted.columns
    True
    """
    if cost.size == 0:
        raise ValueError("There is no column to replace, or none to replace it by.")
    number = len(cost)
    (ax,) = make_axes(ax, 1, (7, 1.2 + 0.35 * number) if figsize is None else figsize)
    for row, values in enumerate(cost.to_numpy()):
        ax.plot(values, np.full(values.size, row), "o", color="C0", alpha=0.4, markersize=4)
        best = int(np.argmax(values))
        ax.plot(values[best], row, "o", color="C1", markersize=5)
    ax.axvline(0, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    ax.set_xscale("symlog", linthresh=LINEAR)
    least, most = float(np.nanmin(cost)), float(np.nanmax(cost))
    # A little room on both sides, and the line at 0 in sight.
    ax.set_xlim(1.5 * min(least, -LINEAR), 1.5 * max(most, 1.0))
    # Where the axis is linear there is no room for powers.
    ax.set_xticks([tick for tick in ax.get_xticks() if tick == 0 or abs(tick) >= LINEAR])
    ax.minorticks_off()
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="change of the log evidence")
    ax.set_ylim(number - 0.4, -0.8)
    ax.set_ylabel("chosen column")
    ax.figure.draw_without_rendering()
    label_columns(ax, cost.index.to_numpy(), axis="y")
    ax.figure.draw_without_rendering()
    for row, best in enumerate(cost.to_numpy().argmax(axis=1)):
        _name_beside(ax, shorten(cost.columns[best]), cost.iat[row, best], row)
    return ax


def _name_beside(ax, name: str, value: float, row: int) -> None:
    """Write a name to the right of a dot, where no other dots are; above it if there is no room."""
    style = {"fontsize": FONT_SIZE, "textcoords": "offset points", "parse_math": False}
    text = ax.annotate(name, (value, row), (5, 0), va="center", **style)
    inside = ax.get_window_extent().padded(-4)
    if text.get_window_extent().x1 > inside.x1:
        text.set(position=(0, 4), ha="center", va="bottom")
        box = text.get_window_extent()
        beyond = max(box.x1 - inside.x1, 0.0) - max(inside.x0 - box.x0, 0.0)
        text.set(position=(-beyond * 72 / ax.figure.dpi, 4))
