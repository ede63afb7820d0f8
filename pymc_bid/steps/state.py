"""The steps for the state vector r: flips where K is free, swaps where it is fixed."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model, modelcontext
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV
from scipy.special import expit

from pymc_bid.graph.roles import require_only_child
from pymc_bid.kernels.collapsed_flip import collapsed_flips
from pymc_bid.kernels.collapsed_swap import collapsed_swaps
from pymc_bid.kernels.focused_flip import focused_flips
from pymc_bid.kernels.paper import flip_sweep, swap_once
from pymc_bid.kernels.residual import residual_cross_products
from pymc_bid.steps.base import DecompositionStep, active_columns
from pymc_bid.steps.warm_up import Chain, Scout

SCHEMES = ("collapsed", "paper")

# How many other chosen columns give way when one goes in or out; drawn anew for each move. A few
# let a move through where many would meet a bound, many ("all", in practice) where they would not.
FLIP_COMPANIONS = np.array([0, 1, 3, 32, 32, 32])
SWAP_COMPANIONS = np.array([0, 1, 3])
SWAPS = 20
# Columns whose log odds without bounds are below are not visited a second time in a sweep, and with
# the identity neither are those above: a visit to a column that is in is dear there.
HOPELESS, SURE = -20.0, 20.0


@dataclass_state
class StateStepState(StepMethodState):
    """What changes in a state step while a chain runs."""

    tune: bool
    started: bool
    scout: Scout


class StateStep(DecompositionStep):
    """What flips and swaps have in common.

    Parameters
    ----------
    vars : random variable
        The state vector.
    scheme : {"collapsed", "paper"}
        "collapsed": the weights of the columns that move are integrated out and drawn anew.
        "paper": the update of the paper, which leaves the weights alone and hardly ever moves.
    warm_up : bool
        Let a scout search for better states while tuning, see `pymc_bid.steps.warm_up.Scout`; only
        with the collapsed scheme.
    """

    _state_class = StateStepState
    fixed_size: ClassVar[bool]
    shown: ClassVar = {"K": ("K", "d")}

    def __init__(self, vars, *, scheme="collapsed", warm_up=True, model=None, **arguments):
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {SCHEMES}, got {scheme!r}.")
        super().__init__(vars, model=model, **arguments)
        self.started = not _starts_together(self.decomposition.roles.state, modelcontext(model))
        self.scheme = scheme
        self.warm_up = warm_up and scheme == "collapsed"
        self.scout = Scout()

    @classmethod
    def claimed(cls, decomposition, model):
        """r, if its prior is one that this step moves under, and ω² of the chosen columns."""
        roles = decomposition.roles
        if roles.fixed_size != cls.fixed_size:
            raise TypeError(
                f"{roles.state.name} has a {'fixed' if roles.fixed_size else 'free'} number of "
                f"ones; use {'SwapStep' if roles.fixed_size else 'FlipStep'}."
            )
        require_only_child(roles.state, roles.likelihood, model)
        require_only_child(roles.weights, roles.likelihood, model)
        if roles.own is None or roles.own.variance is None:
            return [roles.state]
        require_only_child(roles.own.variance, roles.likelihood, model)
        return [roles.state, roles.own.variance]

    def step(self, point):
        """Update the state vector once."""
        decomposition = self.decomposition
        data = decomposition.regression()
        log_prior_odds = decomposition.log_prior_odds(point)
        own = decomposition.own_columns(point)
        chain = Chain(
            np.array(decomposition.state.read(point)),
            np.array(decomposition.weights.read(point), order="C"),
            decomposition.noise_variance(point),
        )
        if self.tune and not self.started:
            chain.state = _started(self.rng, chain.state, log_prior_odds)
        self.started = True
        counts = dict.fromkeys(self.statistics, 0)
        waiting = False
        prior = decomposition.weight_prior(point)
        if self.tune and self.warm_up:
            moved = self.scout.advance(
                self.rng, chain, data, prior, own, log_prior_odds, self.fixed_size
            )
            waiting = self.scout.cycles == 0
            if moved and decomposition.noise is not None:
                point = decomposition.noise.write(chain.noise_variance, point)
        if not waiting:
            residual_cross = residual_cross_products(
                active_columns(chain.state), chain.weights, data.gram, data.cross
            )
            arrays = (chain.state, chain.weights, residual_cross, data.gram, chain.noise_variance)
            if self.scheme == "paper":
                counts |= self.paper(*arrays, own, log_prior_odds)
            else:
                counts |= self.collapsed(*arrays, prior, own, log_prior_odds, cross=data.cross)
                point = decomposition.weights.write(chain.weights, point)
        point = decomposition.state.write(chain.state, point)
        if decomposition.own is not None and decomposition.own.variance is not None:
            # Integrated out above, so it has to be drawn before anyone looks at it.
            variance = decomposition.own.draw_variance(self.rng, chain.state, point)
            point = decomposition.own.variance.write(variance, point)
        return point, self.report(**(counts | {"K": int(chain.state.sum())}))


class FlipStep(StateStep):
    """Flip the entries of a state vector with independent Bernoulli entries (ARD).

    One step visits every column once; with the collapsed scheme it visits those in doubt again and
    exchanges columns. Parameters as for `StateStep`: `scheme`, `warm_up`.
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
        return _counts(flips=flip_sweep(self.rng, *arrays), swaps=(0, 0))

    def collapsed(self, *arrays, cross):
        """One sweep of collapsed flips, more for the columns in doubt, then collapsed swaps."""
        rounds = min(max(cross.shape[0] // 25, 3), 10)
        everyone = np.arange(cross.shape[0])
        sweep = collapsed_flips(self.rng, *arrays, FLIP_COMPANIONS, everyone)
        highest = np.inf if self.decomposition.own is None else SURE
        focused = focused_flips(
            self.rng, *arrays, FLIP_COMPANIONS, cross, HOPELESS, highest, rounds
        )
        swaps = collapsed_swaps(self.rng, *arrays, SWAPS, SWAP_COMPANIONS)
        return _counts(flips=np.add(sweep, focused), swaps=swaps)


class SwapStep(StateStep):
    """Exchange chosen and unchosen columns of a state vector with a fixed number of ones.

    Parameters as for `StateStep`: `scheme`, `warm_up`.
    """

    name = "bid_swap"
    fixed_size = True
    statistics: ClassVar = {"K": np.int64, "swaps_tried": np.int64, "swaps_accepted": np.int64}

    def paper(self, *arrays):
        """Try one exchange with the weights standing still."""
        return _counts(swaps=swap_once(self.rng, *arrays[:-1]))

    def collapsed(self, *arrays, cross):
        """Try collapsed exchanges."""
        return _counts(swaps=collapsed_swaps(self.rng, *arrays, SWAPS, SWAP_COMPANIONS))


def _starts_together(state: Variable, model: Model) -> bool:
    """Whether PyMC starts every chain from the same state, which would hide a stuck sampler.

    A `StateVector` starts from a draw; a plain `pm.Bernoulli` does not.
    """
    # Not by `model.set_initval`: PyMC can't copy models with initial values of their own, and does
    # so for log likelihoods.
    return type(state.owner.op) is BernoulliRV and model.rvs_to_initial_values[state] is None


def _started(
    rng: np.random.Generator, state: NDArray[np.int64], log_prior_odds: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return a draw from the prior if the state is the support point, else the state."""
    if not np.array_equal(state, log_prior_odds >= 0):
        return state
    return (rng.random(state.size) < expit(log_prior_odds)).astype(state.dtype)


def _counts(**moves: tuple[int, int]) -> dict[str, int]:
    return {
        f"{move}_{name}": int(count)
        for move, pair in moves.items()
        for name, count in zip(("tried", "accepted"), pair, strict=True)
    }
