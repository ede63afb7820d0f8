"""Do intervals of R² hold what they are intervals of?

Run from the repository's root: `python -m benchmarks.r2_coverage [matrices [of these sampled]]`.

Planted matrices whose weights are known. The truth is the share of the variance of *these* rows
that the planted weights explain,

    R²_l = 1 - |a_l - ā_l - (C - C̄)·w_l|² / |a_l - ā_l|² ,

not the share in a population that the rows were drawn from: the rows are given. Intervals of 95 %
of each column that is not planted, and of the mean over these, given the planted set: from
`bid.score_sets`, and from `bid.decompose` after sampling.
"""

import logging
import sys
import warnings
from itertools import product

import numpy as np
import pymc as pm

import pymc_bid as bid

LEVEL = 0.95
ROWS, NOISE, RANKS, COLUMNS = (40, 80, 200, 500), (0.3, 0.6, 1.0), (2, 4), 12


def cover(run: int, sampling: bool) -> dict[str, np.ndarray]:
    """Return by name of the interval which ones hold the truth, of one matrix."""
    rows, noise, rank = list(product(ROWS, NOISE, RANKS))[run % 24]
    planted = bid.datasets.make_planted(rows, COLUMNS, rank, noise, seed=1000 + run)
    others = [name for name in planted.A if name not in planted.columns]
    centred = planted.A - planted.A.mean()
    fit = centred[planted.columns].to_numpy() @ planted.W[others].to_numpy()
    left = ((centred[others] - fit) ** 2).sum()
    truth = 1 - left / (centred[others] ** 2).sum()
    # Units must not matter.
    rng = np.random.default_rng(run)
    table = planted.A * rng.gamma(2.0, 10.0, COLUMNS) + 100 * rng.normal(size=COLUMNS)
    model = bid.column_selection(table)
    sets = {"planted": planted.columns}
    options = {"best": False, "ci_prob": LEVEL, "draws": 1000, "random_seed": run}
    each = bid.score_sets(model, sets, by="column", **options).loc["planted"]
    mean = bid.score_sets(model, sets, **options).loc["planted"]
    found = {"score_sets, each column": each, "score_sets, mean": mean.to_frame().T}
    if sampling:
        with model:
            idata = pm.sample(
                400, tune=400, chains=2, cores=1, random_seed=run, progressbar=False,
                compute_convergence_checks=False,
            )  # fmt: skip
        result = bid.decompose(
            idata, table, choose=planted.columns, model=model, ci_prob=LEVEL, random_seed=run
        )
        found["decompose, each column"] = result.r2
        found["decompose, mean"] = result.mean_r2.to_frame().T
    covered = {}
    for name, intervals in found.items():
        value = truth.to_numpy() if "each" in name else truth.mean()
        lower, upper = (intervals[end].to_numpy(dtype=float) for end in ("lower", "upper"))
        covered[name] = (lower <= value) & (value <= upper)
    return covered


def main(runs: int = 100, sampled: int = 100) -> None:
    """Print the coverage of each kind of interval."""
    warnings.simplefilter("ignore")
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    covered: dict[str, list] = {}
    for run in range(runs):
        for name, held in cover(run, run < sampled).items():
            covered.setdefault(name, []).append(held)
    for name, held in covered.items():
        share = np.array([np.mean(of_matrix) for of_matrix in held])
        error = share.std(ddof=1) / np.sqrt(share.size)
        print(f"{name}: {share.mean():.3f} ± {error:.3f} over {share.size} matrices")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
