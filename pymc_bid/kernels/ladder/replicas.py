r"""Replicas over sets of columns, and their exchanges with each other.

Replica :math:`i` is at a place of a path from a reference :math:`p_0` to the marginal
model with the mass :math:`\hat P` that the bounds leave of the weights,

.. math:: \log π_{βγ}(r, x) = (1 - β) \log p_0(r, x) + β \log [p(r)\, p(A, x \mid r)]
    + γ \log \hat P(r, x) ,

with :math:`β` from 0 to 1, and :math:`γ` too but only from some :math:`β` on (see
`pymc_bid.steps.settings.BOUNDS_FROM`): the bounds make other sets the best ones, and have to come
in where sets still move. :math:`x = \log σ²` of each group of targets, and there is nothing but
:math:`r` where the noise is integrated out, with :math:`\hat P(r)` the ratio of the evidences with
bounds and without. The reference has independent columns, all with the
same probability, or is uniform over the sets of the given size; the replica at :math:`β = 0` is
drawn from it anew each time, so that whatever comes down the ladder is a fresh start.

Neighbours exchange in even and odd pairs in turn, which is not reversible and makes round trips of
order :math:`T` instead of :math:`T²` (Syed, Bouchard-Côté, Deligiannidis, Doucet 2022). The chain
is one more at the cold end: it exchanges with the first replica along with the odd pairs.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.compilation import spread
from pymc_bid.kernels.types import Box, Marginal


class Replicas(NamedTuple):
    """The states of a ladder and what is known of them, changed in place."""

    states: NDArray[np.int64]
    """(T, N)."""
    log_variances: NDArray[np.float64]
    """x of each replica, where the noise is not integrated out, (T, S)."""
    powers: NDArray[np.float64]
    """β, descending, (T,)."""
    bound_powers: NDArray[np.float64]
    """γ, descending, (T,)."""
    log_masses: NDArray[np.float64]
    """The log of the mass within the bounds, where γ > 0 and replicas carry x, (T,)."""
    fresh: NDArray[np.int64]
    """1 for a state that came from the reference and was not at the cold end since, (T,)."""
    rejections: NDArray[np.float64]
    """Sum of the probabilities that an exchange of i and i + 1 was rejected, (T,)."""
    visits: NDArray[np.int64]
    """How often they were offered one, (T,)."""
    swaps: NDArray[np.int64]
    """How many swaps each is offered when it moves, at most, (T,)."""
    flips: NDArray[np.int64]
    """How many flips each has made, (T,)."""
    memory: NDArray[np.float64]
    """Log evidence of every set without bounds, and what the bounds add to it, nan if not known,
    (2^N, 2); empty where there are too many."""


def copy_of(replicas: Replicas) -> Replicas:
    """Return replicas that stay as they are; evidences in the memory are true in any case."""
    return Replicas._make([*(values.copy() for values in replicas[:-1]), replicas.memory])


class Turn(NamedTuple):
    """What is to be done in one iteration of a chain: a part of a round of the ladder, or all."""

    round: int
    """Even and odd ones exchange other pairs."""
    first: int
    """Replicas from here on move."""
    last: int
    """And before that; with the last of all the round ends, and neighbours exchange."""
    first_column: int
    """Columns from here on are offered to go in or out, at given noise."""
    last_column: int
    """And before that; where they are not the last of all, replicas go on in the next iteration."""
    is_new: bool
    """Whether what is known of replicas is that of another model, or of other replicas."""


class Reference(NamedTuple):
    """The distribution at β = 0."""

    log_odds: float
    """Of each column."""
    shape: float
    """Of the inverse gamma distribution of the noise variances."""
    scale: float
    fixed_size: bool
    """Whether sets have a given number of columns."""


class Path(NamedTuple):
    """Replicas, and what the path that they are on is between."""

    replicas: Replicas
    marginal: Marginal
    reference: Reference
    box: Box


@spread()
def is_forced(column, marginal):
    """Whether the prior forces a column in or out."""
    return math.isinf(marginal.log_odds[column])


@spread()
def tempered_odds(column, others, power, marginal, reference):
    """Return the log odds of a column beside others, the data left out, at a power.

    `others` is how many columns are chosen without it.
    """
    log_odds = marginal.log_odds[column]
    log_odds += marginal.log_sizes[others + 1] - marginal.log_sizes[others]
    return (1.0 - power) * reference.log_odds + power * log_odds


@spread()
def log_priors(state, marginal, reference):
    """Return log p(r) and log p0(r) of a state, each up to a constant."""
    log_prior, log_reference, size = 0.0, 0.0, 0
    for column in range(state.size):
        size += state[column]
        if state[column] == 1 and not is_forced(column, marginal):
            log_prior += marginal.log_odds[column]
            log_reference += reference.log_odds
    return log_prior + marginal.log_sizes[size], log_reference


@spread()
def draw_reference_state(rng, state, marginal, reference):
    """Draw a set from the reference, in place."""
    size = state.size
    if not reference.fixed_size:
        probability = 1.0 / (1.0 + math.exp(-reference.log_odds))
        for column in range(size):
            if is_forced(column, marginal):
                state[column] = 1 if marginal.log_odds[column] > 0.0 else 0
            else:
                state[column] = 1 if rng.random() < probability else 0
        return
    missing, left = 0, 0
    for column in range(size):
        if not is_forced(column, marginal):
            missing += state[column]
            left += 1
    for column in range(size):
        if not is_forced(column, marginal):
            state[column] = 1 if left * rng.random() < missing else 0
            missing -= state[column]
            left -= 1


@spread()
def draw_movable(rng, state, value, marginal):
    """Draw a column among those with a value that are not forced, -1 if there is none."""
    number = 0
    for column in range(state.size):
        number += 1 if state[column] == value and not is_forced(column, marginal) else 0
    place = int(rng.random() * number)
    for column in range(state.size):
        if state[column] == value and not is_forced(column, marginal):
            if place == 0:
                return column
            place -= 1
    return -1


@spread()
def decide(rng, first, log_ratio, replicas):
    """Decide on an exchange of the sets of replicas i and i + 1, and carry it out."""
    rejection = -math.expm1(min(log_ratio, 0.0))
    replicas.rejections[first] += 1.0 if math.isnan(rejection) else rejection
    replicas.visits[first] += 1
    if not rng.standard_exponential() > -log_ratio:
        return False
    for column in range(replicas.states.shape[1]):
        kept = replicas.states[first, column]
        replicas.states[first, column] = replicas.states[first + 1, column]
        replicas.states[first + 1, column] = kept
    label = replicas.fresh[first]
    replicas.fresh[first] = replicas.fresh[first + 1]
    replicas.fresh[first + 1] = label
    return True


@spread()
def count_round_trips(replicas):
    """Mark what is at β = 0 as fresh, and count what came from there to the cold end."""
    number = replicas.powers.size
    if number > 1:
        replicas.fresh[number - 1] = 1
    trips = replicas.fresh[0]
    replicas.fresh[0] = 0
    return trips
