"""The steps for the state vector r: flips where K is free, swaps where it is fixed."""

from typing import ClassVar

import numpy as np

from pymc_bid.graph.roles import require_only_child
from pymc_bid.kernels.collapsed_flip import collapsed_flip_sweep
from pymc_bid.kernels.collapsed_swap import collapsed_swaps
from pymc_bid.kernels.paper import flip_sweep, swap_once
from pymc_bid.kernels.residual import residual_cross_products
from pymc_bid.steps.base import DecompositionStep, active_columns

SCHEMES = ("collapsed", "paper")


class StateStep(DecompositionStep):
    """What flips and swaps have in common.

    Parameters
    ----------
    vars : random variable
        The state vector.
    scheme : {"collapsed", "paper"}
        "paper": the update of the paper, which leaves the weights alone. "collapsed": the weights
        of the columns that move are integrated out and drawn anew.
    """

    fixed_size: ClassVar[bool]

    def __init__(self, vars, *, scheme="collapsed", **arguments):
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {SCHEMES}, got {scheme!r}.")
        super().__init__(vars, **arguments)
        self.scheme = scheme

    @classmethod
    def claimed(cls, decomposition, model):
        """r, if its prior is one that this step moves under."""
        roles = decomposition.roles
        if roles.fixed_size != cls.fixed_size:
            raise TypeError(
                f"{roles.state.name} has a {'fixed' if roles.fixed_size else 'free'} number of "
                f"ones; use {'SwapStep' if roles.fixed_size else 'FlipStep'}."
            )
        require_only_child(roles.state, roles.likelihood, model)
        require_only_child(roles.weights, roles.likelihood, model)
        return [roles.state]

    def step(self, point):
        """Update the state vector once."""
        decomposition = self.decomposition
        data = decomposition.regression()
        state = np.array(decomposition.state.read(point))
        weights = np.array(decomposition.weights.read(point), order="C")
        noise_variance = decomposition.noise_variance(point)
        residual_cross = residual_cross_products(
            active_columns(state), weights, data.gram, data.cross
        )
        log_prior_odds = decomposition.log_prior_odds(point)
        if self.scheme == "paper":
            counts = self.paper(
                state, weights, residual_cross, data.gram, noise_variance, log_prior_odds
            )
        else:
            prior = decomposition.weight_prior(point)
            counts = self.collapsed(
                *(state, weights, residual_cross, data.gram, noise_variance, *prior),
                log_prior_odds,
            )
            point = decomposition.weights.write(weights, point)
        point = decomposition.state.write(state, point)
        return point, self.report(K=int(state.sum()), **counts)


class FlipStep(StateStep):
    """Flip the entries of a state vector with independent Bernoulli entries (ARD).

    One step visits every column once; with the collapsed scheme it also exchanges columns.
    """

    name = "bid_flip"
    fixed_size = False
    statistics: ClassVar = {
        "K": np.int64,
        "flips_tried": np.int64,
        "flips_accepted": np.int64,
        "swaps_tried": np.int64,
        "swaps_accepted": np.int64,
    }

    def paper(self, *arrays):
        """One sweep of flips with the weights standing still."""
        tried, accepted = flip_sweep(self.rng, *arrays)
        return _counts(flips=(tried, accepted), swaps=(0, 0))

    def collapsed(self, *arrays):
        """One sweep of collapsed flips, then collapsed swaps."""
        flips = collapsed_flip_sweep(self.rng, *arrays, COMPANION_SIZES)
        swaps = collapsed_swaps(self.rng, *arrays, number_of_swaps(arrays[0]), COMPANION_SIZES)
        return _counts(flips=flips, swaps=swaps)


class SwapStep(StateStep):
    """Exchange chosen and unchosen columns of a state vector with a fixed number of ones."""

    name = "bid_swap"
    fixed_size = True
    statistics: ClassVar = {"K": np.int64, "swaps_tried": np.int64, "swaps_accepted": np.int64}

    def paper(self, state, weights, residual_cross, gram, noise_variance, _):
        """Try one exchange with the weights standing still."""
        return _counts(
            swaps=swap_once(self.rng, state, weights, residual_cross, gram, noise_variance)
        )

    def collapsed(self, *arrays):
        """Try collapsed exchanges."""
        return _counts(
            swaps=collapsed_swaps(self.rng, *arrays, number_of_swaps(arrays[0]), COMPANION_SIZES)
        )


def _counts(**moves: tuple[int, int]) -> dict[str, int]:
    return {
        f"{move}_{name}": count
        for move, pair in moves.items()
        for name, count in zip(("tried", "accepted"), pair, strict=True)
    }


COMPANION_SIZES = np.array([0, 1, 3])


def number_of_swaps(state: np.ndarray) -> int:
    """One swap for each chosen column."""
    return int(state.sum())
