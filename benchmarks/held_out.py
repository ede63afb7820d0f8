"""Do chosen columns predict the others in rows that were not used to choose them?

Run from the repository's root, with the paper's data in the folder that PYMC_BID_DATA names::

    python -m benchmarks.held_out planted ec50 ic50

Ten times a tenth of the rows is hidden. The columns and the weights come from the rest, by the
model with the identity and by scipy's interpolative decomposition with as many columns; the columns
that are not chosen are predicted in the hidden rows. Coverage is that of 95 % intervals; errors are
mean squares over all entries of the hidden rows, where chosen columns have none.
"""

import argparse
import logging
import warnings

import numpy as np
import pymc as pm
from scipy.linalg import interpolative

import pymc_bid as bid
from benchmarks.agreement import load


def matrix(name: str) -> np.ndarray:
    """Return a data set, no column twice."""
    if name == "planted":
        planted = bid.datasets.make_planted(rows=150, columns=20, rank=6, noise=0.5, seed=3)
        return planted.A.to_numpy()
    return load(name)[:, ::2]


def scipy_error(known: np.ndarray, hidden: np.ndarray, size: int, rng) -> float:
    """Mean squared error of scipy's decomposition in the hidden rows."""
    order, projection = interpolative.interp_decomp(known, size, rand=False, rng=rng)
    chosen, others = order[:size], order[size:]
    error = hidden[:, others] - hidden[:, chosen] @ projection
    return float(np.sum(error**2) / hidden.size)


def measure(name: str, folds: int, draws: int, tune: int, seed: int) -> str:
    """Hide each fold in turn and return a row of the table."""
    data = matrix(name)
    rng = np.random.default_rng(seed)
    fold = rng.permutation(len(data)) % folds
    covered, sizes, ours, theirs = [], [], [], []
    for hidden_fold in range(folds):
        known, hidden = data[fold != hidden_fold], data[fold == hidden_fold]
        with bid.gbt(known, identity=True) as model:
            idata = pm.sample(
                draws=draws,
                tune=tune,
                chains=4,
                cores=2,
                random_seed=seed + hidden_fold,
                progressbar=False,
                compute_convergence_checks=False,
            )
            result = bid.decompose(idata, known, model=model, ci_prob=0.95)
        prediction = result.transform(hidden)
        others = np.setdiff1d(np.arange(data.shape[1]), result.positions)
        inside = (prediction["lower"].values <= hidden) & (hidden <= prediction["upper"].values)
        covered.append(inside[:, others].ravel())
        error = prediction["mean"].values[:, others] - hidden[:, others]
        ours.append(np.sum(error**2) / hidden.size)
        theirs.append(scipy_error(known, hidden, len(result.positions), rng))
        sizes.append(len(result.positions))
    ours, theirs = np.mean(ours), np.mean(theirs)
    return (
        f"{name:>8} {np.mean(sizes):6.1f} {np.mean(np.concatenate(covered)):9.3f} {ours:8.4f} "
        f"{theirs:8.4f} {ours / theirs:6.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["planted"])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--tune", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    print(f"{'data':>8} {'K':>6} {'coverage':>9} {'error':>8} {'scipy':>8} {'ratio':>6}")
    for case in options.cases:
        row = measure(case, options.folds, options.draws, options.tune, options.seed)
        print(row, flush=True)


if __name__ == "__main__":
    main()
