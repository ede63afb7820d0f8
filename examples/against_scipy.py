"""When is scipy's interpolative decomposition enough?

scipy finds k columns and weights in a millisecond. Three of ten columns are planted, the other
seven are mixtures of them plus noise. Two questions: does it rebuild new rows well, and are its
columns those that the others were made of?
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
from scipy.linalg import interpolative

import pymc_bid as bid

RANK, ROWS = 3, 30


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few draws and matrices, for a test")
    parser.add_argument("--picture", default="against_scipy.png")
    options = parser.parse_args(arguments)
    length, matrices, levels = (40, 1, (0.5,)) if options.quick else (200, 4, (0.05, 0.3, 1.0))

    found = {name: np.zeros((len(levels), matrices)) for name in ("scipy", "posterior")}
    error = {name: np.zeros((len(levels), matrices)) for name in ("scipy", "posterior")}
    for level, noise in enumerate(levels):
        for seed in range(matrices):
            planted = bid.datasets.make_planted(
                rows=2 * ROWS, columns=10, rank=RANK, noise=noise, seed=seed
            )
            A, new = planted.A.iloc[:ROWS], planted.A.iloc[ROWS:].to_numpy()
            decompositions = {"scipy": by_scipy(A), "posterior": by_posterior(A, length)}
            for name, (columns, weights) in decompositions.items():
                found[name][level, seed] = set(A.columns[columns]) == set(planted.columns)
                error[name][level, seed] = np.mean((new - new[:, columns] @ weights) ** 2)
        print(
            f"noise {noise}: planted columns found by scipy {found['scipy'][level].mean():.0%}, by "
            f"the posterior {found['posterior'][level].mean():.0%}; error on new rows "
            f"{error['scipy'][level].mean():.3g} and {error['posterior'][level].mean():.3g}"
        )
    print("With little noise both rebuild new rows almost exactly: scipy is enough for that.")
    print("Its columns are not those that the others were made of: only the bounds on the weights")
    print("tell these from any three that span the same space, and scipy has none.")

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    places = np.arange(len(levels))
    for offset, (name, color) in enumerate((("scipy", "0.6"), ("posterior", "C1"))):
        for ax, numbers in zip(axes, (found, error), strict=True):
            heights = numbers[name].mean(axis=1)
            ax.bar(places + 0.38 * (offset - 0.5), heights, 0.36, color=color, label=name)
    axes[0].set(title="planted columns found", ylim=(0, 1.02))
    axes[1].set(title="mean squared error on new rows", yscale="log")
    for ax in axes:
        ax.set_xlabel("noise / signal of a column")
        ax.set_xticks(places, levels)
    axes[1].legend(loc="upper left")
    figure.savefig(options.picture, dpi=100)


def by_scipy(A):
    """Positions of the columns and weights of all columns on them, from scipy."""
    order, projection = interpolative.interp_decomp(A.to_numpy(), RANK, rand=False)
    weights = interpolative.reconstruct_interp_matrix(order, projection)
    return order[:RANK], weights


def by_posterior(A, length):
    """The same from the posterior: the set visited most and the mean of its weights."""
    with bid.gbt(A, k=RANK, identity=True):
        idata = pm.sample(
            length,
            tune=length,
            chains=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    result = bid.decompose(idata, A)
    return result.positions, result.W.to_numpy()


if __name__ == "__main__":
    main()
