"""Two columns say almost the same. Which one is needed?

Twelve columns are planted: four explain the rest. Then a copy of the first of the four is added,
with a little noise of its own. A method that returns one set picks one of the two, silently. The
posterior says that either will do, and that one of them is needed for certain.
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bid as bid


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few draws, for a test")
    parser.add_argument("--picture", default="near_duplicates.png")
    options = parser.parse_args(arguments)
    length = 60 if options.quick else 1000

    planted = bid.datasets.make_planted(rows=60, columns=12, rank=4, noise=0.3, seed=4)
    original = planted.columns[0]
    noise = np.random.default_rng(5).normal(scale=0.03, size=len(planted.A))
    A = planted.A.assign(twin=planted.A[original] + noise)

    with bid.column_selection(A):
        idata = pm.sample(
            length, tune=length, chains=2, cores=1, random_seed=1, progressbar=not options.quick
        )
    result = bid.decompose(idata, A)

    print(f"planted: {', '.join(planted.columns)}; twin is a near copy of {original}")
    print(result.inclusion.loc[[*planted.columns, "twin"], ["inclusion", "mcse"]].round(3))
    for group in result.groups.itertuples():
        names = " or ".join(group.columns)
        print(f"{names}: one of them is needed with probability {group.probability:.2f}")

    ax = bid.plot_inclusion(result, highlight=[original, "twin"], figsize=(8, 3.4))
    ax.set_title(f"{original} and its twin share a probability; the other columns do not care")
    ax.figure.savefig(options.picture, dpi=100)
    plt.close(ax.figure)


if __name__ == "__main__":
    main()
