"""Is the number of columns, and are the columns, the planted ones? Many matrices, one table.

Run from the repository's root::

    python -m benchmarks.planted_ranks --matrices 100

Each matrix has Gaussian chosen columns, the others are combinations of them with weights between
-1 and 1 plus noise. Rows from 60 to 500, columns from 15 to 60, rank from 3 to 12, and the noise's
standard deviation from 0.1 to 1 of a chosen column's are drawn anew for each. Four chains start
from all columns, none and two random sets.
"""

import argparse
import logging
import time
import warnings
from collections import Counter

import numpy as np
import pymc as pm

import pymc_bid as bid
from benchmarks.agreement import r_hat, start_states


def draw_matrix(seed: int) -> tuple[np.ndarray, set[int], dict]:
    """Return a planted matrix, its chosen columns and what it was drawn with."""
    rng = np.random.default_rng([seed, 2022])
    settings = {
        "rows": int(rng.integers(60, 501)),
        "columns": int(rng.integers(15, 61)),
        "rank": int(rng.integers(3, 13)),
        "noise": float(rng.uniform(0.1, 1.0)),
    }
    planted = bid.datasets.make_planted(**settings, seed=seed)
    matrix = planted.A.to_numpy()
    chosen = {planted.A.columns.get_loc(label) for label in planted.columns}
    return matrix, chosen, settings


def credible_sizes(sizes: np.ndarray, mass: float) -> set[int]:
    """Return the most probable numbers of columns that have the mass together."""
    found, total = set(), 0.0
    for size, count in Counter(sizes.ravel().tolist()).most_common():
        if total >= mass * sizes.size:
            break
        found.add(size)
        total += count
    return found


def measure(seed: int, model: str, draws: int, tune: int) -> dict:
    """Sample one matrix and compare with what was planted."""
    matrix, chosen, settings = draw_matrix(seed)
    rng = np.random.default_rng(seed)
    started = time.perf_counter()
    with getattr(bid, model)(matrix, identity=True):
        idata = pm.sample(
            draws=draws,
            tune=tune,
            chains=4,
            cores=1,
            initvals=[{"r": start} for start in start_states(matrix.shape[1], None, rng)],
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=["r", "K"],
        )
    seconds = time.perf_counter() - started
    states = np.asarray(idata["posterior"]["r"])
    sizes = np.asarray(idata["posterior"]["K"])
    sets = Counter(tuple(np.flatnonzero(state)) for state in states.reshape(-1, states.shape[2]))
    best = set(sets.most_common(1)[0][0])
    rhat = r_hat(sizes)
    same = len({tuple(chain.mean(axis=0) > 0.5) for chain in states}) == 1
    return {
        **settings,
        "K": Counter(sizes.ravel().tolist()).most_common(1)[0][0],
        "rank_found": Counter(sizes.ravel().tolist()).most_common(1)[0][0] == len(chosen),
        "set_found": best == chosen,
        # A number of columns that never changes in any chain has no R-hat, and needs none.
        "agree": rhat <= 1.01 if np.isfinite(rhat) else same,
        "covered": len(chosen) in credible_sizes(sizes, 0.9),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matrices", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--model", default="gbt", choices=["gbt", "gbtn"])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=1000)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    rows = []
    for seed in range(options.first, options.first + options.matrices):
        row = measure(seed, options.model, options.draws, options.tune)
        rows.append(row)
        print(seed, *(f"{name}={value:.3g}" for name, value in row.items()), flush=True)
    names = ("rank_found", "set_found", "agree", "covered")
    print({name: sum(row[name] for row in rows) for name in names}, "of", len(rows))


if __name__ == "__main__":
    main()
