"""A thousand columns: how long, how much memory, and are the planted columns found?

Run from the repository's root::

    python -m benchmarks.large
    python -m benchmarks.large --columns 500 --rows 1000 --k 20

One chain, with Y left out of the trace and running means in its place. The columns of the planted
basis are exact, all others are mixtures of them plus noise.
"""

import argparse
import logging
import resource
import time
import warnings

import numpy as np
import pymc as pm

import pymc_bid as bid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--k", type=int, help="fix the number of columns, in the paper's model")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--tune", type=int, default=200)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    planted = bid.datasets.make_planted(
        rows=options.rows, columns=options.columns, rank=options.rank, noise=0.3, seed=1
    )
    started = time.perf_counter()
    with bid.gbt(planted.A, k=options.k, identity=options.k is None):
        keep = bid.RunningMeans(every=20)
        idata = pm.sample(
            draws=options.draws,
            tune=options.tune,
            chains=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=keep.var_names,
            callback=keep,
        )
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    K = np.asarray(idata["posterior"]["K"])
    found = set(keep.inclusion["basis"].values[keep.inclusion.values > 0.5])
    error = np.mean((planted.A.to_numpy() - keep.reconstruction(planted.A)) ** 2)
    print(
        f"{options.rows} × {options.columns}, k = {options.k or 'free'}: {seconds:.0f} s by the "
        f"clock, {time.process_time():.0f} s of processor time, {peak:.2f} GiB at most; K from "
        f"{K.min()} to {K.max()}, {len(found & set(planted.columns))} of {options.rank} planted "
        f"columns and {len(found - set(planted.columns))} others above one half; mean squared "
        f"error of the mean reconstruction {error:.4f}"
    )


if __name__ == "__main__":
    main()
