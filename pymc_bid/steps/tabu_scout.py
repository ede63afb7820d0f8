"""Warm-up without the identity: a scout that searches around the chain's set."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.tabu_search import search_sets
from pymc_bid.steps.camp import Camp
from pymc_bid.steps.likeness import Likeness
from pymc_bid.steps.warm_up import OUT_OF_REACH, Chain, Setting, Sites, fit_state

FIRST_SEARCHES = 5
"""Searches before the first draw."""
ENOUGH_RETURNS = 6
"""Expeditions that have to end at the best set before searches become rarer."""
INTERVAL = 10
"""Iterations between two searches after that; before, there is one in every iteration."""
MOST_FAILURES = 25
"""Searches in vain around a set before the scout starts anew."""
EXCHANGES_EACH, LONGEST_SEARCH = 10, 500
"""Exchanges of a search, for each column that is in and at most."""
PERTURBED = 0.5
"""Share of searches around a camp that do not take the effects of the bounds as they are."""
VARIANCES = 0.75, 1.05
"""Noise variances to search at, in units of the one that fits the set where a search starts."""
HELD = 1e6
"""Log odds of a column that has to go in; minus that of one that has to go out."""


@dataclass
class TabuScout:
    """A search for the best set of columns, again and again, next to a chain.

    A tabu search (`pymc_bid.kernels.tabu_search`) finds the best set of a closed form without
    bounds in a fraction of a second, from any start, whether ten columns are chosen or a hundred.
    What the bounds do is added to the log odds of each column as found at the set where the search
    starts, the camp (`pymc_bid.kernels.bound_effects`). That is right for one exchange and less and
    less so for many, so that half of the searches take a random share of it, with a random error,
    and all have a random length. They are made at a noise variance that is mostly smaller: the one
    that fits the camp speaks for the camp. Where the number of columns is free, a search begins
    with columns that go in or out. The camp moves to the set that was found if its evidence, with
    the bounds and at the noise variance that fits, is the higher one.

    Sets that differ in several columns may both be better than all between them. After two searches
    in vain, the next ones therefore have to take in a certain column, or out, the one whose move
    looks best first. A set found that way that is not much worse than the camp's is an outpost. It
    is left by the best exchange of two columns, and so is what that leads to, as long as the sets
    get better; columns that have moved since the opening stay where they are.

    After some more searches in vain the expedition is over. The first one starts from a random set,
    or from nothing where the number is free, the others in turn from the chain's set once more,
    for openings have many continuations, and from there with a few or many columns exchanged at
    random. The chain moves to the scout's set when that has the higher evidence: at every turn of
    the first expedition, at the end of the others. When several expeditions have ended at the best
    set that is known, searches become rarer. This does not leave the posterior invariant and is
    over when tuning is.
    """

    fixed_size: bool
    iteration: int = 0
    expeditions: int = 0
    failures: int = 0
    """Searches in vain, one after the other."""
    camp: Camp | None = None
    outpost: Camp | None = None
    """A set that is not much worse than the camp's, to search around next."""
    seen: set[bytes] = field(default_factory=set)
    """Sets that were looked at since the last start, all of them worse than the camp's or it."""
    home: Camp | None = None
    """The best set that an expedition has ended at."""
    returns: int = 0
    """How many expeditions have ended there."""

    @property
    def chain_waits(self) -> bool:
        """Whether the chain stands still; it need not, the first searches are over by then."""
        return False

    def advance(self, rng: np.random.Generator, chain: Chain, setting: Setting) -> bool:
        """Search, if it is time to; return whether the chain was moved."""
        moved = False
        for _ in range(self._number_of_searches()):
            similar = setting.likeness(chain)
            if self.camp is None:
                self._start(rng, chain, setting)
            improved = self._search(rng, chain, similar, setting)
            if improved and self.expeditions == 0:
                moved |= self._lead(self.camp, chain, similar, setting)
            is_over = self.failures == MOST_FAILURES or self.camp.openings == []
            if is_over and self.outpost is None:
                self._return(chain, similar, setting)
                moved |= self._lead(self.home, chain, similar, setting)
        self.iteration += 1
        return moved

    def _number_of_searches(self) -> int:
        """Return how many searches it is time for."""
        if self.iteration == 0:
            return FIRST_SEARCHES
        return int(self.returns < ENOUGH_RETURNS or self.iteration % INTERVAL == 0)

    def _start(self, rng, chain: Chain, setting: Setting) -> None:
        """Start an expedition."""
        state = chain.state.copy()
        movable = rng.permutation(np.flatnonzero(np.isfinite(setting.log_prior_odds)))
        if self.expeditions == 0:
            state[movable] = rng.permutation(state[movable]) if self.fixed_size else 0
        elif self.expeditions % 2 == 0:
            # From the square root of their number to all of them: near and far.
            part = movable[: round(movable.size ** rng.uniform(0.5, 1.0))]
            state[part] = rng.permutation(state[part])
        self.camp = Camp(state, chain.typical_variance, Sites.none(setting.products))
        self.outpost = None
        self.seen = {state.tobytes()}
        self.failures = 0

    def _search(self, rng, chain: Chain, similar: Likeness, setting: Setting) -> bool:
        """Search around the camp, or around the outpost; return whether the camp was moved."""
        problem = (chain, similar, setting)
        present = self.camp.log_evidence(*problem)
        base, self.outpost = self.outpost or self.camp, None
        # An outpost may be worse than the camp, but not than the outpost before.
        bar = present - OUT_OF_REACH if base is self.camp else base.log_evidence(*problem)
        found, held = self._look(rng, base, similar, setting)
        if found.tobytes() not in self.seen:
            self.seen.add(found.tobytes())
            camp = Camp(found, base.noise_variance, base.sites.copy(), base.rate)
            log_evidence = camp.log_evidence(*problem, present)
            if log_evidence > present:
                self.camp, self.failures = camp, 0
                return True
            if log_evidence > bar:
                self.outpost, camp.held = camp, held
                return False
        self.failures += 1
        return False

    def _look(
        self, rng, base: Camp, similar: Likeness, setting: Setting
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Make one tabu search; return the set it found and the columns to hold around that."""
        found = base.state.copy()
        effects, variance = base.find_effects(similar, setting), base.noise_variance
        opening, exchanges, further = None, 1, 0
        if base is self.camp and base.searches == 1:
            base.rank_openings(similar, setting, self.fixed_size)
        elif base is self.camp:
            opening = base.openings.pop() if base.openings else None
            if rng.random() < PERTURBED:
                effects = base.perturbed_effects(rng, similar, setting)
            variance *= rng.uniform(*VARIANCES)
            longest = min(EXCHANGES_EACH * (1 + int(found.sum())), LONGEST_SEARCH)
            exchanges, further = int(longest ** rng.random()), int(rng.integers(-1, 2))
        base.searches += 1
        odds = setting.log_prior_odds + effects
        odds[base.held] = np.where(base.state[base.held] == 1, HELD, -HELD)
        if opening is not None:
            odds[opening] = -HELD if base.state[opening] else HELD
        search_sets(
            *(rng, found, variance, similar.problem, odds, exchanges),
            *(not self.fixed_size, further),
        )
        if base is self.camp:
            return found, np.array([] if opening is None else [opening], dtype=np.int64)
        return found, np.union1d(base.held, np.flatnonzero(found != base.state))

    def _return(self, chain: Chain, similar: Likeness, setting: Setting) -> None:
        """End an expedition."""
        problem, camp, home = (chain, similar, setting), self.camp, self.home
        if home is not None and np.array_equal(camp.state, home.state):
            self.returns += 1
        elif home is None or camp.log_evidence(*problem) > home.log_evidence(*problem):
            self.home, self.returns = camp, 1
        self.expeditions += 1
        self.camp = None

    def _lead(self, camp: Camp, chain: Chain, similar: Likeness, setting: Setting) -> bool:
        """Move the chain to a camp if that is the better place; return whether it is."""
        problem = (chain, similar, setting)
        if np.array_equal(camp.state, chain.state):
            return False
        found = camp.log_evidence(*problem)
        start, sites = chain.typical_variance, Sites.none(similar.products)
        there = fit_state(chain.state, start, *problem, sites, found)
        if not found > there.log_evidence:
            return False
        chain.move(camp.state, camp.fit, similar, setting.prior)
        return True
