"""Make the pictures of docs/identity.md; run `python -m docs.pictures.identity` from the root.

Every picture is made from planted matrices, so anyone can make it again.
"""

import argparse
import logging
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bid as bid

INK, ACCENT = "#4c566a", "#d08770"


def sample(matrix, draws: int, identity: bool) -> dict[str, np.ndarray]:
    """Return the states and the numbers of columns of four chains, all draws in a row."""
    with bid.gbt(matrix, identity=identity):
        idata = pm.sample(
            draws=draws,
            tune=draws,
            chains=4,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=["r", "K"],
        )
    posterior = idata["posterior"]
    return {
        "r": np.asarray(posterior["r"]).reshape(-1, matrix.shape[1]),
        "K": np.asarray(posterior["K"]).ravel(),
    }


def picture_of_ranks(path: Path, draws: int) -> None:
    """Number of columns found against the number planted, both models."""
    figure, axis = plt.subplots(figsize=(5.5, 4.2), layout="constrained")
    for model, identity, marker, colour in (
        ("with the identity", True, "o", ACCENT),
        ("the paper's ARD", False, "s", INK),
    ):
        planted, found = [], []
        for seed, rank in enumerate((3, 4, 5, 6, 8, 10, 12)):
            matrix = bid.datasets.make_planted(120, 24, rank, noise=0.5, seed=seed).A
            planted.append(rank)
            found.append(np.median(sample(matrix, draws, identity)["K"]))
        axis.plot(planted, found, marker, color=colour, label=model, markersize=7)
    axis.axline((3, 3), slope=1, color="0.8", zorder=0)
    axis.set(xlabel="planted columns", ylabel="median of K", ylim=(0, 26))
    axis.set_title("120 × 24 matrices, noise 0.5", fontsize=10)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.85))
    figure.savefig(path, dpi=110)


def picture_of_sizes(path: Path, draws: int) -> None:
    """Distribution of K as the rows get more."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
    for axis, rows in zip(axes, (10, 20, 40), strict=True):
        matrix = bid.datasets.make_planted(rows, 12, 4, noise=1.0, seed=4).A
        sizes = sample(matrix, draws, identity=True)["K"]
        values, counts = np.unique(sizes, return_counts=True)
        axis.bar(values, counts / counts.sum(), color=[ACCENT if v == 4 else INK for v in values])
        axis.set(xlabel="K", xticks=range(0, 13, 2), xlim=(-0.8, 12.8), title=f"{rows} rows")
    axes[0].set_ylabel("probability")
    figure.savefig(path, dpi=110)


def picture_of_copies(path: Path, draws: int) -> None:
    """Inclusion probabilities with and without a near copy of one planted column."""
    planted = bid.datasets.make_planted(90, 12, 4, noise=0.5, seed=2)
    first = planted.columns[0]
    noise = np.random.default_rng(3).normal(size=90)
    copied = planted.A.assign(copy=planted.A[first] + 0.03 * noise)
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
    for axis, matrix in zip(axes, (planted.A, copied), strict=True):
        inclusion = sample(matrix, draws, identity=True)["r"].mean(axis=0)
        colours = [
            ACCENT if name in planted.columns or name == "copy" else INK for name in matrix.columns
        ]
        axis.bar(range(len(inclusion)), inclusion, color=colours)
        axis.set_xticks(range(len(inclusion)), matrix.columns, rotation=90, fontsize=8)
    axes[0].set(ylabel="probability", title="four planted columns")
    axes[1].set(title=f"the same, and a near copy of {first}")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", nargs="*", help="ranks, sizes, copies; all if not given")
    parser.add_argument("--folder", default="docs/pictures")
    parser.add_argument("--draws", type=int, default=500)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    folder = Path(options.folder)
    makers = {"ranks": picture_of_ranks, "sizes": picture_of_sizes, "copies": picture_of_copies}
    for name in options.pictures or makers:
        makers[name](folder / f"{name}.png", options.draws)


if __name__ == "__main__":
    main()
