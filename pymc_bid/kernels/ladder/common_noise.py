"""Moves of replicas (r, σ²) at given noise, by Cholesky factors.

There is one noise variance for all targets, which replicas carry along, or any number that is held.
"""

import math

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.ladder.replicas import (
    count_round_trips,
    decide,
    draw_movable,
    draw_reference_state,
    exchange_rows,
    is_forced,
    log_priors,
    moves_now,
    tempered_odds,
)
from pymc_bid.kernels.marginal.evidence import noise_densities
from pymc_bid.kernels.marginal.factor import (
    change_column,
    log_likelihood_of,
    log_odds_from_data,
    make_factor,
    write_factor,
)
from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    log_noise_density,
    log_table_density,
    tabulate_noise,
)
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.types import NoiseDensity


@part()
def scan_flips(rng, backwards, power, state, marginal, reference, factor):
    """Offer every column in turn to go in or out; tell whether any did."""
    changed = False
    for step in range(state.size):
        column = state.size - 1 - step if backwards else step
        if is_forced(column, marginal):
            continue
        log_odds = tempered_odds(column, power, marginal, reference)
        log_odds += power * log_odds_from_data(state, column, marginal, factor)
        log_ratio = -log_odds if state[column] == 1 else log_odds
        if rng.standard_exponential() > -log_ratio:
            change_column(state, column, marginal, factor)
            changed = True
    return changed


@part()
def swap_columns(rng, number, power, state, marginal, reference, factor):
    """Take a chosen column out and draw the one that goes in among all that could, `number` times.

    Each is a Gibbs update: given the columns that stay, all candidates are scored. Tells whether
    anything changed.
    """
    changed = False
    scores = np.empty(state.size)
    for _ in range(number):
        leaving = draw_movable(rng, state, 1, marginal)
        if leaving < 0 or factor.size[0] == state.size:
            break
        change_column(state, leaving, marginal, factor)
        for column in range(state.size):
            scores[column] = -np.inf
            if state[column] == 0 and not is_forced(column, marginal):
                log_odds = tempered_odds(column, power, marginal, reference)
                log_odds += power * log_odds_from_data(state, column, marginal, factor)
                # The largest of log weights plus Gumbel noise is a draw by weight.
                scores[column] = log_odds - math.log(rng.standard_exponential())
        entering = np.argmax(scores)
        changed = changed or entering != leaving
        change_column(state, entering, marginal, factor)
    return changed


@part()
def learn(index, replicas, marginal, reference):
    """Find the noise density of a replica's state, and what is left beside it."""
    state = replicas.states[index]
    found = noise_densities(state, marginal)
    log_prior, log_reference = log_priors(state, marginal, reference)
    numbers = replicas.numbers[index]
    numbers[0], numbers[1] = found.shape[0], found.scale[0]
    numbers[2], numbers[3] = found.rest + log_prior, log_reference
    replicas.targets[index] = found.targets
    size = found.eigenvalues.size
    replicas.eigenvalues[index, :size] = found.eigenvalues.ravel()
    replicas.explained[index, :size] = found.explained.ravel()
    replicas.known[index] = 1


@part()
def density_at(index, power, replicas, reference):
    """Return the density of x of a replica's state, at any power."""
    blocks, number = replicas.targets.shape[1], 0
    for entry in replicas.states[index]:
        number += entry
    numbers, size = replicas.numbers[index], blocks * number
    return NoiseDensity(
        power * numbers[0] + (1.0 - power) * reference.shape,
        power * numbers[1] + (1.0 - power) * reference.scale,
        power * replicas.targets[index],
        replicas.eigenvalues[index, :size].copy().reshape((blocks, number)),
        power * replicas.explained[index, :size].reshape((blocks, number)),
    )


@part()
def log_weight(x, index, power, replicas, density, table):
    r"""Return :math:`\log [π_β(r, x) / q_β(x \mid r)]`, which hardly depends on x.

    But for what a table misses it is π_β(r).
    """
    numbers = replicas.numbers[index]
    total = power * numbers[2] + (1.0 - power) * numbers[3]
    return total + log_noise_density(x, density) - log_table_density(x, table)


@part()
def draw_variance(rng, index, power, replicas, reference, grid):
    """Draw x of a replica's state at any power from a table; return it and its log weight."""
    density = density_at(index, power, replicas, reference)
    table = tabulate_noise(density, grid)
    x = draw_from_table(rng, table)
    return x, log_weight(x, index, power, replicas, density, table)


@part()
def redraw_variance(rng, index, replicas, reference, grid):
    """Draw the noise variance of a replica by a proposal that does not look at the present one."""
    power, x = replicas.powers[index], replicas.log_variances[index]
    density = density_at(index, power, replicas, reference)
    table = tabulate_noise(density, grid)
    present = log_weight(x, index, power, replicas, density, table)
    proposed = draw_from_table(rng, table)
    weight = log_weight(proposed, index, power, replicas, density, table)
    if rng.standard_exponential() > present - weight:
        replicas.log_variances[index], replicas.log_weights[index] = proposed, weight
    else:
        replicas.log_weights[index] = present


@part()
def move_state(rng, index, swaps, replicas, marginal, reference, factor):
    """Move the set of a replica; tell whether it changed."""
    power, state = replicas.powers[index], replicas.states[index]
    is_held = not math.isnan(marginal.held[0])
    changed = power == 0.0
    if changed:
        draw_reference_state(rng, state, marginal, reference)
    if changed and not is_held:
        return changed
    variances = marginal.held if is_held else np.exp(replicas.log_variances[index : index + 1])
    write_factor(state, variances, marginal, factor)
    if power > 0.0:
        arguments = (power, state, marginal, reference, factor)
        if not reference.fixed_size:
            changed = scan_flips(rng, False, *arguments)
        swapped = swap_columns(rng, swaps, *arguments)
        changed = changed or swapped
    if is_held:
        log_prior, log_reference = log_priors(state, marginal, reference)
        log_likelihood = log_likelihood_of(state, marginal, factor)
        replicas.log_weights[index] = log_likelihood + log_prior - log_reference
    return changed


@part()
def exchange_pair(rng, first, is_held, replicas, reference, grid):
    """Offer replicas i and i + 1 an exchange, noise variances drawn anew.

    A noise variance that is right at one power is not at another, and would keep sets from being
    exchanged that could be: on wine with a copied column, paper's model, 32 rungs and one round
    trip in 1000 iterations became 5 and 119.
    """
    second, powers, weights = first + 1, replicas.powers, replicas.log_weights
    if is_held:
        difference = powers[first] - powers[second]
        log_ratio = difference * (weights[second] - weights[first])
        if decide(rng, first, log_ratio, replicas):
            weights[first], weights[second] = weights[second], weights[first]
        return
    at_cold, cold = draw_variance(rng, second, powers[first], replicas, reference, grid)
    at_hot, hot = draw_variance(rng, first, powers[second], replicas, reference, grid)
    if decide(rng, first, cold + hot - weights[first] - weights[second], replicas):
        weights[first], weights[second] = cold, hot
        replicas.log_variances[first], replicas.log_variances[second] = at_cold, at_hot
        exchange_rows(replicas.numbers, first)
        exchange_rows(replicas.targets, first)
        exchange_rows(replicas.eigenvalues, first)
        exchange_rows(replicas.explained, first)


@random_kernel
def advance_common(stream, turn, replicas, marginal, reference):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    turn : Turn
    replicas : Replicas
        Changed in place.
    marginal : Marginal
        With one group, or noise variances that are held.
    reference : Reference
    """
    rng = generator_at(stream)
    number, size = replicas.powers.size, replicas.states.shape[1]
    factor = make_factor(size, marginal.squares.size, marginal.block_pattern.size)
    grid = np.empty(MOST_POINTS)
    is_held = not math.isnan(marginal.held[0])
    for index in range(number):
        if not moves_now(index, turn, replicas):
            continue
        swaps = turn.cold_swaps if index == 0 else turn.swaps
        changed = move_state(rng, index, swaps, replicas, marginal, reference, factor)
        if is_held:
            replicas.known[index] = 1
            continue
        if changed or turn.everything or replicas.known[index] == 0:
            learn(index, replicas, marginal, reference)
        redraw_variance(rng, index, replicas, reference, grid)
    if turn.last == number:
        for first in range(turn.round % 2, number - 1, 2):
            exchange_pair(rng, first, is_held, replicas, reference, grid)
    return count_round_trips(replicas)


@random_kernel
def move_beside(stream, backwards, state, variances, marginal, reference):
    """Move a set at given noise, by flips and one swap, or the other way round.

    Flips and swaps are each reversible; with the order drawn at random so is the whole, as the
    proposal of a chain has to be.

    Parameters
    ----------
    stream : numpy.random.Generator
    backwards : bool
        Whether the swap comes first and the flips last to first.
    state : int array (N,)
        Changed in place.
    variances : array (S,)
        Noise variances of the groups.
    marginal, reference
        As in `advance_common`.
    """
    rng = generator_at(stream)
    factor = make_factor(state.size, marginal.squares.size, marginal.block_pattern.size)
    write_factor(state, variances, marginal, factor)
    arguments = (1.0, state, marginal, reference, factor)
    if backwards:
        swap_columns(rng, 1, *arguments)
    if not reference.fixed_size:
        scan_flips(rng, backwards, *arguments)
    if not backwards:
        swap_columns(rng, 1, *arguments)
