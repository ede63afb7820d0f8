"""Moves of replicas r with every noise variance integrated out, each set by its evidence.

A table of few columns has few sets, which come up again and again: their evidences are remembered.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Memory(NamedTuple):
    """Evidences by the number that a set is in binary."""

    values: NDArray[np.float64]
    """Log evidence of every set, nan if not known, (2^N,); empty where there are too many."""
    place: NDArray[np.int64]
    """The set that is looked at, an array of one number."""


@part()
def look_up(state, marginal, memory):
    """Return the log evidence of the set that is looked at, from memory if it is there."""
    if memory.values.size == 0:
        return log_evidence(state, marginal)
    place = memory.place[0]
    if math.isnan(memory.values[place]):
        memory.values[place] = log_evidence(state, marginal)
    return memory.values[place]


@part()
def turn_over(column, state, memory):
    """Take a column in or out."""
    state[column] = 1 - state[column]
    if memory.values.size > 0:
        memory.place[0] ^= 1 << column


@part()
def log_ratio_of(state, marginal, reference, memory):
    """Return the log of the marginal model over the reference at a set."""
    if memory.values.size > 0:
        memory.place[0] = 0
        for column in range(state.size):
            memory.place[0] |= state[column] << column
    log_prior, log_reference = log_priors(state, marginal, reference)
    return look_up(state, marginal, memory) + log_prior - log_reference


@part()
def offer(rng, move, walk, state, marginal, reference, memory):
    """Offer a move: to change one column, or two if the second of them is not -1.

    `walk` holds the power, the log of the marginal model over the reference at the state, and the
    log evidence; returned as they are afterwards.
    """
    first, second = move
    power, present, log_evidence_now = walk
    turn_over(first, state, memory)
    sign = 1.0 if state[first] == 1 else -1.0
    log_reference = sign * reference.log_odds
    log_prior = sign * marginal.log_odds[first]
    if second >= 0:
        turn_over(second, state, memory)
        log_reference = 0.0
        log_prior -= sign * marginal.log_odds[second]
    found = look_up(state, marginal, memory)
    proposed = present + found - log_evidence_now + log_prior - log_reference
    if rng.standard_exponential() > -(power * (proposed - present) + log_reference):
        return power, proposed, found
    turn_over(first, state, memory)
    if second >= 0:
        turn_over(second, state, memory)
    return walk


@part()
def move_state(rng, walk, swaps, state, marginal, reference, memory):
    """Move a replica; return what `offer` returns."""
    rest = (state, marginal, reference, memory)
    if not reference.fixed_size:
        for column in range(state.size):
            if not is_forced(column, marginal):
                walk = offer(rng, (column, -1), walk, *rest)
    for _ in range(swaps):
        leaving = draw_movable(rng, state, 1, marginal)
        entering = draw_movable(rng, state, 0, marginal)
        if leaving >= 0 and entering >= 0:
            walk = offer(rng, (leaving, entering), walk, *rest)
    return walk


@random_kernel
def advance_integrated(stream, turn, replicas, marginal, reference):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters are those of `pymc_bid.kernels.ladder.common_noise.advance_common`, for any number of
    parts and groups.
    """
    rng = generator_at(stream)
    number = replicas.powers.size
    log_ratios = replicas.log_weights
    memory = Memory(replicas.memory, np.zeros(1, np.int64))
    if turn.forgets:
        memory.values[:] = np.nan
    for index in range(number):
        state, power = replicas.states[index], replicas.powers[index]
        if not moves_now(index, turn, replicas):
            continue
        if power == 0.0:
            draw_reference_state(rng, state, marginal, reference)
        log_ratios[index] = log_ratio_of(state, marginal, reference, memory)
        replicas.known[index] = 1
        if power > 0.0:
            walk = (power, log_ratios[index], look_up(state, marginal, memory))
            rest = (state, marginal, reference, memory)
            log_ratios[index] = move_state(rng, walk, turn.swaps, *rest)[1]
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
    rest = (state, marginal, reference, Memory(np.empty(0), np.zeros(1, np.int64)))
    walk = (1.0, log_ratio_of(*rest), look_up(state, marginal, rest[3]))
    if not reference.fixed_size and rng.random() < 0.5:
        column = int(rng.random() * state.size)
        if not is_forced(column, marginal):
            offer(rng, (column, -1), walk, *rest)
        return
    for _ in range(swaps):
        leaving = draw_movable(rng, state, 1, marginal)
        entering = draw_movable(rng, state, 0, marginal)
        if leaving >= 0 and entering >= 0:
            walk = offer(rng, (leaving, entering), walk, *rest)
