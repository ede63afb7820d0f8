"""The exchange of a chain with the first replica of its ladder."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.joint import Joint
from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import Point
from pymc_bid.kernels.exact.exchange import (
    draw_unused_weights,
    make_regressions,
    weigh_weights,
)
from pymc_bid.kernels.exact.hierarchy import draw_hyperparameters, log_hierarchical_ratio
from pymc_bid.kernels.exact.surrogate import find_evidence, log_marginal_at, propose_noise
from pymc_bid.kernels.marginal.evidence import NoiseDensities, log_evidence
from pymc_bid.kernels.types import Box, Marginal, Regressions
from pymc_bid.steps.ladder import Ladder
from pymc_bid.steps.marginal import MarginalBuilder
from pymc_bid.steps.settings import MOST_KNOWN

NoiseOfSet = tuple[NDArray[np.float64], NoiseDensities]
"""What noise variances are proposed from, see `propose_noise`."""


class ChainState(NamedTuple):
    """Where a chain is."""

    state: NDArray[np.int64]
    """r, (N,)."""
    weights: NDArray[np.float64]
    """Y, (N, L)."""
    log_variances: NDArray[np.float64]
    """log σ² of each noise variance, (S,)."""


class Frozen(NamedTuple):
    """The closed form that a ladder moves on."""

    marginal: Marginal
    box: Box
    is_exact: bool
    """Whether it is the model at hand, but for the bounds and the bias."""
    known: dict[tuple[bool, bytes], tuple[float, NoiseOfSet]]
    """What `bounded_evidence` found, by set."""
    bias: float
    """What was added to the log odds of every column, see `Ladder.bias`."""
    point: Point
    """Where the model was when this was made of it."""

    def bounded_evidence(
        self, state: NDArray[np.int64], ladder: Ladder
    ) -> tuple[float, NoiseOfSet]:
        """Return about the log evidence of a set, with bounds if the ladder knows them.

        And what its noise variances are proposed from.
        """
        key = (ladder.knows_bounds, state.tobytes())
        if key not in self.known:
            if len(self.known) == MOST_KNOWN:
                self.known.pop(next(iter(self.known)))
            found = find_evidence(state, ladder.knows_bounds, self.marginal, self.box)
            self.known[key] = (found[0] + found[1], found[2:])
        return self.known[key]


class Given(NamedTuple):
    """What the distribution of (r, σ², Y) depends on of everything else that is in a point."""

    regressions: Regressions
    """A truncated normal prior stands for the hierarchy of GBTN."""
    hyperpriors: list
    """See `Joint.hyperpriors`."""
    own: OwnColumns
    log_odds: NDArray[np.float64]
    """Of each column before the data, (N,)."""
    log_sizes: NDArray[np.float64]
    """What the prior adds for the number of chosen columns, (N + 1,)."""
    group: NDArray[np.int64]
    """Which noise variance each target has, (L,)."""
    first: NDArray[np.int64]
    """A target with each noise variance, (S,)."""
    noise_prior: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    """Shape and scale, None where noise variances are not drawn."""

    @classmethod
    def at(cls, joint: Joint, builder: MarginalBuilder, point: Point) -> "Given":
        """Read it from a point."""
        group, own = builder.groups(), joint.own_columns(point)
        return cls(
            regressions=make_regressions(
                joint.products(), joint.proposal_prior(point), own.targets
            ),
            hyperpriors=joint.hyperpriors(point),
            own=own,
            log_odds=joint.log_prior_odds(point),
            log_sizes=joint.log_prior_sizes(point),
            group=group,
            first=np.unique(group, return_index=True)[1],
            noise_prior=builder.noise_prior(point) if builder.noise_is_free else None,
        )


class Conditional:
    """The distribution of (r, σ², Y) given everything else that is in the point.

    With the hyperparameters of GBTN integrated out: a truncated normal prior stands for the
    hierarchy where weights are proposed, and the ratio of the two densities corrects for it.
    """

    def __init__(self, joint: Joint, builder: MarginalBuilder, given: Given, point: Point):
        self._joint = joint
        self._builder = builder
        self._noise_is_free = builder.noise_is_free
        self._given = given
        self._point = point
        self.noise_variance = joint.noise_variance(point)
        self.log_ratio = np.nan
        """Of the weights of what was proposed last and of the chain."""

    def chain(self) -> ChainState:
        """Return where the chain is."""
        return ChainState(
            np.array(self._joint.state.read(self._point)),
            self._joint.weights(self._point),
            np.log(self.noise_variance[self._given.first]),
        )

    def variance_of_targets(self, log_variances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return σ² of each target, (L,)."""
        if not self._noise_is_free:
            return self.noise_variance
        return np.exp(log_variances)[self._given.group]

    def log_density(self, rng, drawing: bool, chain: ChainState) -> float:
        """Return log [p(A, r, σ², Y) / q(Y | r, σ²)], with weights drawn from q if asked for."""
        state, _, log_variances = chain
        total = self.log_prior(state) + self._given.own.log_densities[state == 1].sum()
        if total == -np.inf:
            return total
        if self._given.noise_prior is not None:
            shape, scale = self._given.noise_prior
            total -= (shape * log_variances + scale * np.exp(-log_variances)).sum()
        return float(total + sum(self._weigh(rng, drawing, chain)[:2]))

    def _weigh(
        self, rng, drawing: bool, chain: ChainState
    ) -> tuple[float, float, NDArray[np.float64]]:
        """Return what the weights add to w, the log evidence without bounds, and the masses."""
        state, weights, log_variances = chain
        log_ratio, log_evidence, log_masses = weigh_weights(
            *(rng, drawing, state, weights, self.variance_of_targets(log_variances)),
            self._given.regressions,
        )
        for _, prior, hyperprior, targets in self._given.hyperpriors:
            interpolated = self._interpolated(state)[targets]
            log_ratio += log_hierarchical_ratio(
                state, weights[:, targets], prior, hyperprior, interpolated
            )
        return log_ratio, log_evidence, log_masses

    def _log_weight(
        self, rng, drawing: bool, chain: ChainState, frozen: Frozen, ladder: Ladder
    ) -> float:
        """Return log w of a state, with noise variances and weights drawn if asked for."""
        if not frozen.is_exact:
            # The order matters: noise variances have to be there before weights can be drawn.
            log_surrogate = self.log_surrogate(rng, drawing, chain, frozen, ladder)
            return self.log_density(rng, drawing, chain) - log_surrogate
        # All that the closed form knows cancels.
        total = -frozen.bias * np.count_nonzero(chain.state)
        if not self._builder.given_noise:
            found, noise = frozen.bounded_evidence(chain.state, ladder)
            log_proposal, log_joint = self.noise_proposal(
                rng, drawing, chain, noise, frozen.marginal
            )
            total += log_joint - log_proposal - found
        if not self._joint.state_prior.linear:
            total += self._joint.state_prior.log_further(chain.state, self._point)
        log_ratio, _, log_masses = self._weigh(rng, drawing, chain)
        if self._builder.given_noise and ladder.knows_bounds:
            total -= log_masses.sum()
        return total + log_ratio

    def log_prior(self, state: NDArray[np.int64]) -> float:
        """Return the log prior of a state, up to a constant."""
        forced = np.isinf(self._given.log_odds)
        if np.any((state == 1)[forced] != (self._given.log_odds > 0)[forced]):
            return -np.inf
        total = self._given.log_odds[(state == 1) & ~forced].sum()
        total += self._given.log_sizes[state.sum()]
        if not self._joint.state_prior.linear:
            total += self._joint.state_prior.log_further(state, self._point)
        return float(total)

    def _interpolated(self, state: NDArray[np.int64]) -> NDArray[np.float64]:
        interpolated = np.ones(self.noise_variance.size)
        interpolated[self._given.own.targets[state == 1].ravel()] = 0.0
        return interpolated

    def log_surrogate(
        self, rng, drawing: bool, chain: ChainState, frozen: Frozen, ladder: Ladder
    ) -> float:
        """Return log π̃ at a state, with its noise variances, drawn if asked for."""
        state, _, log_variances = chain
        marginal = frozen.marginal
        finite = np.isfinite(marginal.log_odds)
        total = marginal.log_odds[(state == 1) & finite].sum() + marginal.log_sizes[state.sum()]
        if self._noise_is_free and not self._builder.given_noise:
            found, noise = frozen.bounded_evidence(state, ladder)
            log_proposal, _ = self.noise_proposal(rng, drawing, chain, noise, marginal)
            return float(total + found + log_proposal)
        if self._noise_is_free:
            total += log_marginal_at(state, log_variances - marginal.log_unit, marginal)
        else:
            total += log_evidence(state, marginal)
        return float(total + ladder.log_mass(rng, chain, marginal, frozen.box))

    @staticmethod
    def noise_proposal(
        rng, drawing: bool, chain: ChainState, noise: NoiseOfSet, marginal: Marginal
    ) -> tuple[float, float]:
        """Return log densities of noise variances, drawn if asked for, see `propose_noise`."""
        log_variances = chain.log_variances - marginal.log_unit
        found = propose_noise(rng, drawing, log_variances, *noise, marginal.group_start)
        if drawing:
            chain.log_variances[:] = log_variances + marginal.log_unit
        return found

    def propose(
        self, rng, ladder: Ladder, chain: ChainState, frozen: Frozen, tuning: bool
    ) -> ChainState | None:
        """Return the set of the first replica with weights, or None if that is not accepted.

        While tuning also a better one is taken: the exchange does not ask whether a set is good,
        which the ladder sees to, but only what the bounds make of it, and a chain that starts where
        nothing explains anything has no bounds in its way and would stay.
        """
        replicas, marginal = ladder.replicas, frozen.marginal
        log_variances = chain.log_variances.copy()
        if self._builder.given_noise and self._noise_is_free:
            log_variances = replicas.log_variances[0] + marginal.log_unit
        proposed = ChainState(replicas.states[0].copy(), chain.weights.copy(), log_variances)
        return self._decide(rng, chain, proposed, frozen, ladder, tuning)

    def propose_beside(
        self, rng, ladder: Ladder, chain: ChainState, frozen: Frozen, tuning: bool
    ) -> ChainState | None:
        """Return a set that the closed form leads to from that of the chain, if it is accepted.

        Where the closed form is only like the model at hand, it errs less between neighbours.
        """
        log_unit = frozen.marginal.log_unit
        state, weights, log_variances = chain
        moved, log_variances = state.copy(), log_variances - log_unit
        ladder.move_beside(rng, moved, log_variances, frozen.marginal, frozen.box)
        proposed = ChainState(moved, weights.copy(), log_variances + log_unit)
        return self._decide(rng, chain, proposed, frozen, ladder, tuning)

    def _decide(
        self, rng, chain, proposed, frozen: Frozen, ladder: Ladder, tuning: bool
    ) -> ChainState | None:
        log_ratio = self._log_weight(rng, True, proposed, frozen, ladder)
        log_ratio -= self._log_weight(rng, False, chain, frozen, ladder)
        self.log_ratio = log_ratio
        if rng.standard_exponential() > -log_ratio:
            return proposed
        if tuning:
            log_ratio += self.log_surrogate(rng, False, proposed, frozen, ladder)
            log_ratio -= self.log_surrogate(rng, False, chain, frozen, ladder)
            if log_ratio > 0.0:
                return proposed
        return None

    def write(self, rng, before: ChainState, after: ChainState) -> Point:
        """Return a new point at another state of the chain; weights left unused are drawn anew."""
        point, joint = self._point, self._joint
        if self._noise_is_free:
            point = joint.write_noise(self.variance_of_targets(after.log_variances), point)
        _, prior, own_targets, _ = self._given.regressions
        draw_unused_weights(rng, before.state, after.state, after.weights, prior, own_targets)
        for part, prior, hyperprior, targets in self._given.hyperpriors:
            was, is_now = self._interpolated(before.state), self._interpolated(after.state)
            mean_precision = np.array(part.hyperparameters.read(point), order="C")
            were_used = np.outer(before.state == 1, was[targets] == 1.0)
            weights = np.ascontiguousarray(after.weights[:, targets])
            draw_hyperparameters(
                *(rng, after.state, weights, mean_precision, hyperprior, prior),
                *(is_now[targets], were_used),
            )
            after.weights[:, targets] = weights
            point = part.hyperparameters.write(mean_precision, point)
        point = joint.write_weights(after.weights, point)
        return joint.write_state(after.state, point)
