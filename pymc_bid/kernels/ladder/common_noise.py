"""Moves of replicas (r, σ²) with one noise variance for all targets, by the sweep operator."""

import math

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.ladder.replicas import (
    Reference,
    count_round_trips,
    decide,
    draw_movable,
    draw_reference_state,
    exchange_rows,
    is_forced,
    log_priors,
    movable_members,
    moves_now,
    tempered_odds,
)
from pymc_bid.kernels.marginal.evidence import density_of, noise_densities
from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    log_noise_density,
    log_table_density,
    tabulate_noise,
)
from pymc_bid.kernels.marginal.sweep import (
    build_table,
    change_column,
    log_odds_from_data,
    prior_constants,
)
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.types import NoiseDensity

OFFERS_WITH_NOISE = 5
"""Changes that each replica is offered along with another noise variance."""


@part()
def scan_flips(rng, backwards, power, state, variance, marginal, reference, table):
    """Offer every column in turn to go in or out; tell whether any did."""
    changed = False
    for step in range(state.size):
        column = state.size - 1 - step if backwards else step
        if is_forced(column, marginal):
            continue
        log_odds = tempered_odds(column, power, marginal, reference)
        log_odds += power * log_odds_from_data(state, column, variance, marginal, table)
        log_ratio = -log_odds if state[column] == 1 else log_odds
        if rng.standard_exponential() > -log_ratio:
            change_column(state, column, marginal, table)
            changed = True
    return changed


@part()
def swap_columns(rng, number, power, state, variance, marginal, reference, table):
    """Take a chosen column out and draw the one that goes in among all that could, `number` times.

    Each is a Gibbs update: given the columns that stay, all candidates are scored. Tells whether
    anything changed.
    """
    changed = False
    members = np.empty(state.size, np.int64)
    scores = np.empty(state.size)
    for _ in range(number):
        chosen = movable_members(state, marginal, members)
        if chosen == 0 or chosen == state.size:
            break
        leaving = members[int(rng.random() * chosen)]
        change_column(state, leaving, marginal, table)
        for column in range(state.size):
            scores[column] = -np.inf
            if state[column] == 0 and not is_forced(column, marginal):
                log_odds = tempered_odds(column, power, marginal, reference)
                log_odds += power * log_odds_from_data(state, column, variance, marginal, table)
                # The largest of log weights plus Gumbel noise is a draw by weight.
                scores[column] = log_odds - math.log(rng.standard_exponential())
        entering = np.argmax(scores)
        changed = changed or entering != leaving
        change_column(state, entering, marginal, table)
    return changed


@part()
def learn(index, replicas, marginal, reference):
    """Find the noise density of a replica's state, and what is left beside it."""
    state = replicas.states[index]
    found = noise_densities(state, marginal)
    density = density_of(0, found)
    log_prior, log_reference = log_priors(state, marginal, reference)
    numbers = replicas.numbers[index]
    numbers[0], numbers[1], numbers[2] = density.shape, density.scale, density.targets
    numbers[3], numbers[4] = found[5] + log_prior, log_reference
    size = density.eigenvalues.size
    replicas.eigenvalues[index, :size] = density.eigenvalues
    replicas.explained[index, :size] = density.explained
    replicas.known[index] = 1


@part()
def density_at(index, power, replicas, reference):
    """Return the density of x of a replica's state, at any power."""
    size = 0
    for entry in replicas.states[index]:
        size += entry
    numbers = replicas.numbers[index]
    return NoiseDensity(
        power * numbers[0] + (1.0 - power) * reference.shape,
        power * numbers[1] + (1.0 - power) * reference.scale,
        power * numbers[2],
        replicas.eigenvalues[index, :size],
        power * replicas.explained[index, :size],
    )


@part()
def log_weight(rng, drawing, x, index, power, replicas, reference, grid):
    r"""Return :math:`\log [π_β(r, x) / q_β(x \mid r)]`, and x, drawn from the table q if asked for.

    It hardly depends on x: but for what a table misses it is π_β(r).
    """
    density = density_at(index, power, replicas, reference)
    table = tabulate_noise(density, grid)
    if drawing:
        x = draw_from_table(rng, table)
    numbers = replicas.numbers[index]
    total = power * numbers[3] + (1.0 - power) * numbers[4]
    return total + log_noise_density(x, density) - log_table_density(x, table), x


@part()
def log_held_weight(index, replicas):
    """Return the log of the marginal model over the reference, noise variance held."""
    x, numbers = replicas.log_variances[index], replicas.numbers[index]
    density = density_at(index, 1.0, replicas, Reference(0.0, 0.0, 0.0, False))
    return numbers[3] - numbers[4] + log_noise_density(x, density)


@part()
def redraw_variance(rng, index, replicas, reference, grid):
    """Draw the noise variance of a replica by a proposal that does not look at the present one."""
    power, x = replicas.powers[index], replicas.log_variances[index]
    present, _ = log_weight(rng, False, x, index, power, replicas, reference, grid)
    weight, proposed = log_weight(rng, True, x, index, power, replicas, reference, grid)
    if rng.standard_exponential() > present - weight:
        replicas.log_variances[index], replicas.log_weights[index] = proposed, weight
    else:
        replicas.log_weights[index] = present


@part()
def move_state(rng, index, swaps, replicas, marginal, reference, table_values, constants):
    """Move the set of a replica; tell whether it changed."""
    power, state = replicas.powers[index], replicas.states[index]
    if power == 0.0:
        draw_reference_state(rng, state, marginal, reference)
        return True
    variance = math.exp(replicas.log_variances[index])
    table = build_table(state, variance, marginal, constants, table_values)
    changed = False
    if not reference.fixed_size:
        changed = scan_flips(rng, False, power, state, variance, marginal, reference, table)
    swapped = swap_columns(rng, swaps, power, state, variance, marginal, reference, table)
    return changed or swapped


@part()
def offer_with_noise(rng, index, scratch, replicas, marginal, reference, grid):
    """Offer a replica the set in the last row, with a noise variance of its own."""
    learn(scratch, replicas, marginal, reference)
    power = replicas.powers[index]
    weight, x = log_weight(rng, True, 0.0, scratch, power, replicas, reference, grid)
    if rng.standard_exponential() > replicas.log_weights[index] - weight:
        replicas.states[index] = replicas.states[scratch]
        replicas.numbers[index] = replicas.numbers[scratch]
        replicas.eigenvalues[index] = replicas.eigenvalues[scratch]
        replicas.explained[index] = replicas.explained[scratch]
        replicas.log_weights[index], replicas.log_variances[index] = weight, x


@part()
def move_with_noise(rng, index, replicas, marginal, reference, grid):
    """Offer changes of single columns along with another noise variance.

    A set that explains all but perfectly is worth nothing at the noise variance of one that does
    not: at a given one there is no way between them. On wine with a negated copy, common noise,
    the best set is 16 nats above the second mode, and 380 below it at the latter's noise variance.
    """
    scratch, size = replicas.powers.size, replicas.states.shape[1]
    for _ in range(OFFERS_WITH_NOISE):
        replicas.states[scratch] = replicas.states[index]
        state = replicas.states[scratch]
        if reference.fixed_size or rng.random() < 0.5:
            leaving = draw_movable(rng, state, 1, marginal)
            entering = draw_movable(rng, state, 0, marginal)
            if leaving < 0 or entering < 0:
                continue
            state[leaving], state[entering] = 0, 1
        else:
            column = int(rng.random() * size)
            if is_forced(column, marginal):
                continue
            state[column] = 1 - state[column]
        offer_with_noise(rng, index, scratch, replicas, marginal, reference, grid)


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
        cold, hot = weights[second], weights[first]
        at_cold, at_hot = replicas.log_variances[first], replicas.log_variances[second]
    else:
        cold, at_cold = log_weight(rng, True, 0.0, second, powers[first], replicas, reference, grid)
        hot, at_hot = log_weight(rng, True, 0.0, first, powers[second], replicas, reference, grid)
        log_ratio = cold + hot - weights[first] - weights[second]
    if decide(rng, first, log_ratio, replicas):
        weights[first], weights[second] = cold, hot
        replicas.log_variances[first], replicas.log_variances[second] = at_cold, at_hot
        exchange_rows(replicas.numbers, first)
        exchange_rows(replicas.eigenvalues, first)
        exchange_rows(replicas.explained, first)


@random_kernel
def advance_common(stream, iteration, everything, swaps, replicas, marginal, reference):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    iteration : int
        Decides which replicas move and which pairs exchange, even or odd ones.
    everything : bool
        Whether all replicas move and nothing is known of them, as when the model is a new one.
    swaps : int
        How many columns of each replica are exchanged.
    replicas : Replicas
        Changed in place.
    marginal : Marginal
        With one part and one group.
    reference : Reference
    """
    rng = generator_at(stream)
    number, size = replicas.powers.size, replicas.states.shape[1]
    constants = prior_constants(marginal)
    values = np.empty((size, size + marginal.squares.size))
    grid = np.empty(MOST_POINTS)
    is_held = not math.isnan(marginal.held[0])
    for index in range(number):
        if not moves_now(index, iteration, everything):
            continue
        changed = move_state(rng, index, swaps, replicas, marginal, reference, values, constants)
        if changed or everything or replicas.known[index] == 0:
            learn(index, replicas, marginal, reference)
        if is_held:
            replicas.log_weights[index] = log_held_weight(index, replicas)
        else:
            redraw_variance(rng, index, replicas, reference, grid)
            if replicas.powers[index] > 0.0:
                move_with_noise(rng, index, replicas, marginal, reference, grid)
    for first in range(iteration % 2, number - 1, 2):
        exchange_pair(rng, first, is_held, replicas, reference, grid)
    return count_round_trips(replicas)


@random_kernel
def move_beside(stream, backwards, state, log_variance, marginal, reference):
    """Move a set at the chain's own noise variance, by flips and one swap, or the other way round.

    Flips and swaps are each reversible; with the order drawn at random so is the whole, as the
    proposal of a chain has to be.

    Parameters
    ----------
    stream : numpy.random.Generator
    backwards : bool
        Whether the swap comes first and the flips last to first.
    state : int array (N,)
        Changed in place.
    log_variance : float
    marginal, reference
        As in `advance_common`.
    """
    rng = generator_at(stream)
    size, variance = state.size, math.exp(log_variance)
    values = np.empty((size, size + marginal.squares.size))
    table = build_table(state, variance, marginal, prior_constants(marginal), values)
    arguments = (1.0, state, variance, marginal, reference, table)
    if backwards:
        swap_columns(rng, 1, *arguments)
    if not reference.fixed_size:
        scan_flips(rng, backwards, *arguments)
    if not backwards:
        swap_columns(rng, 1, *arguments)
