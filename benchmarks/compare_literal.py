"""Time one iteration of the paper's sampler, ours against the same written out literally.

Run from the repository's root::

    python -m benchmarks.compare_literal

One iteration is a sweep of flips over all columns, a draw of the noise variance and one sweep over
all weights (GBT, ARD, ν = 1); both do the same updates (`scheme="paper"`) on one thread. Our cost
grows with the number K of columns that are on, the literal one's does not. Both therefore start
from the same point, with half of the columns on and weights settled around them: the paper's flips
hardly leave such a state, so K stays near N/2. The table shows K after the last timed iteration.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

import pymc_bid
from benchmarks.literal import literal_iteration

# Rows, columns, and how many iterations of the literal sampler and of ours are timed.
CASES = ((500, 48, 5, 500), (160, 254, 1, 50))
SETTLING_SWEEPS = 100


def low_rank_matrix(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """A matrix of rank N/8 with unit variance, plus noise."""
    rank = columns // 8
    signal = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns)) / np.sqrt(rank)
    return signal + 0.3 * rng.normal(size=(rows, columns))


class Ours:
    """The package's sampler, through its public steps."""

    def __init__(self, matrix: np.ndarray, state: np.ndarray):
        model = pymc_bid.gbt(matrix)
        model.set_initval(model["r"], state)
        self.point = model.initial_point()
        self.flip = pymc_bid.FlipStep([model["r"]], model=model, scheme="paper")
        self.noise = pymc_bid.NoiseStep([model["sigma2"]], model=model)
        self.weight = pymc_bid.WeightStep([model["Y"]], model=model, nu=1)
        for _ in range(SETTLING_SWEEPS):
            self.update(self.noise, self.weight)

    def update(self, *steps) -> None:
        for step in steps:
            self.point, _ = step.step(self.point)

    def iterate(self) -> None:
        self.update(self.flip, self.noise, self.weight)

    def values(self) -> tuple[np.ndarray, np.ndarray, float]:
        """State, weights and noise variance; the constructor's model has no transforms."""
        return self.point["r"], self.point["Y"], float(self.point["sigma2"])


class Literal:
    """The sampler of `benchmarks.literal`."""

    def __init__(self, matrix: np.ndarray, state: np.ndarray, weights: np.ndarray, variance: float):
        self.rng = np.random.default_rng(1)
        self.matrix = matrix
        self.current = (state, weights, variance, None)

    def iterate(self) -> None:
        self.current = literal_iteration(self.rng, self.matrix, self.matrix, *self.current)


def median_seconds(iterate: Callable[[], None], repeats: int) -> float:
    """Median processor time of a call; unlike wall-clock time it ignores other processes."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        iterate()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def main() -> None:
    print("One iteration (flips, noise variance, one sweep over the weights), one thread,")
    print("median processor time")
    print(f"{'matrix':>10} {'literal':>11} {'ours':>11} {'ratio':>8}   iterations timed; K at end")
    with threadpool_limits(1):
        for rows, columns, literal_repeats, our_repeats in CASES:
            rng = np.random.default_rng(0)
            matrix = low_rank_matrix(rng, rows, columns)
            ours = Ours(matrix, rng.permutation(np.arange(columns) % 2))
            literal = Literal(matrix, *ours.values())
            literal_seconds = median_seconds(literal.iterate, literal_repeats)
            # The first call compiles the kernels or reads them from numba's cache.
            ours.iterate()
            our_seconds = median_seconds(ours.iterate, our_repeats)
            print(
                f"{f'{rows}×{columns}':>10} {literal_seconds:>9.2f} s {1e3 * our_seconds:>8.3f} ms "
                f"{literal_seconds / our_seconds:>8,.0f}   "
                f"literal {literal_repeats}, K = {literal.current[0].sum()}; "
                f"ours {our_repeats}, K = {ours.point['r'].sum()}",
                flush=True,
            )


if __name__ == "__main__":
    main()
