"""Which survey lines are needed to know the terrain, and how sure is that?

The elevation of a valley in Tennessee (it ships with matplotlib) is measured along 27 lines from
north to south. Flying a line is expensive. Which eight would tell the others, and could another
eight do as well?
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
from matplotlib.cbook import get_sample_data

import pymc_bid as bid

LINES = 8


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few draws, for a test")
    parser.add_argument("--picture", default="choosing_sensors.png")
    options = parser.parse_args(arguments)
    length = 40 if options.quick else 500

    elevation = get_sample_data("jacksboro_fault_dem.npz")["elevation"][::4, ::15].astype(float)
    # One mean, one scale and one noise variance for all lines: they are in the same unit.
    values = (elevation - elevation.mean()) / elevation.std()
    A = pd.DataFrame(values, columns=[f"line {number}" for number in range(values.shape[1])])

    with bid.column_selection(A, k=LINES, standardize=False, noise="common"):
        idata = pm.sample(
            length, tune=length, chains=2, cores=1, random_seed=1, progressbar=not options.quick
        )
    result = bid.decompose(idata, A)

    probability = result.inclusion["inclusion"]
    sure = probability[probability > 0.95].index.tolist()
    frequency = float(result.sets["frequency"].iloc[0])
    print(f"fly: {', '.join(result.columns)}")
    print(f"certain (more than 95 %): {', '.join(sure) or 'none'}")
    print(f"this set, up to interchangeable lines, has {frequency:.0%} of the probability")
    print(f"{1 - result.mse / values.var():.0%} of the variance of the terrain is explained")

    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(9, 5.5), height_ratios=[2, 1], sharex=True, layout="constrained"
    )
    top.imshow(elevation, aspect="auto", cmap="terrain")
    for position in result.positions:
        top.axvline(position, color="k", linewidth=1.5)
    top.set(ylabel="north to south", title=f"{LINES} survey lines that tell the others")
    bottom.bar(np.arange(len(probability)), probability, color="0.7")
    bottom.bar(result.positions, probability.iloc[result.positions], color="C1")
    bottom.set(xlabel="line, west to east", ylabel="probability", ylim=(0, 1.05))
    figure.savefig(options.picture, dpi=100)


if __name__ == "__main__":
    main()
