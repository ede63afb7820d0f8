"""Make the pictures of docs/samplers.md. Run from the repository's root::

    python -m docs.pictures.samplers

The runs are those of `python -m benchmarks.mixing --samplers collapsed paper`, without and with
`--copies 2`.
"""

import logging
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from benchmarks.agreement import start_states
from benchmarks.mixing import AGREEMENT, mixing, planted, run

FOLDER = Path(__file__).parent
STARTS = {"all columns": "tab:orange", "no column": "tab:blue", "a random set": "tab:green"}
SAMPLERS = {"paper": "the paper's update", "collapsed": "collapsed moves"}
MATRICES = {1: "60×12, rank 4", 2: "every column twice"}
TUNE, DRAWS, SEED = 1000, 1000, 11
EVERY = 10
"""Iterations between two that are shown."""


def draw_traces(runs) -> plt.Figure:
    """K of three chains, from its start on, for each matrix (row) and sampler (column)."""
    figure, axes = plt.subplots(
        *(len(MATRICES), len(SAMPLERS)), figsize=(8.5, 5.4), sharex=True, sharey="row"
    )
    for row, (copies, matrix) in zip(axes, MATRICES.items(), strict=True):
        for axis, sampler in zip(row, SAMPLERS, strict=True):
            result = runs[copies, sampler]
            starts = start_states(12 * copies, None, np.random.default_rng(SEED))
            r = np.concatenate([np.array(starts)[:, None], result.tuning, result.r], axis=1)
            shown = np.arange(0, r.shape[1], EVERY)
            for chain, (start, colour) in enumerate(STARTS.items()):
                # Side by side, or chains that agree would hide each other.
                trace = r[chain, shown].sum(axis=-1) + 0.02 * copies * 12 * (1 - chain)
                axis.plot(shown, trace, color=colour, linewidth=0.9, label=start)
            axis.axvspan(-20, TUNE, color="0.93", zorder=0)
            agreement = mixing(result.r.sum(axis=-1), result.seconds).r_hat
            title = f"{SAMPLERS[sampler]}, {matrix}: R-hat of K {_written(agreement)}"
            axis.set_title(title, fontsize=9)
            axis.yaxis.set_major_locator(MaxNLocator(integer=True))
            axis.set_ylim(-0.6 * copies, 12.6 * copies)
            axis.set_xlim(-20, r.shape[1])
        row[0].set_ylabel("columns chosen, K")
    for axis in axes[-1]:
        axis.set_xlabel("iteration (every tenth; grey: tuning)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    legend = figure.legend(
        *(handles, [f"start from {label}" for label in labels]), loc="outside upper center", ncols=3
    )
    for line in legend.get_lines():
        line.set_linewidth(2)
    return figure


def draw_rates(runs) -> plt.Figure:
    """Effective draws per second of K and of the worst r, with R-hat beside."""
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 2.6), sharex=True, sharey=True)
    labels = [f"{SAMPLERS[sampler]}\n{MATRICES[copies]}" for copies, sampler in runs]
    for axis, title in zip(axes, ("K", "r, its worst column"), strict=True):
        for place, result in enumerate(runs.values()):
            values = result.r.sum(axis=-1) if title == "K" else result.r
            found = mixing(values, result.seconds)
            agree = found.r_hat <= AGREEMENT
            axis.barh(
                *(place, found.ess_per_second),
                color="tab:green" if agree else "0.85",
                edgecolor="none" if agree else "0.5",
                hatch=None if agree else "///",
            )
            note = f" R-hat {_written(found.r_hat)}" + ("" if agree else ": means nothing")
            axis.text(found.ess_per_second, place, note, va="center", fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.set_xscale("log")
        axis.set_xlabel("effective draws per second")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(runs)), labels, fontsize=8)
    low, high = axes[0].get_xlim()
    # Room for the notes.
    axes[0].set_xlim(low / 2, high * 20)
    return figure


def _written(r_hat: float) -> str:
    return "∞" if np.isinf(r_hat) else f"{r_hat:.3f}"


def main() -> None:
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    plt.rcParams["figure.constrained_layout.use"] = True
    runs = {}
    for copies in reversed(MATRICES):
        data = planted(copies)
        starts = start_states(data.shape[1], None, np.random.default_rng(SEED))
        for sampler in SAMPLERS:
            # Compiles in this process; those that are timed are forked from it.
            run(data, sampler, starts[:1], draws=2, tune=2, seed=1, cores=1)
            runs[copies, sampler] = run(data, sampler, starts, draws=DRAWS, tune=TUNE, seed=SEED)
    draw_traces(runs).savefig(FOLDER / "traces.png", dpi=90)
    draw_rates(runs).savefig(FOLDER / "rates.png", dpi=90)


if __name__ == "__main__":
    main()
