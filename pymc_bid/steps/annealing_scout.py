"""Warm-up of the model with the identity: a scout that is annealed next to the chain."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.annealing import scout_step
from pymc_bid.kernels.bounded_evidence import bounded_fit
from pymc_bid.steps.likeness import Likeness
from pymc_bid.steps.warm_up import Chain, Setting, Sites, fit_state, noise_floor

CYCLE = 100
"""Iterations from the highest temperature to 1."""
FIRST_CYCLE = 25
"""The same for the first cycle, during which the chain waits."""
LOCAL_CYCLE, LOCAL_TEMPERATURE = 50, 5.0
"""Length and highest temperature of a cycle around the chain's state, or from all columns."""
MOVES = 3
"""Moves of the scout for each of the chain's, which are the dear ones."""
LOOK = 10
"""Iterations between two looks at the bounds."""
FEWEST_SWAPS = 10


class Cycle(NamedTuple):
    """One search of the scout."""

    start: str
    """"chain" (where that is), "nothing" or "everything" (all columns)."""
    temperature: float
    """The highest one."""
    length: int


@dataclass
class AnnealingScout:
    """A state vector without weights that is annealed, again and again, next to a chain.

    Its flips and swaps use the evidence with the weights integrated out and the bounds left out,
    divided by a temperature that falls to 1 within a cycle. Every few iterations it looks at what
    the bounds do to the noise variance. At the end of a cycle the chain moves to the scout's state
    if its evidence, with the bounds, is the higher one. The first cycle is a short one, and the
    chain waits for it: its own moves may be slow where it starts. This does not leave the posterior
    invariant and is over when tuning is.
    """

    fixed_size: bool
    state: NDArray[np.int64] | None = None
    noise_variance: float = np.nan
    iteration: int = 0
    cycles: int = 0
    sites: Sites | None = None
    excess: float = 1.0
    """Noise variance that is fitted with the bounds over the one without, when last looked at."""

    @property
    def chain_waits(self) -> bool:
        """Whether the chain stands still."""
        return self.cycles == 0

    def advance(self, rng: np.random.Generator, chain: Chain, setting: Setting) -> bool:
        """Move the scout; return whether it ended a cycle and the chain was moved to it."""
        similar = setting.likeness(chain)
        moved = False
        for _ in range(MOVES):
            moved |= self._move(rng, chain, similar, setting)
        return moved

    def _move(self, rng, chain, similar: Likeness, setting: Setting) -> bool:
        log_prior_odds = setting.log_prior_odds
        products, _, _ = problem = similar.problem
        mean_square = products.squares.sum() / max(products.rows.sum(), 1.0)
        present = chain.typical_variance
        floor = noise_floor(chain, products)
        if self.state is None:
            self.state = chain.state.copy()
            self.sites = Sites.none(products)
        cycle = self._cycle(products.rows.size)
        if self.iteration == 0:
            self.noise_variance = max(mean_square, floor)
            if cycle.start == "chain":
                self.state = chain.state.copy()
                self.noise_variance = max(present, floor)
            elif cycle.start == "nothing" and not self.fixed_size:
                self.state = np.zeros_like(chain.state)
            elif cycle.start == "everything" and not self.fixed_size:
                self.state = np.ones_like(chain.state)
                self.noise_variance = max(mean_square / 100, floor)
        if not chain.noise_is_free:
            self.noise_variance = present
        if self.iteration % LOOK == 0:
            self._look_at_bounds(problem, log_prior_odds)
        temperature = cycle.temperature ** (1 - (self.iteration + 1) / cycle.length)
        swaps = max(FEWEST_SWAPS, int(self.state.sum()))
        fitted, _ = scout_step(
            *(rng, self.state, self.noise_variance, problem, log_prior_odds),
            *(temperature, floor, not self.fixed_size, swaps),
        )
        self.noise_variance = max(fitted * self.excess, floor)
        self.iteration = (self.iteration + 1) % cycle.length
        if self.iteration > 0:
            return False
        self.cycles += 1
        return not np.array_equal(self.state, chain.state) and self._lead(chain, similar, setting)

    def _lead(self, chain: Chain, similar: Likeness, setting: Setting) -> bool:
        """Move the chain to the scout if that is at the better place; return whether it is."""
        present = chain.typical_variance
        start = self.noise_variance if chain.noise_is_free else present
        found, there = (
            fit_state(state, variance, chain, similar, setting, Sites.none(similar.products))
            for state, variance in ((self.state, start), (chain.state, present))
        )
        if not found.log_evidence > there.log_evidence:
            return False
        chain.move(self.state, found, similar, setting.prior)
        return True

    def _cycle(self, targets: int) -> Cycle:
        """Return where the present cycle starts, how hot, and how long it is."""
        # There are two hills to climb: one from no columns and a lot of noise, and one from all
        # columns and hardly any, where columns go out that others give exactly. Every other search
        # is for better states near the chain's.
        if self.cycles % 2 == 1:
            return Cycle("chain", LOCAL_TEMPERATURE, LOCAL_CYCLE)
        if self.cycles % 4 == 2:
            return Cycle("everything", LOCAL_TEMPERATURE, LOCAL_CYCLE)
        return Cycle("nothing", max(1.0, targets / 3), CYCLE if self.cycles else FIRST_CYCLE)

    def _look_at_bounds(self, problem: tuple, log_prior_odds: NDArray[np.float64]) -> None:
        """Learn what the bounds do at the scout's state."""
        size, targets = problem[0].cross.shape
        _, bounded, unbounded = bounded_fit(
            *(self.state, self.noise_variance, problem, log_prior_odds),
            *(*self.sites, np.empty((size, targets)), np.empty(targets)),
        )
        self.excess = bounded / unbounded if unbounded > 0 else 1.0
