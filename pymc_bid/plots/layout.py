"""Axes, and labels that do not overlap however many columns there are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 24
"""Letters of a label that are shown."""
FONT_SIZE = 8


def make_axes(given: Any, number: int, figsize: tuple[float, float], **options) -> NDArray:
    """Return `number` axes as an array: those given, or new ones in a row."""
    if given is not None:
        axes = np.atleast_1d(np.asarray(given, dtype=object)).ravel()
        if axes.size != number:
            raise ValueError(f"This picture needs {number} axes, got {axes.size}.")
        return axes
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Pictures need matplotlib: python -m pip install "pymc-bid[plots]"'
        ) from error
    _, axes = plt.subplots(1, number, figsize=figsize, layout="constrained", **options)
    return np.atleast_1d(axes)


def label_columns(
    axes: Any, labels: NDArray, first: NDArray | None = None, axis: str = "x"
) -> None:
    """Write the labels of columns 0, 1, … along an axis, as many as there is room for.

    The axes need their limits, and to be laid out (`figure.draw_without_rendering()`), so that they
    have the size that they will be shown in. Where not all labels fit, those at the positions
    `first` are shown, in this order as far as they do; without any, labels at equal distances.
    """
    number = len(labels)
    extent = axes.get_window_extent()
    points = (extent.width if axis == "x" else extent.height) * 72 / axes.figure.dpi
    limits = axes.get_xlim() if axis == "x" else axes.get_ylim()
    # Labels on the other axis, written later, still take a little room away.
    distance = FONT_SIZE * 1.25 * abs(limits[1] - limits[0]) / max(0.95 * points, 1.0)
    if distance <= 1:
        shown = np.arange(number)
    elif first is None:
        shown = np.arange(0, number, int(np.ceil(distance)))
    else:
        taken: list[int] = []
        for place in first:
            if all(abs(place - other) >= distance for other in taken):
                taken.append(int(place))
        shown = np.sort(np.array(taken, dtype=int))
    names = [shorten(labels[place]) for place in shown]
    # A dollar sign in a name begins no formula.
    style = {"fontsize": FONT_SIZE, "parse_math": False}
    if axis == "x":
        axes.set_xticks(shown, names, rotation=90, **style)
    else:
        axes.set_yticks(shown, names, **style)


def shorten(label: Any) -> str:
    """Return a label on one line, cut in its middle if it is long."""
    text = " ".join(str(label).split())
    half = (LONGEST - 1) // 2
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[-half:]}"
