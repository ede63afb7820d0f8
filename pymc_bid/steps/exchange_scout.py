"""Warm-up where the number of columns is fixed: a scout that searches around the chain's set."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.bound_effects import bound_effects
from pymc_bid.kernels.exchanges import search_exchanges
from pymc_bid.regression import Products
from pymc_bid.steps.likeness import likeness
from pymc_bid.steps.warm_up import Chain, Sites, fit_state

FIRST_SEARCHES = 5
"""Searches before the first draw."""
INTERVAL = 10
"""Iterations between two later ones."""
LONGEST_SEARCH = 500
"""Exchanges of a search."""
LARGEST_ERROR = 0.3
"""Random part of the effects of the bounds, in units of their spread."""
MOST_SHAKEN = 10
"""Random exchanges to start from where a search from the set itself leads nowhere."""


@dataclass
class ExchangeScout:
    """A search for a better set of columns, again and again, around the set of a chain.

    Sets of a hundred columns are too many to be annealed: a tabu search
    (`pymc_bid.kernels.exchanges`) finds the best of a closed form without bounds in a fraction of a
    second, from any start. What the bounds do is added to the log odds of each column as found at
    the chain's set (`pymc_bid.kernels.bound_effects`). That is right for one exchange and less and
    less so for many, so a search takes a random share of it, with a random error, and has a random
    length. The chain
    moves to the set that was found if its evidence, with the bounds, is the higher one. This does
    not leave the posterior invariant and is over when tuning is.
    """

    iteration: int = 0
    sites: Sites | None = None

    @property
    def is_first(self) -> bool:
        """Whether the chain should wait; it need not, the first searches are over by then."""
        return False

    def advance(
        self,
        rng: np.random.Generator,
        chain: Chain,
        products: Products,
        shared: bool,
        prior: WeightPrior,
        own: OwnColumns,
        log_prior_odds: NDArray[np.float64],
    ) -> bool:
        """Search, if it is time to; return whether the chain was moved."""
        searches = int(self.iteration % INTERVAL == 0)
        if self.iteration == 0:
            self.sites = Sites.none(products)
            searches = FIRST_SEARCHES
        self.iteration += 1
        options = (products, shared, prior, own, log_prior_odds)
        return any([self._search(rng, chain, *options) for _ in range(searches)])

    def _search(self, rng, chain, products, shared, prior, own, log_prior_odds) -> bool:
        similar = likeness(products, chain.noise_variance, prior, own)
        start = chain.typical_variance
        present = fit_state(chain.state, start, chain, similar, log_prior_odds, self.sites)
        variance = present.noise_variance
        effects = np.empty(chain.state.size)
        bound_effects(
            *(chain.state, variance, similar.problem, *self.sites, present.log_masses),
            *(shared, effects),
        )
        inside = chain.state == 1
        # The bounds cost a column that is used more than one that would be added, so that every
        # exchange looks better than it is by the difference.
        if 0 < inside.sum() < inside.size:
            effects[inside] -= rng.random() * (effects[inside].mean() - effects[~inside].mean())
        error = LARGEST_ERROR * rng.random() * effects.std() * rng.standard_normal(effects.size)
        odds = log_prior_odds + rng.random() * effects + error
        length = int(rng.integers(1, LONGEST_SEARCH + 1))
        found = chain.state.copy()
        search_exchanges(rng, found, variance, similar.problem, odds, length)
        if np.array_equal(found, chain.state):
            _shake(rng, found, log_prior_odds)
            search_exchanges(rng, found, variance, similar.problem, odds, length)
        if np.array_equal(found, chain.state):
            return False
        sites = self.sites.copy()
        fit = fit_state(found, variance, chain, similar, log_prior_odds, sites)
        if not fit.log_evidence > present.log_evidence:
            return False
        chain.move(found, fit, similar, prior)
        self.sites = sites
        return True


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
