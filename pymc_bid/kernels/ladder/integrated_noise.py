"""Moves of replicas r with every noise variance integrated out, each set by its evidence.

A table of few columns has few sets, which come up again and again: their evidences are remembered.
"""

import math

import numpy as np

from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.held import held
from pymc_bid.kernels.ladder.replicas import (
    count_round_trips,
    decide,
    draw_movable,
    draw_reference_state,
    is_forced,
    log_priors,
)
from pymc_bid.kernels.marginal.evidence import log_evidence_of_set
from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@part()
def number_of(state):
    """Return the number that a set is in binary."""
    number = 0
    for column in range(state.size):
        number |= state[column] << column
    return number


@part()
def look_up(state, number, memory, marginal):
    """Return the log evidence of a set, from memory if it is there."""
    if math.isnan(memory[number]):
        memory[number] = log_evidence_of_set(state, marginal)
    return memory[number]


@spread()
def offer(rng, pair, present, power, state, memory, marginal, reference):
    """Offer to change a pair of columns, or only the first if the second is -1.

    `present` is the log evidence of the state, returned as it is afterwards.
    """
    first, second = pair
    sign = 1.0 - 2.0 * state[first]
    log_reference = sign * reference.log_odds
    log_prior = sign * marginal.log_odds[first]
    state[first] = 1 - state[first]
    if second >= 0:
        state[second] = 1 - state[second]
        log_reference = 0.0
        log_prior -= sign * marginal.log_odds[second]
    found = look_up(state, number_of(state), memory, marginal)
    log_ratio = power * (found - present + log_prior) + (1.0 - power) * log_reference
    if rng.standard_exponential() > -log_ratio:
        return found
    state[first] = 1 - state[first]
    if second >= 0:
        state[second] = 1 - state[second]
    return present


@spread()
def move_state(rng, power, swaps, state, memory, marginal, reference):
    """Move a replica by flips and swaps."""
    present = look_up(state, number_of(state), memory, marginal)
    if not reference.fixed_size:
        for column in range(state.size):
            if not is_forced(column, marginal):
                present = offer(
                    rng, (column, -1), present, power, state, memory, marginal, reference
                )
    for _ in range(swaps):
        leaving = draw_movable(rng, state, 1, marginal)
        entering = draw_movable(rng, state, 0, marginal)
        if leaving >= 0 and entering >= 0:
            present = offer(
                rng, (leaving, entering), present, power, state, memory, marginal, reference
            )


@spread()
def log_ratio_of(state, memory, marginal, reference):
    """Return the log of the marginal model over the reference at a set."""
    log_prior, log_reference = log_priors(state, marginal, reference)
    return look_up(state, number_of(state), memory, marginal) + log_prior - log_reference


@random_kernel
def advance_integrated(stream, turn, replicas, marginal, reference):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters are those of `pymc_bid.kernels.ladder.given_noise.advance_given_noise`.
    """
    rng = generator_at(stream)
    marginal, reference, replicas = held(marginal), held(reference), held(replicas)
    powers, states, memory = replicas.powers, replicas.states, replicas.memory
    if turn.is_new:
        memory[:] = np.nan
    for index in range(turn.first, turn.last):
        if powers[index] == 0.0:
            draw_reference_state(rng, states[index], marginal, reference)
        else:
            move_state(rng, powers[index], turn.swaps, states[index], memory, marginal, reference)
    if turn.last == powers.size:
        for first in range(turn.round % 2, powers.size - 1, 2):
            difference = log_ratio_of(states[first + 1], memory, marginal, reference)
            difference -= log_ratio_of(states[first], memory, marginal, reference)
            decide(rng, first, (powers[first] - powers[first + 1]) * difference, replicas)
    return count_round_trips(replicas)


@random_kernel
def swap_beside(stream, swaps, state, memory, marginal, reference):
    """Move a set by flips and swaps of columns drawn at random, each a reversible step of its own.

    Parameters are those of `pymc_bid.kernels.ladder.given_noise.move_beside`; a single column or
    pair is offered where K is free, `swaps` pairs where it is fixed.
    """
    rng, marginal, reference = generator_at(stream), held(marginal), held(reference)
    present = look_up(state, number_of(state), memory, marginal)
    if not reference.fixed_size and rng.random() < 0.5:
        column = int(rng.random() * state.size)
        if not is_forced(column, marginal):
            offer(rng, (column, -1), present, 1.0, state, memory, marginal, reference)
        return
    for _ in range(swaps):
        leaving = draw_movable(rng, state, 1, marginal)
        entering = draw_movable(rng, state, 0, marginal)
        if leaving >= 0 and entering >= 0:
            present = offer(
                rng, (leaving, entering), present, 1.0, state, memory, marginal, reference
            )
