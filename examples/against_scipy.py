"""When is scipy's interpolative decomposition enough?

scipy finds k columns and weights in a millisecond. That is all one needs if the data have little
noise and k is known. With noise it returns some set just the same. Here twenty noisy matrices are
drawn from the same three planted columns of ten: how often does scipy find them, and does the
posterior know when it is not sure?
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
from scipy.linalg import interpolative

import pymc_bid as bid

RANK = 3


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few draws and matrices, for a test")
    parser.add_argument("--picture", default="against_scipy.png")
    options = parser.parse_args(arguments)
    length, matrices = (40, 1) if options.quick else (400, 10)

    levels = (0.05, 0.5, 1.0)
    right = {"scipy": [], "posterior": [], "own estimate": []}
    for noise in levels:
        scipy_right, posterior_right, estimate = [], [], []
        for seed in range(matrices):
            planted = bid.datasets.make_planted(
                rows=30, columns=10, rank=RANK, noise=noise, seed=seed
            )
            truth = set(planted.columns)
            order, _ = interpolative.interp_decomp(planted.A.to_numpy(), RANK, rand=False)
            scipy_right.append({planted.A.columns[index] for index in order[:RANK]} == truth)
            with bid.gbt(planted.A, k=RANK, identity=True):
                idata = pm.sample(
                    length, tune=length, chains=2, cores=1, random_seed=1, progressbar=False
                )
            states = idata["posterior"]["r"].to_numpy().reshape(-1, planted.A.shape[1])
            sets, visits = np.unique(states, axis=0, return_counts=True)
            best = visits.argmax()
            posterior_right.append(set(planted.A.columns[sets[best] == 1]) == truth)
            estimate.append(visits[best] / visits.sum())
        for name, found in zip(right, (scipy_right, posterior_right, estimate), strict=True):
            right[name].append(float(np.mean(found)))
        print(
            f"noise {noise}: scipy finds the planted columns in {np.mean(scipy_right):.0%} of "
            f"{matrices}, the posterior in {np.mean(posterior_right):.0%}; it expected to be right "
            f"in {np.mean(estimate):.0%}"
        )

    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    places = np.arange(len(levels))
    for offset, (name, color) in enumerate(
        (("scipy", "0.6"), ("posterior", "C1"), ("own estimate", "C0"))
    ):
        label = "posterior's own estimate of that" if name == "own estimate" else name
        ax.bar(places + 0.27 * (offset - 1), right[name], 0.25, color=color, label=label)
    ax.set(ylabel="planted columns found", ylim=(0, 1.02), xlabel="noise / signal of a column")
    ax.set_xticks(places, levels)
    ax.legend(loc="lower left", framealpha=1)
    figure.savefig(options.picture, dpi=100)


if __name__ == "__main__":
    main()
