"""Trading a chosen column for one like it, where every column has its own noise."""

import math

import numpy as np

from pymc_bid.kernels.by_reference import copy_into
from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.ladder.replicas import draw_movable, is_forced, tempered_odds
from pymc_bid.kernels.ladder.rung import (
    is_rejected,
    log_own_noise,
    mass_of,
    release_own_noise,
    variances_of,
    write_own_blocks,
)
from pymc_bid.kernels.marginal.factor import (
    linear_and_precision,
    log_evidence_of,
    make_last,
    take_in,
    take_last_out,
    weight_constant,
)
from pymc_bid.kernels.marginal.scores import score_columns


@part()
def likeness(column, state, marginal, weights):
    """Write how much each column that is out is like a column, and return the sum.

    The fourth power of the correlation: it is to find copies.
    """
    gram, total = marginal.grams[0], 0.0
    for other in range(state.size):
        weights[other] = 0.0
        squares = gram[column, column] * gram[other, other]
        if state[other] == 0 and not is_forced(other, marginal) and squares > 0.0:
            share = gram[column, other] * gram[column, other] / squares
            weights[other] = share * share
        total += weights[other]
    return total


@spread()
def trade_column(rng, log_odds, replica, rung, factor):
    """Offer a chosen column's place to one like it, with the noise of both drawn anew.

    Where every column has its own noise, the target of a copy has hardly any while the column is
    chosen, and much without: only both at once can change.
    """
    marginal, state, x = rung.marginal, replica.state, replica.log_variances
    weights = np.empty(state.size)
    leaving = draw_movable(rng, state, 1, marginal)
    if leaving < 0:
        return
    total = likeness(leaving, state, marginal, weights)
    if not total > 0.0:
        return
    entering, remaining = 0, rng.random() * total - weights[0]
    while remaining >= 0.0 and entering < state.size - 1:
        entering += 1
        remaining -= weights[entering]
    if weights[entering] == 0.0:
        return
    make_last(leaving, marginal, factor)
    score_columns(True, marginal, factor, log_odds)
    log_ratio = log_odds[entering] - log_odds[leaving]
    for group in marginal.own_groups[leaving]:
        target = marginal.block_start[marginal.group_start[group]]
        # At a noise that nobody uses; what it is with that of its own follows.
        linear, precision = linear_and_precision(entering, target, True, marginal, factor)
        log_ratio -= log_evidence_of(target, True, marginal, factor)
        log_ratio -= 0.5 * linear * linear / precision - 0.5 * math.log(precision)
        log_ratio -= weight_constant(entering, target, marginal)
    for group in marginal.own_groups[entering]:
        target = marginal.block_start[marginal.group_start[group]]
        log_ratio += factor.log_evidence[target]
    log_ratio *= rung.power
    others = factor.size - 1
    log_ratio += tempered_odds(entering, others, rung.power, marginal, rung.reference)
    log_ratio -= tempered_odds(leaving, others, rung.power, marginal, rung.reference)
    kept = x.copy()
    log_ratio += log_own_noise(rng, False, entering, replica, rung)[0]
    state[leaving], state[entering] = 0, 1
    log_ratio -= log_own_noise(rng, True, leaving, replica, rung)[0]
    log_ratio += math.log(total / likeness(entering, state, marginal, weights))
    log_mass = mass_of(replica, rung)
    state[leaving], state[entering] = 1, 0
    if is_rejected(rng, log_ratio, log_mass, replica, rung):
        copy_into(kept, x)
        return
    take_last_out(state, marginal, factor)
    write_own_blocks(leaving, x, marginal, factor)
    take_in(entering, state, marginal, variances_of(replica, marginal), factor)
    release_own_noise(rng, entering, x, rung)
    replica.log_mass[0] = log_mass
