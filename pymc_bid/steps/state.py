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

from pymc_bid.distributions.state_vector import SubsetRV
from pymc_bid.graph.roles import distribution_name, require_only_child
from pymc_bid.graph.values import active_columns
from pymc_bid.kernels.collapsed_flip import collapsed_flips
from pymc_bid.kernels.informed_moves import informed_moves
from pymc_bid.kernels.paper import flip_sweep, swap_once
from pymc_bid.kernels.residual import residual_cross_products
from pymc_bid.steps.annealing_scout import AnnealingScout
from pymc_bid.steps.base import DecompositionStep
from pymc_bid.steps.likeness import likeness
from pymc_bid.steps.moves import make_moves
from pymc_bid.steps.noise import can_draw_noise, sample_noise
from pymc_bid.steps.tabu_scout import TabuScout
from pymc_bid.steps.warm_up import Chain, Setting

SCHEMES = ("collapsed", "paper")

# How many other chosen columns give way when one goes in or out; drawn anew for each move. A few
# let a move through where many would meet a bound, many ("all", in practice) where they would not.
COMPANIONS = np.array([0, 1, 3, 32, 32, 32])
# How far the closed form without bounds is trusted where it proposes which columns to exchange.
POWERS = np.array([0.0, 0.5, 1.0, 1.0])
# Exchanges of a step where the number of columns is fixed.
SWAPS = 20
# The number of columns and the noise variance determine each other: flips and exchanges come in
# rounds, with draws of the noise variance in between.
ROUNDS = 4
# Columns whose log odds without bounds are below are not visited a second time in a sweep, and with
# the identity neither are those above: a visit to a column that is in is dear there.
HOPELESS, SURE = -20.0, 20.0
# Sweeps where the odds of a column depend on the others and have to be found for each visit.
ROUNDS_ONE_BY_ONE = 2


@dataclass_state
class StateStepState(StepMethodState):
    """What changes in a state step while a chain runs."""

    tune: bool
    started: bool
    scout: AnnealingScout | TabuScout


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
        Let a scout search for better states while tuning, see `pymc_bid.steps.warm_up`; only with
        the collapsed scheme.
    moves : sequence of functions
        Moves of your own, made after those of the scheme, see `pymc_bid.steps.moves.Move`.
    """

    _state_class = StateStepState
    fixed_size: ClassVar[bool]
    shown: ClassVar = {"K": ("K", "d")}

    def __init__(
        self, vars, *, scheme="collapsed", warm_up=True, moves=(), model=None, **arguments
    ):
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {SCHEMES}, got {scheme!r}.")
        super().__init__(vars, model=model, **arguments)
        state, prior = self.decomposition.roles.state, self.decomposition.joint.state_prior
        linear, further = prior.linear, prior.further
        if scheme == "paper" and (not linear or (self.fixed_size and further)):
            raise ValueError(
                f"scheme must be 'collapsed' where {state.name} enters "
                f"{', '.join(v.name for v in further)}, got 'paper'."
            )
        if moves and not linear:
            raise ValueError(
                f"moves can't be given where the odds of a column of {state.name} depend on the "
                "others even before the data."
            )
        self.moves = tuple(moves)
        # Where a draw of each entry by itself, or a search, may lead out of the prior, neither is.
        self.started = not (linear and _starts_together(state, modelcontext(model)))
        self.scheme = scheme
        self.draws_noise = all(
            can_draw_noise(part, modelcontext(model)) for part in self.decomposition.joint.parts
        )
        self.warm_up = warm_up and scheme == "collapsed" and linear
        has_identity = any(part.roles.own is not None for part in self.decomposition.joint.parts)
        self.scout: AnnealingScout | TabuScout = (
            AnnealingScout(self.fixed_size) if has_identity else TabuScout(self.fixed_size)
        )

    @classmethod
    def claimed(cls, decomposition, model):
        """r, if its prior is one that this step moves under, and ω² of the chosen columns."""
        joint = decomposition.joint
        roles, prior = decomposition.roles, joint.state_prior
        if prior is None:
            raise TypeError(f"{roles.state.name} is observed or data; there is nothing to move.")
        if not isinstance(roles.state.owner.op, BernoulliRV | SubsetRV):
            raise TypeError(
                f"{roles.state.name} is {distribution_name(roles.state)}; {cls.__name__} moves "
                "pm.Bernoulli and bid.StateVector. Another prior of 0/1 vectors can be written as "
                "a pm.Bernoulli with probability 1/2 and a pm.Potential."
            )
        if roles.fixed_size != cls.fixed_size:
            raise TypeError(
                f"{roles.state.name} has a {'fixed' if roles.fixed_size else 'free'} number of "
                f"ones; use {'SwapStep' if roles.fixed_size else 'FlipStep'}."
            )
        claimed = [roles.state]
        for part in joint.parts:
            roles = part.roles
            if roles.weights in prior.further or (roles.fixed_size and not prior.linear):
                # What is not linear in r is served where columns go in and out one at a time.
                require_only_child(roles.state, roles.likelihood, model)
            require_only_child(roles.weights, roles.likelihood, model)
            if roles.own is not None and roles.own.variance is not None:
                require_only_child(roles.own.variance, roles.likelihood, model)
                claimed.append(roles.own.variance)
        return claimed

    def step(self, point):
        """Update the state vector once."""
        joint = self.decomposition.joint
        products = joint.products()
        log_prior_odds = joint.log_prior_odds(point)
        own = joint.own_columns(point)
        chain = Chain(
            np.array(joint.state.read(point)),
            joint.weights(point),
            joint.noise_variance(point),
            joint.noise_is_free,
        )
        if self.tune and not self.started:
            chain.state = _started(self.rng, chain.state, log_prior_odds)
        self.started = True
        counts = dict.fromkeys(self.statistics, 0)
        waiting = False
        if self.tune and self.warm_up:
            setting = Setting(
                products, joint.shared, joint.weight_prior(point), own, log_prior_odds
            )
            moved = self.scout.advance(self.rng, chain, setting)
            waiting = self.scout.chain_waits
            if moved and chain.noise_is_free:
                point = joint.write_noise(chain.noise_variance, point)
        if not waiting:
            residual_cross = residual_cross_products(
                active_columns(chain.state), chain.weights, products
            )
            prior = joint.weight_prior(point)
            arrays = (chain.state, chain.weights, residual_cross, products, chain.noise_variance)
            arrays = (*arrays, prior, own, log_prior_odds)
            if self.scheme == "paper":
                counts |= self.paper(*arrays)
            elif joint.state_prior.linear:
                collapsed, point = self.collapsed(*arrays, point=point)
                counts |= collapsed
            else:
                counts |= self.one_by_one(*arrays, point=point)
            if self.moves:
                counts |= _counts(
                    moves=make_moves(self.moves, self.rng, *arrays, fixed_size=self.fixed_size)
                )
            if self.scheme == "collapsed" or self.moves:
                point = joint.write_weights(chain.weights, point)
            joint.offer_errors(chain.state, chain.weights, residual_cross)
        point = joint.state.write(chain.state, point)
        # Integrated out above, so they have to be drawn before anyone looks at them.
        point = joint.draw_own_variances(self.rng, chain.state, point)
        return point, self.report(**(counts | {"K": int(chain.state.sum())}))


class FlipStep(StateStep):
    """Flip the entries of a state vector with independent Bernoulli entries (ARD).

    One step visits every column once; with the collapsed scheme it visits those in doubt again,
    exchanges columns and draws σ² in between. Parameters as for `StateStep`: `scheme`, `warm_up`,
    `moves`.

    Examples
    --------
    >>> with bid.gbt(A) as model:
    ...     step = bid.FlipStep([model["r"]], scheme="paper")
    >>> point, (statistics,) = step.step(model.initial_point())
    >>> int(statistics["bid_K"]) == int(point["r"].sum())
    True
    """

    name = "bid_flip"
    fixed_size = False
    statistics: ClassVar = {
        "K": np.int64,
        "flips_tried": np.int64,
        "flips_accepted": np.int64,
        "swaps_tried": np.int64,
        "swaps_accepted": np.int64,
        "moves_tried": np.int64,
        "moves_accepted": np.int64,
    }

    def paper(self, *arrays):
        """One sweep of flips with the weights standing still."""
        *arrays, _, own, log_prior_odds = arrays
        return _counts(flips=flip_sweep(self.rng, *arrays, own, log_prior_odds), swaps=(0, 0))

    def collapsed(self, *arrays, point):
        """One sweep of collapsed flips; rounds of more for the columns in doubt, swaps, and σ²."""
        joint = self.decomposition.joint
        state, weights, residual_cross, products, noise_variance, prior, own, odds = arrays
        limits = (HOPELESS, SURE if own.has_identity else np.inf)
        # With more columns a flip is more often in vain, and an exchange is dearer.
        visits = min(max(odds.size // 100, 1), 3)
        exchanges = min(max(500 // odds.size, 2), 5)
        flips = np.array(collapsed_flips(self.rng, *arrays, COMPANIONS, np.arange(odds.size)))
        swaps = np.zeros(2, dtype=np.int64)
        for _ in range(ROUNDS):
            similar = likeness(products, noise_variance, prior, own).model
            flipped, swapped = informed_moves(
                *(self.rng, *arrays, COMPANIONS, similar, limits, visits, POWERS, exchanges)
            )
            flips += flipped
            swaps += swapped
            if self.draws_noise:
                # Copies, for these go on changing.
                joint.offer_errors(state.copy(), weights.copy(), residual_cross)
                for part, weights_of_part, variance in joint.apart(weights, noise_variance):
                    variance[:] = sample_noise(self.rng, part, state, weights_of_part, point)
        if self.draws_noise:
            point = joint.write_noise(noise_variance, point)
        return _counts(flips=flips, swaps=swaps), point

    def one_by_one(self, state, *arrays, point):
        """Sweeps of collapsed flips, each with the odds that the other columns leave it."""
        *arrays, log_prior_odds = arrays
        log_further = self.decomposition.joint.state_prior.log_further
        present = log_further(state, point)
        flips = np.zeros(2, dtype=np.int64)
        for column in np.tile(np.arange(state.size), ROUNDS_ONE_BY_ONE):
            before, flipped = state[column], state.copy()
            flipped[column] = 1 - before
            changed = log_further(flipped, point)
            odds = log_prior_odds.copy()
            odds[column] += changed - present if before == 0 else present - changed
            flips += collapsed_flips(self.rng, state, *arrays, odds, COMPANIONS, np.array([column]))
            if state[column] != before:
                present = changed
        return _counts(flips=flips, swaps=(0, 0))


class SwapStep(StateStep):
    """Exchange chosen and unchosen columns of a state vector with a fixed number of ones.

    Parameters as for `StateStep`: `scheme`, `warm_up`, `moves`.

    Examples
    --------
    >>> with bid.gbt(A, k=2) as model:
    ...     step = bid.SwapStep([model["r"]])
    >>> point, _ = step.step(model.initial_point())
    >>> int(point["r"].sum())
    2
    """

    name = "bid_swap"
    fixed_size = True
    statistics: ClassVar = {
        "K": np.int64,
        "swaps_tried": np.int64,
        "swaps_accepted": np.int64,
        "moves_tried": np.int64,
        "moves_accepted": np.int64,
    }

    def paper(self, *arrays):
        """Try one exchange with the weights standing still."""
        *arrays, _, own, _ = arrays
        return _counts(swaps=swap_once(self.rng, *arrays, own))

    def collapsed(self, *arrays, point):
        """Try collapsed exchanges."""
        *_, products, noise_variance, prior, own, _ = arrays
        similar = likeness(products, noise_variance, prior, own).model
        limits = (HOPELESS, np.inf)
        _, swaps = informed_moves(
            *(self.rng, *arrays, COMPANIONS, similar, limits, 0, POWERS, SWAPS)
        )
        return _counts(swaps=swaps), point


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
