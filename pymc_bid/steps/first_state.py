"""The state vector that a chain starts from."""

import numpy as np
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV
from scipy.special import expit

from pymc_bid.graph.joint import Joint
from pymc_bid.graph.values import Point
from pymc_bid.steps.settings import FIRST_SIZE, MOST_START_WORK


def starts_together(state: Variable, model: Model) -> bool:
    """Whether PyMC starts every chain from the same state, which would hide a stuck sampler.

    A `StateVector` starts from a draw; a plain `pm.Bernoulli` does not.
    """
    # Not by `model.set_initval`: PyMC can't copy models with initial values of their own, and does
    # so for log likelihoods.
    return type(state.owner.op) is BernoulliRV and model.rvs_to_initial_values[state] is None


def draw_first_state(rng: np.random.Generator, joint: Joint, point: Point) -> Point:
    """Return a point with a draw from the prior where the state is the support point."""
    state, log_prior_odds = joint.state.read(point), joint.log_prior_odds(point)
    if not np.array_equal(state, log_prior_odds >= 0):
        return point
    drawn = (rng.random(state.size) < expit(log_prior_odds)).astype(state.dtype)
    return joint.state.write(drawn, point)


def thin_out(rng: np.random.Generator, joint: Joint, point: Point) -> Point:
    """Return a start with so few columns that they can be exchanged for those of the ladder.

    Of a thousand columns a draw from the prior has half, and minutes would go by until the first
    exchange is decided, which while tuning takes them away in any case.
    """
    state, targets = np.array(joint.state.read(point)), joint.products().cross.shape[1]
    if targets * float(state.sum()) ** 3 <= MOST_START_WORK:
        return point
    free = np.flatnonzero((state == 1) & np.isfinite(joint.log_prior_odds(point)))
    kept = min(int(FIRST_SIZE), free.size)
    state[rng.permutation(free)[kept:]] = 0
    return joint.state.write(state, point)
