"""Time what numba costs a user: the first call of every kernel, and the same in a later process.

Run from the repository's root::

    python -m benchmarks.compile_time

Every kernel is called through the public steps, on GBT and GBTN, with a free and a fixed number of
columns and both schemes, for some iterations of the warm-up. The same calls again, now compiled,
are timed for comparison, and subtracted.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def run_every_kernel() -> float:
    """Return the seconds that one pass through all kernels takes."""
    import pymc_bid as bid

    data = np.random.default_rng(0).normal(size=(12, 5))
    elapsed = 0.0
    for constructor in (bid.gbt, bid.gbtn):
        for k, step in ((None, bid.FlipStep), (2, bid.SwapStep)):
            model = constructor(data, k=k)
            point = model.initial_point(random_seed=1)
            steps = [
                step([model["r"]], model=model, scheme="paper"),
                step([model["r"]], model=model),
                bid.NoiseStep([model["sigma2"]], model=model),
                bid.WeightStep([model["Y"]], model=model),
            ]
            started = time.perf_counter()
            for each in steps:
                point, _ = each.step(point)
            for _ in range(10):
                point, _ = steps[1].step(point)
            elapsed += time.perf_counter() - started
    return elapsed


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        for label in ("first process, nothing compiled", "later process, all cached"):
            result = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "benchmarks.compile_time", "child"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"{label}: {float(result.stdout):.1f} s")


if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        first = run_every_kernel()
        print(first - run_every_kernel())
    else:
        main()
