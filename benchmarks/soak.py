"""Resident memory while models are made, sampled and dropped: python -m benchmarks.soak."""

import gc
import logging
import sys
import warnings

import numpy as np
import psutil
import pymc as pm

import pymc_bid as bid


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    warnings.simplefilter("ignore")
    logging.disable()
    rng, process, sizes = np.random.default_rng(0), psutil.Process(), []
    for _ in range(number):
        with bid.gbt(rng.normal(size=(20_000, 40)), k=5, identity=True):
            pm.sample(
                draws=3,
                tune=3,
                chains=1,
                cores=1,
                progressbar=False,
                compute_convergence_checks=False,
            )
        gc.collect()
        sizes.append(process.memory_info().rss / 1e6)
        if len(sizes) % 20 == 0:
            print(f"{len(sizes):4} models: {sizes[-1]:6.0f} MB", flush=True)
    print(f"from model 20 on between {min(sizes[20:]):.0f} and {max(sizes[20:]):.0f} MB")


if __name__ == "__main__":
    main()
