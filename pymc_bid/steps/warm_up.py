"""Warm-up of the state vector: a scout that searches ahead of the chain while it tunes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.annealing import scout_step
from pymc_bid.kernels.bounded_evidence import bounded_fit, own_log_masses
from pymc_bid.regression import Products
from pymc_bid.steps.likeness import Likeness, likeness

CYCLE = 100
"""Iterations from the highest temperature to 1."""
FIRST_CYCLE = 25
"""The same for the first cycle, during which the chain waits."""
LOCAL_CYCLE, LOCAL_TEMPERATURE = 50, 5.0
"""Length and highest temperature of a cycle around the chain's state, or from all columns."""
MOVES_WITH_IDENTITY = 3
"""Moves of the scout for each of the chain's, which are the dear ones in that model."""
MOVES_WITH_FIXED_SIZE, CYCLE_WITH_FIXED_SIZE = 4, 200
"""The same, and the length of a cycle, where the best of very many sets has to be found."""
LOOK = 10
"""Iterations between two looks at the bounds."""
FEWEST_SWAPS = 10
LARGEST_NUMBER_OF_FITS = 10


@dataclass
class Chain:
    """Where a chain is."""

    state: NDArray[np.int64]
    weights: NDArray[np.float64]
    noise_variance: NDArray[np.float64]
    """Of each target."""
    noise_is_free: bool = True
    """Whether the chain can be moved to another one."""

    @property
    def typical_variance(self) -> float:
        """Geometric mean of the noise variances."""
        return float(np.exp(np.log(self.noise_variance).mean()))


class Cycle(NamedTuple):
    """One search of the scout."""

    start: str
    """"scout" (where it is), "chain" (where that is), "nothing" or "everything" (all columns)."""
    temperature: float
    """The highest one."""
    length: int


@dataclass
class Bounds:
    """What the bounds on the weights do to the evidence near the state that was looked at last."""

    site_precision: NDArray[np.float64]
    site_linear: NDArray[np.float64]
    """Normal factors that stand for the bounds, see `pymc_bid.kernels.propagation`."""
    relief: NDArray[np.float64]
    """What each column adds to the evidence, when in, because it explains itself."""
    excess: float = 1.0
    """Noise variance that is fitted with the bounds over the one without."""

    @classmethod
    def unknown(cls, columns: int, targets: int) -> "Bounds":
        """Bounds that nobody has looked at."""
        shape = (targets, columns)
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(columns))


@dataclass
class Scout:
    """A state vector without weights that is annealed, again and again, next to a chain.

    Its flips and swaps use the evidence with the weights integrated out and the bounds left out,
    divided by a temperature that falls to 1 within a cycle. Every few iterations it looks at the
    bounds, for two things that the closed form lacks: the noise variance within the bounds, and the
    columns that no others can explain within the bounds but that explain themselves once they are
    in. At the end of a cycle the chain moves to the scout's state if its evidence, with the bounds,
    is the higher one. So chains from different starts meet where the posterior is, and not where
    they started. The first cycle is a short one, and the chain waits for it: its own moves may be
    slow where it starts. This does not leave the posterior invariant and is over when tuning is.
    """

    state: NDArray[np.int64] | None = None
    noise_variance: float = np.nan
    iteration: int = 0
    cycles: int = 0
    bounds: Bounds | None = None

    def advance(
        self,
        rng: np.random.Generator,
        chain: Chain,
        products: Products,
        shared: bool,
        prior: WeightPrior,
        own: OwnColumns,
        log_prior_odds: NDArray[np.float64],
        fixed_size: bool,
    ) -> bool:
        """Move the scout; return whether it ended a cycle and the chain was moved to it."""
        similar = likeness(products, chain.noise_variance, prior, own)
        moves = MOVES_WITH_FIXED_SIZE if fixed_size else 1
        if own.has_identity:
            moves = MOVES_WITH_IDENTITY
        moved = False
        for _ in range(moves):
            moved |= self._move(rng, chain, similar, prior, shared, log_prior_odds, fixed_size)
        return moved

    def _move(self, rng, chain, similar, prior, shared, log_prior_odds, fixed_size) -> bool:
        products, _, own = problem = similar.problem
        size, targets = products.cross.shape
        mean_square = products.squares.sum() / max(products.rows.sum(), 1.0)
        present = chain.typical_variance
        # Data that can be fitted exactly have no other end of a falling variance.
        floor = max(min(present / 2, mean_square / 1000), np.finfo(np.float64).tiny)
        if self.state is None:
            self.state = chain.state.copy()
            self.bounds = Bounds.unknown(size, targets)
        cycle = self._cycle(targets, own.has_identity, fixed_size)
        if self.iteration == 0:
            self.noise_variance = max(mean_square, floor)
            if cycle.start == "chain":
                self.state = chain.state.copy()
                self.noise_variance = max(present, floor)
            elif cycle.start == "nothing" and not fixed_size:
                self.state = np.zeros_like(chain.state)
            elif cycle.start == "everything" and not fixed_size:
                self.state = np.ones_like(chain.state)
                self.noise_variance = max(mean_square / 100, floor)
        if not chain.noise_is_free:
            self.noise_variance = present
        if self.iteration % LOOK == 0:
            self.look_at_bounds(problem, log_prior_odds, shared)
        temperature = cycle.temperature ** (1 - (self.iteration + 1) / cycle.length)
        swaps = max(FEWEST_SWAPS, int(self.state.sum()))
        fitted, _ = scout_step(
            *(rng, self.state, self.noise_variance, problem, log_prior_odds + self.bounds.relief),
            *(temperature, floor, not fixed_size, swaps),
        )
        self.noise_variance = max(fitted * self.bounds.excess, floor)
        self.iteration = (self.iteration + 1) % cycle.length
        if self.iteration > 0:
            return False
        self.cycles += 1
        return not np.array_equal(self.state, chain.state) and self._lead(
            chain, similar, prior, log_prior_odds, floor
        )

    def _lead(self, chain: Chain, similar: Likeness, prior, log_prior_odds, floor) -> bool:
        """Move the chain to the scout if that is at the better place; return whether it is."""
        present = chain.typical_variance
        start = self.noise_variance if chain.noise_is_free else present
        weights = chain.weights * similar.root
        # Columns that are forced in or out are so in both states.
        odds = np.where(np.isfinite(log_prior_odds), log_prior_odds, 0.0)
        options = (similar.problem, odds, floor, chain.noise_is_free)
        found, noise_variance = fitted_evidence(self.state, start, weights, *options)
        there, _ = fitted_evidence(chain.state, present, weights.copy(), *options)
        if not found > there:
            return False
        chain.state = self.state.copy()
        # Another unit may take a weight over its bound by rounding.
        inside = np.nextafter(prior.lower, prior.upper), np.nextafter(prior.upper, prior.lower)
        chain.weights = np.clip(weights / similar.root, *inside)
        chain.noise_variance = chain.noise_variance * (noise_variance / present)
        return True

    def _cycle(self, targets: int, has_own: bool, fixed_size: bool) -> Cycle:
        """Return where the present cycle starts, how hot, and how long it is."""
        if not has_own:
            length = CYCLE_WITH_FIXED_SIZE if fixed_size else CYCLE
            return Cycle("scout", max(1.0, targets / 10), length if self.cycles else FIRST_CYCLE)
        # With the identity there are two hills to climb: one from no columns and a lot of noise,
        # and one from all columns and hardly any, where columns go out that others give exactly.
        # Every other search is for better states near the chain's.
        if self.cycles % 2 == 1:
            return Cycle("chain", LOCAL_TEMPERATURE, LOCAL_CYCLE)
        if self.cycles % 4 == 2:
            return Cycle("everything", LOCAL_TEMPERATURE, LOCAL_CYCLE)
        return Cycle("nothing", max(1.0, targets / 3), CYCLE if self.cycles else FIRST_CYCLE)

    def look_at_bounds(
        self, problem: tuple, log_prior_odds: NDArray[np.float64], pool_is_target: bool
    ) -> None:
        """Learn what the bounds do at the scout's state."""
        bounds = self.bounds
        size, targets = problem[0].cross.shape
        log_masses = np.empty(targets)
        _, bounded, unbounded = bounded_fit(
            *(self.state, self.noise_variance, problem, log_prior_odds),
            *(bounds.site_precision, bounds.site_linear, np.empty((size, targets)), log_masses),
        )
        bounds.excess = bounded / unbounded if unbounded > 0 else 1.0
        if pool_is_target and not problem[-1].has_identity:
            own_log_masses(self.state, self.noise_variance, problem, log_masses)
            bounds.relief = -log_masses


def fitted_evidence(
    state: NDArray[np.int64],
    noise_variance: float,
    weights: NDArray[np.float64],
    problem: tuple,
    log_prior_odds: NDArray[np.float64],
    floor: float,
    noise_is_free: bool,
) -> tuple[float, float]:
    """Return the log evidence of a state, with the bounds, at its best noise variance, and that.

    `weights` receives the posterior mean. Expectation-maximisation, sped up by secants: each step
    is dear, and it closes only a part of the distance.
    """
    size, targets = problem[0].cross.shape
    sites = (np.zeros((targets, size)), np.zeros((targets, size)))
    log_variance = np.log(max(noise_variance, floor))
    evidence, distance, rate = -np.inf, 0.0, 1.0
    for step in range(LARGEST_NUMBER_OF_FITS):
        variance = float(np.exp(log_variance))
        evidence, bounded, _ = bounded_fit(
            *(state, variance, problem, log_prior_odds, *sites, weights, np.empty(targets))
        )
        before, distance = distance, np.log(max(bounded, floor)) - log_variance
        if abs(distance) < 1e-3 or not noise_is_free:
            break
        if step > 0 and 0 < distance / before < 0.9:
            rate = rate / (1 - distance / before)
        rate = min(max(rate, 1.0), 8.0)
        log_variance = max(log_variance + rate * distance, np.log(floor))
    return evidence, variance
