"""Moves of replicas r with every noise variance integrated out, each set by its evidence."""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.ladder.replicas import (
    draw_reference_state,
    exchange_neighbours,
    is_forced,
    log_priors,
)
from pymc_bid.kernels.marginal.evidence import log_evidence
from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@part()
def log_ratio_of(state, marginal, reference):
    """Return the log of the marginal model over the reference at a set."""
    log_prior, log_reference = log_priors(state, marginal, reference)
    return log_evidence(state, marginal) + log_prior - log_reference


@part()
def offer(rng, state, power, present, first, second, marginal, reference):
    """Offer to change one column, or two where `second` is not -1.

    Returns the log of the marginal model over the reference, `present` before and after if the
    offer is refused.
    """
    state[first] = 1 - state[first]
    log_reference = reference.log_odds * (1.0 if state[first] == 1 else -1.0)
    if second >= 0:
        state[second] = 1 - state[second]
        log_reference = 0.0
    proposed = log_ratio_of(state, marginal, reference)
    if rng.standard_exponential() > -(power * (proposed - present) + log_reference):
        return proposed
    state[first] = 1 - state[first]
    if second >= 0:
        state[second] = 1 - state[second]
    return present


@part()
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


@random_kernel
def advance_integrated(stream, parity, swaps, replicas, marginal, reference):
    """Move every replica once and let neighbours exchange; return the round trips ended.

    Parameters are those of `pymc_bid.kernels.ladder.common_noise.advance_common`, for any number of
    parts and groups.
    """
    rng = generator_at(stream)
    number = replicas.powers.size
    log_ratios = np.empty(number)
    for index in range(number):
        state, power = replicas.states[index], replicas.powers[index]
        if power == 0.0:
            draw_reference_state(rng, state, marginal, reference)
        log_ratio = log_ratio_of(state, marginal, reference)
        moves = 0 if power == 0.0 else state.size
        if not reference.fixed_size:
            for column in range(moves):
                if not is_forced(column, marginal):
                    log_ratio = offer(
                        rng, state, power, log_ratio, column, -1, marginal, reference
                    )
        for _ in range(min(moves, swaps)):
            leaving = draw_movable(rng, state, 1, marginal)
            entering = draw_movable(rng, state, 0, marginal)
            if leaving >= 0 and entering >= 0:
                log_ratio = offer(
                    rng, state, power, log_ratio, leaving, entering, marginal, reference
                )
        log_ratios[index] = log_ratio
    log_acceptances = np.zeros(number)
    for first in range(parity, number - 1, 2):
        difference = replicas.powers[first] - replicas.powers[first + 1]
        log_acceptances[first] = difference * (log_ratios[first + 1] - log_ratios[first])
    return exchange_neighbours(rng, parity, log_acceptances, replicas.log_variances, replicas)
