"""Moves of replicas r with every noise variance integrated out, each set by its evidence.

A table of few columns has few sets, which come up again and again: their evidences are remembered.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.by_reference import by_reference
from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.exact.surrogate import call_evidence
from pymc_bid.kernels.ladder.replicas import (
    Reference,
    count_round_trips,
    decide,
    draw_movable,
    draw_reference_state,
    is_forced,
    log_priors,
)
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.types import Box, Marginal


class Place(NamedTuple):
    """A place of the path, what it is between, and what is known of sets."""

    power: float
    """β."""
    bound_power: float
    """γ."""
    memory: NDArray[np.float64]
    """See `Replicas`."""
    marginal: Marginal
    reference: Reference
    box: Box


@spread()
def first_place(path):
    """Return the place of the first replica."""
    replicas = path.replicas
    power, bound_power, memory = replicas.powers[0], replicas.bound_powers[0], replicas.memory
    return by_reference(Place(power, bound_power, memory, path.marginal, path.reference, path.box))


@spread()
def number_of(state):
    """Return the number that a set is in binary."""
    # A literal 0 would have numba compile what it is given to once more.
    number = np.int64(0)
    for column in range(state.size):
        number |= state[column] << column
    return number


@part()
def look_up(state, number, with_bounds, place):
    """Return the log evidence of a set or what the bounds add to it, from memory."""
    memory, kind = place.memory, 1 if with_bounds else 0
    if math.isnan(memory[number, kind]):
        arguments = (state, with_bounds, place.marginal, place.box)
        log_evidence, log_mass, _, _ = call_evidence(place.box.evidence, arguments)
        memory[number, 0] = log_evidence
        if with_bounds:
            memory[number, 1] = log_mass
    return memory[number, kind]


@spread()
def offer(rng, first, second, number, state, place):
    """Offer to change a pair of columns, or one column if both are the same.

    `number` is that of the state, returned as it is afterwards.
    """
    power, log_odds, sign = place.power, place.marginal.log_odds, 1.0 - 2.0 * state[first]
    log_reference, log_prior = sign * place.reference.log_odds, sign * log_odds[first]
    proposed = number ^ (1 << first)
    if second != first:
        log_reference = 0.0
        log_prior -= sign * log_odds[second]
        proposed ^= 1 << second
    else:
        others, log_sizes = state.sum() - state[first], place.marginal.log_sizes
        log_prior += sign * (log_sizes[others + 1] - log_sizes[others])
    bound_power, hurdle = place.bound_power, rng.standard_exponential()
    log_ratio = log_prior - look_up(state, number, False, place)
    present_mass = look_up(state, number, True, place) if bound_power > 0.0 else 0.0
    toggle(first, second, state)
    log_ratio = power * (log_ratio + look_up(state, proposed, False, place))
    log_ratio += (1.0 - power) * log_reference - bound_power * present_mass
    # No mass is more than 1: it need not be found where even that would not do.
    if bound_power > 0.0 and hurdle > -log_ratio:
        log_ratio += bound_power * look_up(state, proposed, True, place)
    if hurdle > -log_ratio:
        return proposed
    toggle(first, second, state)
    return number


@spread()
def toggle(first, second, state):
    """Change a pair of columns, or one if both are the same."""
    state[first] = 1 - state[first]
    if second != first:
        state[second] = 1 - state[second]


@spread()
def offer_swaps(rng, swaps, number, state, place):
    """Offer pairs of a chosen column and one that is not, drawn at random, to change places."""
    for _ in range(swaps):
        leaving = draw_movable(rng, state, 1, place.marginal)
        entering = draw_movable(rng, state, 0, place.marginal)
        if leaving >= 0 and entering >= 0:
            number = offer(rng, leaving, entering, number, state, place)


@spread()
def move_state(rng, swaps, state, place):
    """Move a replica by flips and swaps; return how many flips were made."""
    number, flips = number_of(state), 0
    if not place.reference.fixed_size:
        for column in range(state.size):
            if not is_forced(column, place.marginal):
                before = number
                number = offer(rng, column, column, number, state, place)
                flips += number != before
    offer_swaps(rng, swaps, number, state, place)
    return flips


@spread()
def log_ratio_of(state, place):
    """Return the log of the marginal model over the reference at a set, and of its mass."""
    log_prior, log_reference = log_priors(state, place.marginal, place.reference)
    number = number_of(state)
    log_mass = look_up(state, number, True, place) if place.bound_power > 0.0 else 0.0
    return look_up(state, number, False, place) + log_prior - log_reference, log_mass


@random_kernel
def advance_integrated(stream, turn, path):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters are those of `pymc_bid.kernels.ladder.given_noise.advance_given_noise`.
    """
    rng, replicas, place = generator_at(stream), path.replicas, first_place(path)
    powers, bound_powers, states = replicas.powers, replicas.bound_powers, replicas.states
    if turn.is_new:
        replicas.memory[:] = np.nan
    for index in range(turn.first, turn.last):
        if powers[index] == 0.0:
            draw_reference_state(rng, states[index], path.marginal, path.reference)
        else:
            place.power, place.bound_power = powers[index], bound_powers[index]
            replicas.flips[index] += move_state(rng, replicas.swaps[index], states[index], place)
    if turn.last == powers.size:
        for first in range(turn.round % 2, powers.size - 1, 2):
            second, place.bound_power = first + 1, bound_powers[first]
            hot, hot_mass = log_ratio_of(states[second], place)
            cold, cold_mass = log_ratio_of(states[first], place)
            log_ratio = (powers[first] - powers[second]) * (hot - cold)
            log_ratio += (bound_powers[first] - bound_powers[second]) * (hot_mass - cold_mass)
            decide(rng, first, log_ratio, replicas)
    return count_round_trips(replicas)


@random_kernel
def move_beside_integrated(stream, swaps, state, path):
    """Move a set by a flip or by swaps of columns drawn at random, each a reversible step.

    One column or, at random and where K is fixed, `swaps` pairs. Other parameters are those of
    `pymc_bid.kernels.ladder.given_noise.move_beside`.
    """
    rng, number, place = generator_at(stream), number_of(state), first_place(path)
    if not path.reference.fixed_size and rng.random() < 0.5:
        column = int(rng.random() * state.size)
        if not is_forced(column, path.marginal):
            offer(rng, column, column, number, state, place)
    else:
        offer_swaps(rng, swaps, number, state, place)
