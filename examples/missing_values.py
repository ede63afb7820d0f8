"""Which shares stand for the others, although some were not listed yet?

Monthly returns of eight shares and two indices from 1990 to 2022 (they ship with matplotlib).
Amazon, Dell and Google came to the exchange later, so many of their entries are missing. Filling
the gaps with zeros would tell the model that nothing happened there. Here they are left out, and
predicted.
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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few draws, for a test")
    parser.add_argument("--picture", default="missing_values.png")
    options = parser.parse_args(arguments)
    length = 40 if options.quick else 500

    returns = read_returns(step=6 if options.quick else 1)
    # Hide some entries that are known, to see whether the predictions are worth anything.
    known = np.argwhere(returns.notna().to_numpy())
    hidden = known[np.random.default_rng(0).choice(len(known), len(known) // 20, replace=False)]
    shown = np.ones(returns.shape, dtype=bool)
    shown[tuple(hidden.T)] = False
    A = returns.where(shown)

    with bid.column_selection(A):
        idata = pm.sample(
            length, tune=length, chains=2, cores=1, random_seed=1, progressbar=not options.quick
        )
    result = bid.decompose(idata, A)
    predicted = bid.impute(idata, A, ci_prob=0.9).set_index(["row", "column"])

    print(f"{A.isna().to_numpy().mean():.0%} of the entries are missing or hidden")
    print(f"shares that stand for the others: {', '.join(result.columns)}")
    truth = pd.Series(
        {
            (returns.index[row], returns.columns[column]): returns.iloc[row, column]
            for row, column in hidden
        }
    )
    found = predicted.loc[truth.index]
    inside = ((truth >= found["lower"]) & (truth <= found["upper"])).mean()
    print(f"{inside:.0%} of {len(truth)} hidden entries lie in their 90 % intervals")
    means = A.mean().loc[[share for _, share in truth.index]].to_numpy()
    error, usual = (np.sqrt(np.mean((truth - guess) ** 2)) for guess in (found["mean"], means))
    print(f"error {error:.3f}; that of the column's mean {usual:.3f}")

    figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
    half = (found["upper"] - found["lower"]) / 2
    middle = (found["upper"] + found["lower"]) / 2
    ax.errorbar(truth, middle, half, fmt=".", color="C0", ecolor="0.8", elinewidth=1)
    ends = [truth.min(), truth.max()]
    ax.plot(ends, ends, color="k", linewidth=0.8)
    ax.set(
        xlabel="hidden monthly return (logarithm)",
        ylabel="90 % interval of the prediction",
        title="entries that the model was not shown",
    )
    figure.savefig(options.picture, dpi=100)


def read_returns(step: int) -> pd.DataFrame:
    """Monthly log returns of the shares, nan before they were listed."""
    path = get_sample_data("Stocks.csv", asfileobj=False)
    prices = pd.read_csv(path, comment="#", index_col="Date").dropna(how="all")
    returns = np.log(prices).diff().iloc[1:].dropna(how="all")
    return returns[~returns.index.duplicated()].iloc[::step]


if __name__ == "__main__":
    main()
