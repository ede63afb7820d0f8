"""Moves of replicas (r, σ²) with one noise variance for all targets, by the sweep operator."""

import math

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.ladder.replicas import (
    draw_reference_state,
    exchange_neighbours,
    is_forced,
    log_priors,
    movable_members,
    tempered_odds,
)
from pymc_bid.kernels.marginal.evidence import density_of, noise_densities
from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    log_noise_density,
    log_table_density,
    redraw_noise,
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


@part()
def scan_flips(rng, power, state, variance, marginal, reference, table):
    """Offer every column in turn to go in or out."""
    for column in range(state.size):
        if is_forced(column, marginal):
            continue
        log_odds = tempered_odds(column, power, marginal, reference)
        log_odds += power * log_odds_from_data(state, column, variance, marginal, table)
        log_ratio = -log_odds if state[column] == 1 else log_odds
        if rng.standard_exponential() > -log_ratio:
            change_column(state, column, marginal, table)


@part()
def swap_columns(rng, number, power, state, variance, marginal, reference, table):
    """Take a chosen column out and draw the one that goes in among all that could, `number` times.

    Each is a Gibbs update: given the columns that stay, all candidates are scored.
    """
    members = np.empty(state.size, np.int64)
    scores = np.empty(state.size)
    for _ in range(number):
        chosen = movable_members(state, marginal, members)
        if chosen == 0 or chosen == state.size:
            return
        change_column(state, members[int(rng.random() * chosen)], marginal, table)
        highest = -np.inf
        for column in range(state.size):
            scores[column] = -np.inf
            if state[column] == 0 and not is_forced(column, marginal):
                log_odds = tempered_odds(column, power, marginal, reference)
                log_odds += power * log_odds_from_data(state, column, variance, marginal, table)
                # The largest of log weights plus Gumbel noise is a draw by weight.
                scores[column] = log_odds - math.log(rng.standard_exponential())
                highest = max(highest, scores[column])
        change_column(state, np.argmax(scores), marginal, table)


@part()
def temper(density, power, reference):
    """Return the density of x at a power."""
    return NoiseDensity(
        power * density.shape + (1.0 - power) * reference.shape,
        power * density.scale + (1.0 - power) * reference.scale,
        power * density.targets,
        density.eigenvalues,
        power * density.projections,
    )


@part()
def log_weight(rng, drawing, x, power, energy, density, reference, grid):
    r"""Return :math:`\log [π_β(r, x) / q_β(x \mid r)]`, and x, drawn from the table q if asked for.

    It hardly depends on x: but for what a table misses it is π_β(r).
    """
    log_prior, log_reference = energy
    tempered = temper(density, power, reference)
    table = tabulate_noise(tempered, grid)
    if drawing:
        x = draw_from_table(rng, table)
    log_ratio = log_noise_density(x, tempered) - log_table_density(x, table)
    return power * log_prior + (1.0 - power) * log_reference + log_ratio, x


@part()
def log_exchange(rng, first, energies, densities, replicas, reference, grid, proposed):
    """Return the log acceptance ratio of an exchange of i and i + 1, noise variances drawn anew.

    A noise variance that is right at one power is not at another, and would keep sets from being
    exchanged that could be. Those to be had after the exchange are written to `proposed`.
    """
    total = 0.0
    for index in (first, first + 1):
        power, other = replicas.powers[index], 2 * first + 1 - index
        weight, _ = log_weight(
            *(rng, False, replicas.log_variances[index], power),
            *(energies[index], densities[index], reference, grid),
        )
        exchanged, proposed[index] = log_weight(
            rng, True, 0.0, power, energies[other], densities[other], reference, grid
        )
        total += exchanged - weight
    return total


@random_kernel
def advance_common(stream, parity, swaps, replicas, marginal, reference):
    """Move every replica once and let neighbours exchange; return the round trips ended.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    parity : int
        Which pairs exchange.
    swaps : int
        How many columns of each replica are exchanged.
    replicas : Replicas
        Changed in place.
    marginal : Marginal
        With one part and one group.
    reference : Reference
    """
    rng = generator_at(stream)
    number, size = replicas.states.shape
    constants = prior_constants(marginal)
    values = np.empty((size, size + marginal.squares.size))
    grid = np.empty(MOST_POINTS)
    is_held = not math.isnan(marginal.held[0])
    densities, energies = [], []
    for index in range(number):
        power, state = replicas.powers[index], replicas.states[index]
        x = replicas.log_variances[index]
        if power == 0.0:
            draw_reference_state(rng, state, marginal, reference)
        else:
            variance = math.exp(x)
            table = build_table(state, variance, marginal, constants, values)
            if not reference.fixed_size:
                scan_flips(rng, power, state, variance, marginal, reference, table)
            swap_columns(rng, swaps, power, state, variance, marginal, reference, table)
        found = noise_densities(state, marginal)
        density = density_of(0, found)
        log_prior, log_reference = log_priors(state, marginal, reference)
        densities.append(density)
        energies.append((log_prior + found[5], log_reference))
        if not is_held:
            x = redraw_noise(rng, x, temper(density, power, reference), grid)
            replicas.log_variances[index] = x
    log_acceptances = np.zeros(number)
    proposed = replicas.log_variances.copy()
    for first in range(parity, number - 1, 2):
        if is_held:
            difference = replicas.powers[first] - replicas.powers[first + 1]
            for index, sign in ((first, -1.0), (first + 1, 1.0)):
                log_prior, log_reference = energies[index]
                log_ratio = log_prior - log_reference
                log_ratio += log_noise_density(replicas.log_variances[index], densities[index])
                log_acceptances[first] += sign * difference * log_ratio
        else:
            log_acceptances[first] = log_exchange(
                rng, first, energies, densities, replicas, reference, grid, proposed
            )
    return exchange_neighbours(rng, parity, log_acceptances, proposed, replicas)
