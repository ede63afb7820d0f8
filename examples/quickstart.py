"""Find the columns of a planted matrix that explain all the others.

Six of fifteen columns were drawn at random; the other nine are combinations of them with weights
between -1 and 1, plus noise. How many is left to the data. Prints the columns found by name and
writes `quickstart.png`.
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pymc as pm

import pymc_bid as bid


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few draws, for a test")
    parser.add_argument("--picture", default="quickstart.png")
    options = parser.parse_args(arguments)
    length = {"draws": 60, "tune": 60, "chains": 2, "cores": 1} if options.quick else {}

    planted = bid.datasets.make_planted(rows=90, columns=15, rank=6, noise=0.3, seed=1)
    # The number of columns is left to the data.
    with bid.column_selection(planted.A):
        idata = pm.sample(**{"draws": 1000, "tune": 1000, "chains": 4, **length}, random_seed=1)
    result = bid.decompose(idata, planted.A)

    print(result)
    print(f"planted columns: {', '.join(planted.columns)}")
    print(f"found columns:   {', '.join(result.columns)}")

    figure, axes = plt.subplots(
        1, 4, figsize=(15, 4), width_ratios=[2, 1, 1, 1], layout="constrained"
    )
    bid.plot_inclusion(result, highlight=planted.columns, ax=axes[0])
    axes[0].set_title("columns (planted ones in orange)")
    bid.plot_decomposition(result, planted.A, axes=axes[1:])
    figure.savefig(options.picture, dpi=120)
    print(f"picture: {options.picture}")


if __name__ == "__main__":
    main()
