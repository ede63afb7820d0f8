"""Find the columns of a planted matrix that explain all the others.

Six of fifteen columns were drawn at random; the other nine are combinations of them with weights
between -1 and 1, plus noise. Prints the columns found by name and writes `quickstart.png`.
"""

import argparse

import arviz as az
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bid as bid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=1000)
    parser.add_argument("--picture", default="quickstart.png")
    options = parser.parse_args()

    planted = bid.datasets.make_planted(rows=90, columns=15, rank=6, noise=0.3, seed=1)
    with bid.gbt(planted.A, k=6):
        idata = pm.sample(draws=options.draws, tune=options.tune, chains=4, random_seed=1)
    bid.check_state(idata)

    posterior = idata["posterior"]
    inclusion = posterior["r"].mean(("chain", "draw")).to_series()
    found = inclusion[inclusion > 0.5].index
    error = idata["sample_stats"]["bid_mse"]
    print(f"planted columns: {', '.join(planted.columns)}")
    print(f"found columns:   {', '.join(found)}")
    print(f"mean squared error of a draw: {float(error.mean()):.4f}")
    print(f"R-hat of the noise variance: {float(az.rhat(posterior['sigma2'].to_numpy())):.3f}")

    draw_picture(planted, posterior, inclusion, options.picture)
    print(f"picture: {options.picture}")


def draw_picture(planted, posterior, inclusion, path) -> None:
    """Inclusion probabilities; the matrix, its decomposition and what is left over."""
    state = posterior["r"].mean(("chain", "draw")).to_numpy() > 0.5
    weights = posterior["Y"].mean(("chain", "draw")).to_numpy()
    data = planted.A.to_numpy()
    fit = data[:, state] @ weights[state]
    figure, (bars, *maps) = plt.subplots(
        1, 4, figsize=(13, 4), width_ratios=[2, 1, 1, 1], layout="constrained"
    )
    colors = ["tab:orange" if name in planted.columns else "tab:gray" for name in inclusion.index]
    bars.bar(inclusion.index, inclusion, color=colors)
    bars.set(ylabel="posterior probability of being chosen", ylim=(0, 1.02))
    bars.set_title("columns (planted ones in orange)")
    bars.tick_params(axis="x", rotation=90)
    limit = np.abs(data).max()
    for axes, values, title in zip(
        maps, (data, fit, data - fit), ("A", "C·W", "A - C·W"), strict=True
    ):
        image = axes.imshow(
            values, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="none"
        )
        axes.set(title=title, xlabel="column", yticks=[])
    figure.colorbar(image, ax=maps)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
