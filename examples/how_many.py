"""How many columns do the data call for?

Five of sixteen columns explain the others. The paper's model rewards every column more with a
perfect fit of that column, and keeps nearly all. In the model of `column_selection` a chosen column
has to pay for itself, and the posterior of K is about the data.
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
    parser.add_argument("--picture", default="how_many.png")
    options = parser.parse_args(arguments)
    length = 40 if options.quick else 500

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
    cases = [
        ("the paper's model, 60 rows", 60, bid.gbt),
        ("column selection, 60 rows", 60, bid.column_selection),
        ("column selection, 8 rows", 8, bid.column_selection),
    ]
    for ax, (title, rows, make) in zip(axes, cases, strict=True):
        A = bid.datasets.make_planted(rows=rows, columns=16, rank=5, noise=0.5, seed=3).A
        with make(A):
            idata = pm.sample(
                length, tune=length, chains=2, cores=1, random_seed=1, progressbar=False
            )
        size = idata["posterior"]["K"].to_series().value_counts(normalize=True).sort_index()
        found = ", ".join(f"{k} ({p:.0%})" for k, p in size.nlargest(3).items())
        print(f"{title}: most probable K {found}; 5 were planted")
        ax.bar(size.index, size, color="0.6" if make is bid.gbt else "C1")
        ax.axvline(5, color="k", linewidth=1, linestyle=":")
        ax.set(title=title, xlabel="number of columns K", xlim=(0, 17))
        ax.set_xticks([1, 5, 10, 16])
    axes[0].set_ylabel("probability")
    figure.savefig(options.picture, dpi=100)


if __name__ == "__main__":
    main()
