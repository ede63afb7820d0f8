"""Repeat the paper's study; run from the repository's root::

    python -m examples.paper             # everything, up to an hour on two cores
    python -m examples.paper --quick     # a few cells and iterations, up to three minutes

Finished cells are kept in the folder of results and are not run again. Data are read from the
folder that PYMC_BID_DATA names, or downloaded. Writes `results.csv`, and the paper's figures.
"""

import argparse
import time
from pathlib import Path

from examples.paper.cells import MODELS, NUMBERS, SAMPLERS, all_cells, matrix
from examples.paper.figures import draw_figures
from examples.paper.run import run_cell
from examples.paper.table import tidy_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(";")[0])
    parser.add_argument("--quick", action="store_true", help="few cells, few iterations")
    parser.add_argument("--data", nargs="*", choices=NUMBERS, help="only these data sets")
    parser.add_argument("--model", choices=MODELS, help="only this model")
    parser.add_argument("--sampler", choices=SAMPLERS, help="only this sampler")
    parser.add_argument("--folder", type=Path, help="for results; default: results, results-quick")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    folder = options.folder or Path("results-quick" if options.quick else "results")
    folder.mkdir(parents=True, exist_ok=True)
    cells = [
        cell
        for cell in all_cells(options.quick)
        if (options.data is None or cell.data in options.data)
        and options.model in (None, cell.model)
        and options.sampler in (None, cell.sampler)
    ]
    started = time.perf_counter()
    for position, cell in enumerate(cells, 1):
        path = folder / f"{cell.name}.npz"
        label = f"[{position}/{len(cells)}] {cell.name}"
        if path.exists():
            print(f"{label}: done before", flush=True)
            continue
        begun = time.perf_counter()
        settings = cell.settings(options.quick)
        run_cell(cell, matrix(cell.data).to_numpy(), settings, path, options.seed)
        now = time.perf_counter()
        print(f"{label}: {now - begun:.0f} s, {(now - started) / 60:.1f} min so far", flush=True)

    finished = [cell for cell in all_cells(options.quick) if (folder / f"{cell.name}.npz").exists()]
    tidy_table(finished, folder).to_csv(folder / "results.csv", index=False)
    draw_figures(finished, folder)
    print(f"Table and figures are in {folder}.")


if __name__ == "__main__":
    main()
