"""Are missing entries predicted well, and are the intervals honest?

Run from the repository's root, with the paper's data in the folder that PYMC_BID_DATA names::

    python -m benchmarks.missing ic50 planted

A tenth of the observed entries is hidden, five times. The model with the identity is fitted with
`missing="mask"` and the means of the columns for `own_mean`, and `bid.impute` predicts the hidden
entries. Next to it: the means of the columns, and scipy's interpolative decomposition, with as many
columns, of the matrix filled with them.
Coverage is that of 95 % intervals; errors are root mean squares over the hidden entries.
"""

import argparse
import logging
import warnings

import numpy as np
import pandas as pd
import pymc as pm
from scipy.linalg import interpolative

import pymc_bid as bid
from benchmarks.agreement import NAMES


def matrix(name: str) -> pd.DataFrame:
    """Return a data set with its missing entries."""
    if name == "planted":
        return bid.datasets.make_planted(rows=150, columns=20, rank=6, noise=0.5, seed=3).A
    return bid.datasets.prepare(bid.datasets.load(NAMES[name]), fill=None)


def scipy_fit(filled: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the decomposition of a matrix that was filled; chosen columns keep their filling."""
    order, projection = interpolative.interp_decomp(filled, size, rand=False, rng=rng)
    fitted = filled.copy()
    fitted[:, order[size:]] = filled[:, order[:size]] @ projection
    return fitted


def measure(name: str, repeats: int, draws: int, tune: int, seed: int) -> str:
    """Hide entries again and again and return a row of the table."""
    data = matrix(name)
    rng = np.random.default_rng(seed)
    covered, sizes = [], []
    squares = {"ours": [], "means": [], "scipy": []}
    for repeat in range(repeats):
        hidden = data.notna().to_numpy() & (rng.random(data.shape) < 0.1)
        known = data.mask(hidden)
        with bid.gbt(known, identity=True, missing="mask", own_mean=known.mean()):
            idata = pm.sample(
                draws=draws,
                tune=tune,
                chains=4,
                cores=2,
                random_seed=seed + repeat,
                progressbar=False,
                compute_convergence_checks=False,
            )
        table = bid.impute(idata, known, ci_prob=0.95)
        places = np.nonzero(known.isna().to_numpy())
        was_hidden = hidden[places]
        truth = data.to_numpy()[places][was_hidden]
        inside = (table.lower <= data.to_numpy()[places]) & (table.upper >= data.to_numpy()[places])
        covered.append(inside[was_hidden])
        size = round(float(np.asarray(idata["posterior"]["K"]).mean()))
        sizes.append(size)
        filled = known.fillna(known.mean()).to_numpy()
        predictions = {
            "ours": table["mean"].to_numpy()[was_hidden],
            "means": filled[places][was_hidden],
            "scipy": scipy_fit(filled, size, rng)[places][was_hidden],
        }
        for method, prediction in predictions.items():
            squares[method].append((prediction - truth) ** 2)
    errors = [np.sqrt(np.mean(np.concatenate(parts))) for parts in squares.values()]
    return f"{name:>8} {np.mean(sizes):6.1f} {np.mean(np.concatenate(covered)):9.3f} " + " ".join(
        f"{error:8.4f}" for error in errors
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["planted"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--tune", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    print(f"{'data':>8} {'K':>6} {'coverage':>9} {'error':>8} {'means':>8} {'scipy':>8}")
    for case in options.cases:
        row = measure(case, options.repeats, options.draws, options.tune, options.seed)
        print(row, flush=True)


if __name__ == "__main__":
    main()
