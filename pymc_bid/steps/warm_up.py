"""Warm-up of the state vector: a scout that searches ahead of the chain while it tunes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.decomposition import WeightPrior
from pymc_bid.kernels.annealing import bounded_evidence, fitted_noise_variance, scout_step
from pymc_bid.regression import Regression

CYCLE = 100
"""Iterations from the highest temperature to 1."""
EVIDENCE_DRAWS = 8
"""Draws over which the mass between the bounds is averaged."""
FEWEST_SWAPS = 10


@dataclass
class Chain:
    """Where a chain is."""

    state: NDArray[np.int64]
    weights: NDArray[np.float64]
    noise_variance: float


@dataclass
class Scout:
    """A state vector without weights that is annealed, again and again, next to a chain.

    Its flips and swaps use the evidence with the weights integrated out and the bounds left out,
    divided by a temperature that falls to 1 within a cycle. At the end of a cycle the chain moves
    to the scout's state if its evidence, with the bounds, is the higher one. So chains from
    different starts meet where the posterior is, and not where they started. This does not leave
    the posterior invariant and is over when tuning is.
    """

    state: NDArray[np.int64] | None = None
    noise_variance: float = np.nan
    iteration: int = 0

    def advance(
        self,
        rng: np.random.Generator,
        chain: Chain,
        data: Regression,
        prior: WeightPrior,
        log_prior_odds: NDArray[np.float64],
        fixed_size: bool,
    ) -> bool:
        """Move the scout once; return whether it ended a cycle and the chain was moved to it."""
        rows, columns = data.entries // data.cross.shape[1], data.cross.shape[1]
        mean_square = data.square / data.entries
        # Data that can be fitted exactly have no other end of a falling variance.
        floor = max(min(chain.noise_variance / 2, mean_square / 1000), np.finfo(np.float64).tiny)
        if self.state is None:
            self.state = chain.state.copy()
        if self.iteration == 0:
            self.noise_variance = max(mean_square, floor)
        problem = (data.gram, data.cross, data.square, rows, *prior)
        temperature = max(1.0, columns / 10) ** (1 - (self.iteration + 1) / CYCLE)
        swaps = max(FEWEST_SWAPS, int(self.state.sum()))
        self.noise_variance, _ = scout_step(
            *(rng, self.state, self.noise_variance, *problem, log_prior_odds),
            *(temperature, floor, not fixed_size, swaps),
        )
        self.iteration = (self.iteration + 1) % CYCLE
        if self.iteration > 0:
            return False

        found = Chain(self.state.copy(), chain.weights.copy(), self.noise_variance)
        scratch = chain.weights.copy()
        evidence = []
        for state, weights in ((found.state, found.weights), (chain.state, scratch)):
            variance = fitted_noise_variance(state, self.noise_variance, *problem, floor, 20)
            evidence.append(
                bounded_evidence(
                    *(rng, state, variance, *problem, log_prior_odds), EVIDENCE_DRAWS, weights
                )
            )
            if state is found.state:
                found.noise_variance = variance
        if not evidence[0] > evidence[1]:
            return False
        chain.state, chain.weights = found.state, found.weights
        chain.noise_variance = found.noise_variance
        return True
