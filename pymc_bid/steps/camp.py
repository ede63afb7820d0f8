"""A set of columns that a scout searches around, and what it knows of it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.bound_effects import bound_effects
from pymc_bid.kernels.tabu_search import rank_openings
from pymc_bid.steps.likeness import Likeness
from pymc_bid.steps.warm_up import Chain, Fit, Setting, Sites, fit_state

LARGEST_ERROR = 0.3
"""Random part of the effects of the bounds, in units of their spread."""


@dataclass
class Camp:
    """A set of columns, its fit, and where to go from it; each is found when it is asked for."""

    state: NDArray[np.int64]
    noise_variance: float
    sites: Sites
    rate: float = 1.0
    """See `pymc_bid.steps.warm_up.fit_state`, as for the two before."""
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Columns that stay where they are in searches around this set, if it is an outpost."""
    searches: int = 0
    """How often it was searched around."""
    fit: Fit | None = None
    conditions: list[NDArray[np.float64]] = field(default_factory=list)
    """What the fit was made under."""
    effects: NDArray[np.float64] | None = None
    """What the bounds add to the log odds of each column."""
    openings: list[int] | None = None
    """Columns that a search may have to begin with, the most promising last."""

    def log_evidence(
        self, chain: Chain, similar: Likeness, setting: Setting, rival: float = -np.inf
    ) -> float:
        """Return how good the set is; fit it first, if it never was under these conditions."""
        conditions = [*similar.prior, similar.products.cross, setting.log_prior_odds]
        if not chain.noise_is_free:
            self.noise_variance = chain.typical_variance
            conditions.append(chain.noise_variance)
        conditions = [_compact(condition) for condition in conditions]
        known = self.fit is not None and all(map(np.array_equal, self.conditions, conditions))
        if not known:
            self.fit = fit_state(
                *(self.state, self.noise_variance, chain, similar, setting, self.sites),
                *(rival, self.rate),
            )
            self.noise_variance, self.rate = self.fit.noise_variance, self.fit.rate
            self.conditions = conditions
        return self.fit.log_evidence

    def find_effects(self, similar: Likeness, setting: Setting) -> NDArray[np.float64]:
        """Return what the bounds add to the log odds of each column, once the set is fitted."""
        if self.effects is None:
            self.effects = np.empty(self.state.size)
            bound_effects(
                *(self.state, self.noise_variance, similar.problem, *self.sites),
                *(self.fit.log_masses, setting.shared, self.effects),
            )
            # Squares of huge entries overflow.
            self.effects[~np.isfinite(self.effects)] = 0.0
        return self.effects

    def perturbed_effects(
        self, rng: np.random.Generator, similar: Likeness, setting: Setting
    ) -> NDArray[np.float64]:
        """Return a random share of the effects, with a random error."""
        effects = self.find_effects(similar, setting)
        inside = self.state == 1
        error = LARGEST_ERROR * rng.random() * effects.std() * rng.standard_normal(effects.size)
        share, correction = rng.random(2)
        # The bounds cost a column that is used more than one that would be added, so that every
        # exchange looks better than it is by the difference.
        if 0 < inside.sum() < inside.size:
            excess = effects[inside].mean() - effects[~inside].mean()
            effects = effects - correction * excess * inside
        return share * effects + error

    def rank_openings(self, similar: Likeness, setting: Setting, fixed_size: bool) -> None:
        """Find the columns whose move, with the best exchange, costs least."""
        gains = np.empty(self.state.size)
        log_odds = setting.log_prior_odds + self.find_effects(similar, setting)
        rank_openings(
            self.state, self.noise_variance, similar.problem, log_odds, not fixed_size, gains
        )
        order = np.argsort(gains)
        self.openings = order[np.isfinite(gains[order])].tolist()


def _compact(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a copy, for a chain writes over its arrays, with repeated entries once."""
    return array[tuple(slice(None if step else 1) for step in array.strides)].copy()
