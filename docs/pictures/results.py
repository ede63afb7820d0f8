"""Make the pictures of docs/results.md; run `python -m docs.pictures.results` from the root.

Every picture is made from data with a known answer, so anyone can make it again.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
import pymc as pm

import pymc_bid as bid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default="docs/pictures")
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)

    # The last column is nearly a copy of a planted one: they share their probability.
    planted = bid.datasets.make_planted(rows=90, columns=23, rank=6, noise=0.3, seed=1)
    noise = np.random.default_rng(2).normal(size=90)
    first = planted.columns[0]
    data = planted.A.assign(twin=planted.A[first] + 0.05 * noise)
    settings = {"draws": options.draws, "chains": 4, "random_seed": 1, "progressbar": False}
    with bid.gbt(data, k=6):
        idata = pm.sample(**settings)
    # Fewer rows than columns: with more of them the paper's model keeps every column.
    with bid.gbt(data.iloc[:15]) as of_any_size:
        free = pm.sample(**settings)
    result = bid.decompose(idata, data)
    print(result)

    table, held_out = data.iloc[:60], data.iloc[60:]
    with bid.column_selection(table) as model:
        idata_of_table = pm.sample(**settings)
    of_table = bid.decompose(idata_of_table, table)
    print(of_table.headline(), of_table.credible_sets(), sep="\n")
    sets = {"mine": ["c00", "c03", "c08"], "theirs": ["c01", "c02", "c04", "c05", "c06", "c07"]}
    with pd.option_context("display.width", 110, "display.max_columns", 9):
        print(bid.score_sets(model, sets, held_out, random_seed=1).drop(columns="columns"))
    curve = bid.size_curve(model, range(1, 13), held_out, idata=idata_of_table, random_seed=1)

    pictures = {
        "size_curve": bid.plot_size_curve(curve),
        "replacements": bid.plot_replacements(bid.replacements(model, of_table.columns)),
        "inclusion": bid.plot_inclusion(result),
        "size": bid.plot_size(free, model=of_any_size),
        "error": bid.plot_error(result),
        "autocorrelation": bid.plot_autocorrelation(idata, basis=result.columns),
        "decomposition": bid.plot_decomposition(result, data),
        "weights": bid.plot_weights(result),
    }
    for name, axes in pictures.items():
        np.ravel(axes)[0].figure.savefig(folder / f"{name}.png", dpi=80)


if __name__ == "__main__":
    main()
