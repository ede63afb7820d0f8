"""What the steps for the state vector r have in common."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pymc.model import modelcontext
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state
from pytensor.tensor.random.basic import BernoulliRV

from pymc_bid.distributions.subset import ChoiceRV
from pymc_bid.graph.roles import distribution_name, require_only_child
from pymc_bid.graph.values import Point, active_columns
from pymc_bid.kernels.exact.exchange import visit_targets
from pymc_bid.kernels.exact.surrogate import find_evidence
from pymc_bid.kernels.residual import residual_cross_products
from pymc_bid.steps.base import DecompositionStep
from pymc_bid.steps.closed_form import freeze
from pymc_bid.steps.exchange import Conditional, Frozen, Given
from pymc_bid.steps.first_state import draw_first_state, starts_together, thin_out
from pymc_bid.steps.ladder import Ladder
from pymc_bid.steps.marginal import MarginalBuilder
from pymc_bid.steps.moves import make_moves
from pymc_bid.steps.noise import NoiseStep, can_draw_noise
from pymc_bid.steps.starting_point import (
    check_number_of_ones,
    check_odds,
    check_same_shape,
)
from pymc_bid.steps.weights import WeightStep

SCHEMES = ("collapsed", "paper")
REFRESH = 10
"""Iterations of tuning between two looks at what the closed form takes from the rest of the model,
where that is sampled too."""


@dataclass_state
class StateStepState(StepMethodState):
    """What changes in a state step while a chain runs."""

    tune: bool
    started: bool
    ladder: Ladder
    frozen: Frozen | None


class StateStep(DecompositionStep):
    """What flips and swaps have in common.

    Parameters
    ----------
    vars : random variable
        The state vector.
    scheme : {"collapsed", "paper"}
        "collapsed": sets of columns come from a ladder of replicas that move on the closed form
        without weights, and an exact exchange gives them weights within their bounds.
        "paper": the update of the paper, which leaves the weights alone and hardly ever moves.
    warm_up : bool
        Whether there is a ladder of temperatures; without one, a single replica moves beside the
        chain. Only with the collapsed scheme.
    moves : sequence of functions
        Moves of your own, made after those of the scheme, see `pymc_bid.steps.moves.Move`.
    """

    _state_class = StateStepState
    fixed_size: ClassVar[bool]
    shown: ClassVar = {"K": ("K", "d", 0)}

    def __init__(
        self, vars, *, scheme="collapsed", warm_up=True, moves=(), model=None, **arguments
    ):
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {SCHEMES}, got {scheme!r}.")
        super().__init__(vars, model=model, **arguments)
        joint = self.decomposition.joint
        state, prior = self.decomposition.roles.state, joint.state_prior
        linear, independent = prior.linear, prior.linear and not prior.knows_size
        if scheme == "paper" and (not independent or (self.fixed_size and prior.names)):
            raise ValueError(
                f"scheme must be 'collapsed' where the prior of {state.name} has {prior.names}; "
                "got 'paper'."
            )
        if moves and not independent:
            raise ValueError(
                f"moves can't be given where the odds of a column of {state.name} depend on the "
                "others even before the data."
            )
        self.moves = tuple(moves)
        # Where a draw of each entry by itself may lead out of the prior, none is made.
        self.started = not (linear and starts_together(state, modelcontext(model)))
        self.scheme = scheme
        noise_is_free = all(can_draw_noise(part, modelcontext(model)) for part in joint.parts)
        self._builder = MarginalBuilder(joint, noise_is_free)
        joint.refresh()
        self._shape = joint.products().cross.shape
        self._given: Given | None = None
        self.ladder = Ladder(self.fixed_size, self._builder.given_noise, warm_up)
        self.frozen: Frozen | None = None

    @classmethod
    def claimed(cls, decomposition, model):
        """r, if its prior is one that this step moves under, and ω² of the chosen columns."""
        joint = decomposition.joint
        roles, prior = decomposition.roles, joint.state_prior
        if prior is None:
            raise TypeError(f"{roles.state.name} is observed or data; there is nothing to move.")
        if not isinstance(roles.state.owner.op, BernoulliRV | ChoiceRV):
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

    def check_start(self, point):
        """Refuse a point with another number of ones than the prior has, or no prior, too."""
        super().check_start(point)
        joint = self.decomposition.joint
        check_number_of_ones(joint, point)
        check_odds(joint, point)
        check_same_shape(joint, self._shape)

    def update(self, point):
        """Update the state vector once."""
        joint = self.decomposition.joint
        if self.tune and not self.started:
            point = draw_first_state(self.rng, joint, point)
        self.started = True
        first = self.scheme == "collapsed" and self.ladder.replicas is None
        if self.tune and first and not self.fixed_size and joint.state_prior.linear:
            point = thin_out(self.rng, joint, point)
        counts = dict.fromkeys(self.statistics, 0)
        update, point = (self._paper if self.scheme == "paper" else self._collapsed)(point)
        counts |= update
        if self.moves:
            update, point = self._own_moves(point)
            counts |= update
        state = joint.state.read(point)
        # Integrated out above, so they have to be drawn before anyone looks at them.
        point = joint.draw_own_variances(self.rng, state, point)
        return point, self.report(**(counts | {"K": np.count_nonzero(state)}))

    def halves_to_compile(self, model, point):
        """Return what moves the ladder, and what draws weights."""
        if self.scheme == "paper":
            return None

        def ladder():
            with visit_targets.postponed():
                frozen, conditional = self._closed_form(point), self._conditional(point)
                self.ladder.compile_for(self.rng, frozen.marginal, frozen.box)
                if not self._builder.given_noise and self._builder.noise_is_free:
                    chain = conditional.chain()
                    # Without bounds, whose mass is found by what is postponed.
                    noise = find_evidence(chain.state, False, frozen.marginal, frozen.box)[2:]
                    conditional.noise_proposal(self.rng, True, chain, noise, frozen.marginal)

        def weights():
            conditional = self._conditional(point)
            chain = conditional.chain()
            conditional.log_density(self.rng, True, chain)
            conditional.write(self.rng, chain, chain)
            # Made after this step as a rule, and rehearsed then, when there is no other half.
            for part in self.decomposition.joint.parts:
                WeightStep([part.roles.weights], model=model, initial_point=point)
                if part.roles.noise is not None:
                    NoiseStep([part.roles.noise], model=model, initial_point=point)

        return ladder, weights

    def _collapsed(self, point: Point) -> tuple[dict[str, int], Point]:
        """Advance the ladder and, every other time, offer the chain an exchange with it."""
        ladder, joint = self.ladder, self.decomposition.joint
        frozen = self._closed_form(point)
        counts = {"round_trips": ladder.advance(self.rng, frozen.marginal, frozen.box)}
        offers = ladder.offers_exchange
        if offers or not frozen.is_exact:
            conditional = self._conditional(point)
            chain = conditional.chain()
            propose = conditional.propose if offers else conditional.propose_beside
            proposed = propose(self.rng, ladder, chain, frozen, self.tune)
            moves = {"exchanges" if offers else "neighbours": (1, proposed is not None)}
            counts |= counts_of(**moves)
            if offers and self.tune:
                ladder.learn_bias(chain.state, conditional.log_ratio, proposed is not None)
            if proposed is not None:
                # While tuning a set that the ladder has left behind is not given back to it.
                if offers and not self.tune:
                    free = chain.log_variances if self._builder.noise_is_free else np.empty(0)
                    ladder.exchange(chain.state, free - frozen.marginal.log_unit)
                point = conditional.write(self.rng, chain, proposed)
        if not joint.state_prior.linear:
            flips, point = self._local(point)
            counts |= flips
        return counts, point

    def _conditional(self, point: Point) -> Conditional:
        joint = self.decomposition.joint
        # Where the closed form is the model's, nothing that it depends on changes.
        if self._given is None or not self.frozen.is_exact:
            self._given = Given.at(joint, self._builder, point)
        return Conditional(joint, self._builder, self._given, point)

    def _closed_form(self, point: Point) -> Frozen:
        """Return the closed form, which follows the model while tuning and is frozen then."""
        ladder, joint = self.ladder, self.decomposition.joint
        if (
            self.tune
            and ladder.replicas is not None
            and ladder.adapt(self.frozen.marginal, self.frozen.box)
        ):
            log_odds = self.frozen.marginal.log_odds + (ladder.bias - self.frozen.bias)
            marginal = self.frozen.marginal._replace(log_odds=log_odds)
            self.frozen = self.frozen._replace(marginal=marginal, bias=ladder.bias)
        is_current = self.frozen is not None and self._builder.is_current
        if self.frozen is None or (
            self.tune
            and not (is_current and self.frozen.is_exact)
            and self.rng.integers(REFRESH) == 0
        ):
            self.freeze(point, joint.log_prior_odds(point) + ladder.bias, ladder.bias)
            ladder.is_new = True
        elif self.frozen.is_exact and not is_current:
            # After tuning: other data, for which the closed form is an approximation.
            self.frozen = self.frozen._replace(is_exact=False)
        if ladder.replicas is None:
            ladder.start(self.rng, *self.frozen[:2], joint.state.read(point))
        return self.frozen

    def freeze(self, point: Point, log_odds: NDArray[np.float64], bias: float) -> None:
        """Take the closed form at a point, see `closed_form.freeze`."""
        self.frozen = freeze(self.decomposition.joint, self._builder, point, log_odds, bias)
        self._given = None

    def _own_moves(self, point: Point) -> tuple[dict[str, int], Point]:
        joint = self.decomposition.joint
        arrays = self._arrays(point)
        tried = make_moves(self.moves, self.rng, *arrays, fixed_size=self.fixed_size)
        point = joint.write_weights(arrays[1], joint.state.write(arrays[0], point))
        return counts_of(moves=tried), point

    def _arrays(self, point: Point) -> tuple:
        """Return what the paper's updates and a user's moves are given."""
        joint = self.decomposition.joint
        state, weights = np.array(joint.state.read(point)), joint.weights(point)
        products = joint.products()
        cross = residual_cross_products(active_columns(state), weights, products)
        return (
            *(state, weights, cross, products, joint.noise_variance(point)),
            *(joint.weight_prior(point), joint.own_columns(point), joint.log_prior_odds(point)),
        )

    def _paper(self, point: Point) -> tuple[dict[str, int], Point]:
        arrays = self._arrays(point)
        counts = self.paper(*arrays)
        return counts, self.decomposition.joint.state.write(arrays[0], point)


def statistics_of(moves: str) -> dict[str, type]:
    """Name what a step reports that makes `moves` in the paper's scheme."""
    kinds = ("exchanges", "neighbours", moves, "moves")
    counts = [f"{kind}_{name}" for kind in kinds for name in ("tried", "accepted")]
    return dict.fromkeys(["K", "round_trips", *counts], np.int64)


def counts_of(**moves) -> dict[str, int]:
    """Name how many moves of each kind were tried and accepted."""
    return {
        f"{move}_{name}": int(count)
        for move, pair in moves.items()
        for name, count in zip(("tried", "accepted"), pair, strict=True)
    }
