"""Moves of replicas r with every noise variance integrated out, each set by its evidence.

A table of few columns has few sets, which come up again and again: their evidences are remembered.
"""

import math

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.ladder.replicas import (
    count_round_trips,
    decide,
    draw_movable,
    draw_reference_state,
    is_forced,
    log_priors,
    moves_now,
)
from pymc_bid.kernels.marginal.evidence import log_evidence
from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@part()
def remembered_evidence(state, marginal, memory):
    """Return the log evidence of a set, from memory if it is there."""
    if memory.size == 0:
        return log_evidence(state, marginal)
    place = 0
    for entry in state:
        place = 2 * place + entry
    if math.isnan(memory[place]):
        memory[place] = log_evidence(state, marginal)
    return memory[place]


@part()
def log_ratio_of(state, marginal, reference, memory):
    """Return the log of the marginal model over the reference at a set."""
    log_prior, log_reference = log_priors(state, marginal, reference)
    return remembered_evidence(state, marginal, memory) + log_prior - log_reference


@part()
def offer(rng, move, power, present, state, marginal, reference, memory):
    """Offer a move: to change one column, or two if the second of them is not -1.

    Returns the log of the marginal model over the reference, `present` before and after if the
    offer is refused.
    """
    first, second = move
    state[first] = 1 - state[first]
    log_reference = reference.log_odds * (1.0 if state[first] == 1 else -1.0)
    if second >= 0:
        state[second] = 1 - state[second]
        log_reference = 0.0
    proposed = log_ratio_of(state, marginal, reference, memory)
    if rng.standard_exponential() > -(power * (proposed - present) + log_reference):
        return proposed
    state[first] = 1 - state[first]
    if second >= 0:
        state[second] = 1 - state[second]
    return present


@part()
def move_state(rng, state, power, present, swaps, marginal, reference, memory):
    """Move a replica; return the log of the marginal model over the reference."""
    rest = (state, marginal, reference, memory)
    if not reference.fixed_size:
        for column in range(state.size):
            if not is_forced(column, marginal):
                present = offer(rng, (column, -1), power, present, *rest)
    for _ in range(swaps):
        leaving = draw_movable(rng, state, 1, marginal)
        entering = draw_movable(rng, state, 0, marginal)
        if leaving >= 0 and entering >= 0:
            present = offer(rng, (leaving, entering), power, present, *rest)
    return present


@random_kernel
def advance_integrated(stream, turn, replicas, marginal, reference):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters are those of `pymc_bid.kernels.ladder.common_noise.advance_common`, for any number of
    parts and groups.
    """
    rng = generator_at(stream)
    number = replicas.powers.size
    log_ratios, memory = replicas.log_weights, replicas.memory
    if turn.everything:
        memory[:] = np.nan
    for index in range(number):
        state, power = replicas.states[index], replicas.powers[index]
        if not moves_now(index, turn, replicas):
            continue
        if power == 0.0:
            draw_reference_state(rng, state, marginal, reference)
        if power == 0.0 or turn.everything or replicas.known[index] == 0:
            log_ratios[index] = log_ratio_of(state, marginal, reference, memory)
            replicas.known[index] = 1
        if power > 0.0:
            log_ratios[index] = move_state(
                *(rng, state, power, log_ratios[index], turn.swaps, marginal, reference, memory)
            )
    if turn.last == number:
        for first in range(turn.round % 2, number - 1, 2):
            difference = replicas.powers[first] - replicas.powers[first + 1]
            log_ratio = difference * (log_ratios[first + 1] - log_ratios[first])
            if decide(rng, first, log_ratio, replicas):
                kept = log_ratios[first]
                log_ratios[first] = log_ratios[first + 1]
                log_ratios[first + 1] = kept
    return count_round_trips(replicas)


@random_kernel
def swap_beside(stream, swaps, state, marginal, reference):
    """Move a set by flips and swaps of columns drawn at random, each a reversible step of its own.

    Parameters are those of `pymc_bid.kernels.ladder.common_noise.move_beside`; a single column or
    pair is offered where K is free, `swaps` pairs where it is fixed.
    """
    rng = generator_at(stream)
    rest = (state, marginal, reference, np.empty(0))
    present = log_ratio_of(*rest)
    if not reference.fixed_size and rng.random() < 0.5:
        column = int(rng.random() * state.size)
        if not is_forced(column, marginal):
            offer(rng, (column, -1), 1.0, present, *rest)
        return
    for _ in range(swaps):
        leaving = draw_movable(rng, state, 1, marginal)
        entering = draw_movable(rng, state, 0, marginal)
        if leaving >= 0 and entering >= 0:
            present = offer(rng, (leaving, entering), 1.0, present, *rest)
