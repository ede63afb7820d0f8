"""Warm-up of the state vector: a chain is moved to a state with a higher evidence.

Who finds that state is a scout: `pymc_bid.steps.tabu_scout` or, in the model with the identity,
`pymc_bid.steps.annealing_scout`. Here is what both have in common.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.bounded_evidence import bounded_fit
from pymc_bid.regression import Products
from pymc_bid.steps.likeness import Likeness, likeness

LARGEST_NUMBER_OF_FITS = 10
OUT_OF_REACH = 30.0
"""How much lower the log evidence of a state is than its rival's if it is of no interest."""
NEGLIGIBLE = 0.02
"""What is left to gain in log evidence when fitting ends."""
USUAL_RATE, LARGEST_RATE = 4.0, 50.0
"""How many times as long as a step of expectation-maximisation the way to the end is."""
LARGEST_LOG_VARIANCE = float(np.log(np.finfo(np.float64).max)) - 10.0
"""With room for targets that are noisier than others."""


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

    def move(self, state: NDArray[np.int64], fit: "Fit", similar: Likeness, prior: WeightPrior):
        """Go to another state, with the weights and the noise variance that fit."""
        # Another unit may take a weight over its bound by rounding.
        inside = np.nextafter(prior.lower, prior.upper), np.nextafter(prior.upper, prior.lower)
        self.state = state.copy()
        self.weights = np.clip(fit.weights / similar.root, *inside)
        self.noise_variance = self.noise_variance * (fit.noise_variance / self.typical_variance)


class Setting(NamedTuple):
    """The data and the prior that a scout searches under."""

    products: Products
    shared: bool
    """Whether the pool is the target."""
    prior: WeightPrior
    own: OwnColumns
    log_prior_odds: NDArray[np.float64]

    def likeness(self, chain: Chain) -> Likeness:
        """Return the model of the closed form, at the noise variances of a chain."""
        return likeness(self.products, chain.noise_variance, self.prior, self.own)


class Sites(NamedTuple):
    """Normal factors that stand for the bounds, see `pymc_bid.kernels.propagation`, (L, N) each."""

    precision: NDArray[np.float64]
    linear: NDArray[np.float64]

    @classmethod
    def none(cls, products: Products) -> "Sites":
        """Factors to start from where nothing is known."""
        columns, targets = products.cross.shape
        return cls(np.zeros((targets, columns)), np.zeros((targets, columns)))

    def copy(self) -> "Sites":
        """Return factors that can be changed by themselves."""
        return Sites(self.precision.copy(), self.linear.copy())


class Fit(NamedTuple):
    """A state at its best noise variance, with the bounds."""

    log_evidence: float
    noise_variance: float
    rate: float
    """How many times as long as the steps of expectation-maximisation the way was."""
    weights: NDArray[np.float64]
    """Posterior mean where columns are active, in the units of the likeness, (N, L)."""
    log_masses: NDArray[np.float64]
    """What the bounds leave to each target, (L,)."""


def noise_floor(chain: Chain, products: Products) -> float:
    """Return below what no noise variance is searched: data fitted exactly have no other end."""
    mean_square = products.squares.sum() / max(products.rows.sum(), 1.0)
    least = min(chain.typical_variance / 2, mean_square / 1000)
    return max(least, np.finfo(np.float64).tiny)


def fit_state(
    state: NDArray[np.int64],
    noise_variance: float,
    chain: Chain,
    similar: Likeness,
    setting: Setting,
    sites: Sites,
    rival: float = -np.inf,
    rate: float = 1.0,
) -> Fit:
    """Fit a state, from a noise variance and from factors, which are changed in place.

    Expectation-maximisation, sped up by secants: each step is dear, and with many columns it closes
    only a small part of the distance. `rate` is how many times as long the first step is. The noise
    variance of a chain that can't be moved to another one stays. Fitting ends early where a log
    evidence as high as that of a `rival` is out of reach.
    """
    floor = noise_floor(chain, similar.products)
    # Columns that are forced in or out are so in every state.
    odds = np.where(np.isfinite(setting.log_prior_odds), setting.log_prior_odds, 0.0)
    weights, log_masses = chain.weights * similar.root, np.empty(chain.weights.shape[1])
    log_floor = float(np.log(floor))
    log_variance = float(np.log(max(noise_variance, floor)))
    entries = similar.products.rows.sum()
    evidence, before, distance, step = -np.inf, 0.0, 0.0, 0.0
    for _ in range(LARGEST_NUMBER_OF_FITS):
        variance = float(np.exp(log_variance))
        evidence, bounded, _ = bounded_fit(
            state, variance, similar.problem, odds, *sites, weights, log_masses
        )
        before, distance = distance, float(np.log(max(bounded, floor))) - log_variance
        if step * (before - distance) > 0:
            rate = min(max(step / (before - distance), 1.0), LARGEST_RATE)
        # By half the distance to the end times the slope, which expectation-maximisation tells.
        remaining = 0.25 * entries * max(rate, USUAL_RATE) * distance**2
        is_out_of_reach = not evidence + remaining > rival - OUT_OF_REACH
        if is_out_of_reach or remaining < NEGLIGIBLE or not chain.noise_is_free:
            break
        target = min(max(log_variance + rate * distance, log_floor), LARGEST_LOG_VARIANCE)
        log_variance, step = target, target - log_variance
    return Fit(evidence, variance, rate, weights, log_masses)
