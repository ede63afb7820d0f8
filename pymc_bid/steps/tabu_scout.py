"""Warm-up without the identity: a scout that searches around the chain's set."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.bound_effects import bound_effects
from pymc_bid.kernels.tabu_search import search_sets
from pymc_bid.steps.likeness import Likeness
from pymc_bid.steps.warm_up import Chain, Setting, Sites, fit_state

FIRST_SEARCHES = 5
"""Searches before the first draw."""
INTERVAL = 5
"""Iterations between two later ones."""
MOST_FAILURES = 5
"""Searches in vain, one after the other, before the scout starts anew."""
MOST_TRIES = 3
"""How often a search is made that leads to a set that was looked at before."""
EXCHANGES_EACH, LONGEST_SEARCH = 10, 500
"""Exchanges of a search, for each column that is in and at most."""
LARGEST_ERROR = 0.3
"""Random part of the effects of the bounds, in units of their spread."""
MOST_SHAKEN = 10
"""Random exchanges to start from where a search from the set itself led nowhere."""


@dataclass
class Camp:
    """The set that a scout searches around, and what it knows of it."""

    state: NDArray[np.int64]
    noise_variance: float
    sites: Sites
    effects: NDArray[np.float64] | None = None
    """What the bounds add to the log odds of each column, once that was asked for."""


@dataclass
class TabuScout:
    """A search for the best set of columns, again and again, next to a chain.

    A tabu search (`pymc_bid.kernels.tabu_search`) finds the best set of a closed form without
    bounds in a fraction of a second, from any start, whether ten columns are chosen or a hundred.
    What the bounds do is added to the log odds of each column as found at the set where the search
    starts (`pymc_bid.kernels.bound_effects`). That is right for one exchange and less and less so
    for many, so a search takes a random share of it, with a random error, and has a random length.
    Where the number of columns is free, a search begins with columns that go in or out. The next
    one starts from the set that was found if its evidence, with the bounds and at the noise
    variance that fits, is the higher one. After some searches in vain the expedition is over. The
    first one starts from a random set, or from nothing where the number is free, the others from
    the chain's set, with a few or many columns exchanged at random: every other time, and always if
    an expedition has ended there before. The chain moves to the scout's set when that has the
    higher evidence: at every turn of the first expedition, at the end of the others. This does not
    leave the posterior invariant and is over when tuning is.
    """

    fixed_size: bool
    iteration: int = 0
    expeditions: int = 0
    failures: int = 0
    camp: Camp | None = None
    seen: set[bytes] = field(default_factory=set)
    """Sets that were looked at since the last start, all of them worse than the camp's or it."""
    ends: set[bytes] = field(default_factory=set)
    """Sets that expeditions have ended at."""

    @property
    def chain_waits(self) -> bool:
        """Whether the chain stands still; it need not, the first searches are over by then."""
        return False

    def advance(self, rng: np.random.Generator, chain: Chain, setting: Setting) -> bool:
        """Search, if it is time to; return whether the chain was moved."""
        searches = int(self.iteration % INTERVAL == 0) if self.iteration else FIRST_SEARCHES
        self.iteration += 1
        moved = False
        for _ in range(searches):
            similar = setting.likeness(chain)
            if self.camp is None:
                self._start(rng, chain, setting)
            improved = self._search(rng, chain, similar, setting)
            self.failures = 0 if improved else self.failures + 1
            is_over = self.failures == MOST_FAILURES
            if is_over or (improved and self.expeditions == 0):
                moved |= self._lead(chain, similar, setting)
            if is_over:
                self.ends.add(self.camp.state.tobytes())
                self.expeditions += 1
                self.camp = None
        return moved

    def _start(self, rng, chain: Chain, setting: Setting) -> None:
        """Start an expedition."""
        state = chain.state.copy()
        movable = rng.permutation(np.flatnonzero(np.isfinite(setting.log_prior_odds)))
        if self.expeditions == 0:
            state[movable] = rng.permutation(state[movable]) if self.fixed_size else 0
        elif self.expeditions % 2 == 0 or state.tobytes() in self.ends:
            # From the square root of their number to all of them: near and far.
            part = movable[: round(movable.size ** rng.uniform(0.5, 1.0))]
            state[part] = rng.permutation(state[part])
        self.camp = Camp(state, chain.typical_variance, Sites.none(setting.products))
        self.seen = {state.tobytes()}
        self.failures = 0

    def _search(self, rng, chain: Chain, similar: Likeness, setting: Setting) -> bool:
        """Search around the camp; return whether it was moved."""
        camp, problem = self.camp, (chain, similar, setting)
        log_prior_odds = setting.log_prior_odds
        if not chain.noise_is_free:
            camp.noise_variance = chain.typical_variance
        present = fit_state(camp.state, camp.noise_variance, *problem, camp.sites)
        camp.noise_variance = variance = present.noise_variance
        if camp.effects is None:
            camp.effects = np.empty(camp.state.size)
            bound_effects(
                *(camp.state, variance, similar.problem, *camp.sites, present.log_masses),
                *(setting.shared, camp.effects),
            )
        longest = min(EXCHANGES_EACH * (1 + int(camp.state.sum())), LONGEST_SEARCH)
        for trial in range(MOST_TRIES):
            found = camp.state.copy()
            if trial > 0:
                _shake(rng, found, log_prior_odds)
            odds = log_prior_odds + _perturbed(rng, camp.effects, camp.state == 1)
            search_sets(
                *(rng, found, variance, similar.problem, odds, int(rng.integers(1, longest + 1))),
                *(not self.fixed_size, int(rng.integers(-1, 2))),
            )
            if found.tobytes() not in self.seen:
                break
        else:
            return False
        self.seen.add(found.tobytes())
        sites = camp.sites.copy()
        fit = fit_state(found, variance, *problem, sites, present.log_evidence)
        if not fit.log_evidence > present.log_evidence:
            return False
        self.camp = Camp(found, fit.noise_variance, sites)
        return True

    def _lead(self, chain: Chain, similar: Likeness, setting: Setting) -> bool:
        """Move the chain to the camp if that is the better place; return whether it is."""
        camp, problem = self.camp, (chain, similar, setting)
        if np.array_equal(camp.state, chain.state):
            return False
        found = fit_state(camp.state, camp.noise_variance, *problem, camp.sites)
        start, sites = chain.typical_variance, Sites.none(similar.products)
        there = fit_state(chain.state, start, *problem, sites, found.log_evidence)
        if not found.log_evidence > there.log_evidence:
            return False
        chain.move(camp.state, found, similar, setting.prior)
        return True


def _perturbed(
    rng: np.random.Generator, effects: NDArray[np.float64], inside: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return a random share of the effects of the bounds, with a random error."""
    # Squares of huge entries overflow.
    effects = np.where(np.isfinite(effects), effects, 0.0)
    error = LARGEST_ERROR * rng.random() * effects.std() * rng.standard_normal(effects.size)
    share, correction = rng.random(2)
    # The bounds cost a column that is used more than one that would be added, so that every
    # exchange looks better than it is by the difference.
    if 0 < inside.sum() < inside.size:
        excess = effects[inside].mean() - effects[~inside].mean()
        effects = effects - correction * excess * inside
    return share * effects + error


def _shake(
    rng: np.random.Generator, state: NDArray[np.int64], log_prior_odds: NDArray[np.float64]
) -> None:
    """Exchange a few random columns that no prior forces in or out, in place."""
    movable = np.isfinite(log_prior_odds)
    inside, outside = (
        rng.permutation(np.flatnonzero(movable & (state == value))) for value in (1, 0)
    )
    number = min(int(rng.integers(2, MOST_SHAKEN + 1)), inside.size, outside.size)
    state[inside[:number]], state[outside[:number]] = 0, 1
