"""The paper's figures: error over iterations, autocorrelation, number of columns, histograms."""

import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from examples.paper.cells import TITLES, Cell, matrix

COLORS = {"paper": "tab:gray", "paper_prior": "tab:blue", "default": "tab:orange"}
LABELS = {"paper": "paper's", "paper_prior": "paper's, all from the prior", "default": "ours"}


def draw_figures(cells: list[Cell], folder: Path) -> None:
    """Write the four pictures, of the cells that are finished."""
    if not cells:
        return
    draw_error(cells, folder)
    draw_autocorrelation(cells, folder)
    draw_number(cells, folder)
    draw_histograms(cells, folder)


def panels(cells: list[Cell]):
    """A figure, and a panel for each data set, model and number of columns.

    There is a row for each data set and model; for each data set where there is only one number.
    """
    keys = dict.fromkeys((cell.data, cell.model, cell.columns) for cell in cells)
    shared = 1 if len({columns for _, _, columns in keys}) == 1 else 2
    rows: dict[tuple, list[tuple]] = {}
    for key in keys:
        rows.setdefault(key[:shared], []).append(key)
    columns = max(map(len, rows.values()))
    figure, axes = plt.subplots(
        *(len(rows), columns),
        figsize=(3.2 * columns, 2.5 * len(rows)),
        squeeze=False,
        layout="constrained",
    )
    for panel in axes.flat:
        panel.set_visible(False)
    places = {}
    for row, panels_of_row in zip(rows.values(), axes, strict=True):
        places |= dict(zip(row, panels_of_row, strict=False))
    return figure, places


def draw_lines(
    cells: list[Cell], folder: Path, name: str, line, ylabel: str, xlabel: str, **limits
):
    """One picture: `line(results)` gives x and one y for each chain."""
    figure, places = panels(cells)
    for cell in cells:
        panel = places[cell.data, cell.model, cell.columns]
        panel.set_visible(True)
        with np.load(folder / f"{cell.name}.npz") as results:
            x, lines = line(results)
        for index, y in enumerate(lines):
            label = None if index else LABELS[cell.sampler]
            panel.plot(x, y, color=COLORS[cell.sampler], linewidth=0.9, alpha=0.8, label=label)
        number = "free number" if cell.k is None else f"K = {cell.k}"
        panel.set_title(f"{TITLES[cell.data]}, {cell.model.upper()}, {number}", fontsize=8)
        panel.set(xlabel=xlabel, ylabel=ylabel, **limits)
        panel.legend(fontsize=7)
    save(figure, folder / f"{name}.png")


def save(figure, path: Path) -> None:
    """Write a picture in few colours, or dozens of panels of noisy lines would make it large."""
    picture = io.BytesIO()
    figure.savefig(picture, dpi=80)
    plt.close(figure)
    Image.open(picture).convert("RGB").quantize(16).save(path, optimize=True)


def draw_error(cells: list[Cell], folder: Path) -> None:
    def line(results):
        return np.arange(1, results["error"].shape[1] + 1), results["error"]

    ylabel = "error of the draw"
    draw_lines(cells, folder, "error", line, ylabel, "iteration", xscale="log", yscale="log")


def draw_autocorrelation(cells: list[Cell], folder: Path) -> None:
    def line(results):
        return np.arange(results["autocorrelation"].shape[1]), results["autocorrelation"]

    ylabel = "autocorrelation of y"
    draw_lines(cells, folder, "autocorrelation", line, ylabel, "lag", ylim=(-0.1, 1.02))


def draw_number(cells: list[Cell], folder: Path) -> None:
    def line(results):
        return np.arange(1, results["number"].shape[1] + 1), results["number"]

    free = [cell for cell in cells if cell.k is None]
    if free:
        draw_lines(free, folder, "number", line, "columns chosen", "iteration", xscale="log")


def draw_histograms(cells: list[Cell], folder: Path) -> None:
    """The entries of each data set, as prepared."""
    names = list(dict.fromkeys(cell.data for cell in cells))
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.2 * len(names), 2.6), squeeze=False, layout="constrained"
    )
    for panel, name in zip(axes.flat, names, strict=True):
        panel.hist(matrix(name).to_numpy().ravel(), bins=60, color="tab:blue")
        panel.set_title(TITLES[name], fontsize=9)
        panel.set(xlabel="prepared entry", ylabel="count")
    save(figure, folder / "histograms.png")
