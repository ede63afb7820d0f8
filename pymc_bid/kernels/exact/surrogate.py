"""The closed form at a set, with bounds or without, and noise variances drawn from it."""

import math

import numpy as np

from pymc_bid.kernels.by_reference import by_reference
from pymc_bid.kernels.compilation import kernel, spread
from pymc_bid.kernels.exact.exchange import LEAST_MASS, log_box_masses
from pymc_bid.kernels.marginal.evidence import (
    NoiseDensities,
    density_of,
    log_integral_of,
    noise_densities,
)
from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    find_mode,
    log_noise_density,
    log_table_density,
    tabulate_noise,
)
from pymc_bid.kernels.random_numbers import generator_at, random_kernel

ROUNDS = 10
"""Times that a noise variance and what the bounds make of it are found given each other, at most;
nearly always it is one or two."""
SMALL_CHANGE = 0.3
"""In the log density at the mode: nothing is left to be found. Of 900 sets of three slices of the
panel no log evidence is off by more than 0.004 for it."""


@kernel()
def log_marginal_at(state, log_variances, marginal):
    """Return log p(A, x | r) of a marginal model, x = log σ² of each group, (S,)."""
    marginal = by_reference(marginal)
    densities = noise_densities(state, marginal)
    total = densities.rest
    for group in range(log_variances.size):
        total += log_noise_density(log_variances[group], density_of(group, densities, marginal))
    return total


@spread()
def log_masses_of_groups(rng, state, x, box):
    """Return the log of the mass within the bounds of the weights of each group, (S,)."""
    totals, log_masses = np.zeros(x.size), log_box_masses(rng, state, x, box)
    for target in range(log_masses.size):
        totals[box.group[target]] += log_masses[target]
    return totals


@spread()
def within_bounds(rng, state, densities, marginal, box):
    r"""Return the densities of the noise variances times the mass within the bounds, about.

    What bounds keep the weights from explaining is left of the targets: the mass is about
    :math:`\exp(a - c / σ²)`, and :math:`c` adds to the scale of the density. Both are found where
    the product has its mode.
    """
    found, number = densities, densities.scale.size
    if box.lower.size == 0:
        return found
    x, beside = np.zeros(number), np.zeros(number)
    for _ in range(ROUNDS):
        scale, rest = densities.scale.copy(), densities.rest
        for group in range(number):
            density = density_of(group, found, marginal)
            if density.targets.sum() > 0.0:
                x[group], deviation = find_mode(density)
                beside[group] = x[group] + deviation
        here = log_masses_of_groups(rng, state, x, box)
        there = log_masses_of_groups(rng, state, beside, box)
        change = 0.0
        for group in range(number):
            # Those of groups without targets are where they were.
            if beside[group] > x[group]:
                inverse = math.exp(-x[group])
                pull = (there[group] - here[group]) / (inverse - math.exp(-beside[group]))
                if here[group] < LEAST_MASS:
                    # Differences have no digits left, and a is nothing beside the rest.
                    pull = -here[group] / inverse
                pull = max(pull, -0.5 * scale[group])
                scale[group] += pull
                rest += here[group] + pull * inverse
                change = max(change, abs(scale[group] - found.scale[group]) * inverse)
        eigenvalues, explained = densities.eigenvalues, densities.explained
        shape, targets = densities.shape, densities.targets
        found = NoiseDensities(shape, scale, targets, eigenvalues, explained, rest)
        if change < SMALL_CHANGE:
            break
    return found


@spread()
def log_bounded_evidence(rng, state, marginal, box):
    """Return about log p(A | J) with the bounds, every noise variance integrated out or held."""
    densities = noise_densities(state, marginal)
    if math.isnan(marginal.held[0]):
        return log_integral_of(within_bounds(rng, state, densities, marginal, box), marginal)
    total = log_integral_of(densities, marginal)
    if box.lower.size > 0:
        for log_mass in log_box_masses(rng, state, np.log(marginal.held), box):
            total += log_mass
    return total


@random_kernel
def propose_noise(stream, drawing, state, log_variances, marginal, box):
    """Return log q(x), log p(A, x | r) without bounds, and about log p(A | r) with them.

    q is the density of tables, one for each group, close to the posterior of the log noise
    variances x given the state.

    Parameters
    ----------
    stream : numpy.random.Generator
    drawing : bool
        Whether to draw them, or to take those that are there.
    state : int array (N,)
    log_variances : array (S,)
        Changed in place if drawing.
    marginal : Marginal
    box : Box
    """
    rng, marginal, box = generator_at(stream), by_reference(marginal), by_reference(box)
    densities = noise_densities(state, marginal)
    bounded = within_bounds(rng, state, densities, marginal, box)
    grid, log_proposal, log_joint = np.empty(MOST_POINTS), 0.0, densities.rest
    for group in range(log_variances.size):
        density = density_of(group, bounded, marginal)
        if density.targets.sum() > 0.0:
            table = tabulate_noise(density, grid)
            if drawing:
                log_variances[group] = draw_from_table(rng, table)
            log_proposal += log_table_density(log_variances[group], table)
        else:
            if drawing:
                drawn = density.scale / rng.standard_gamma(density.shape)
                log_variances[group] = math.log(min(max(drawn, 1e-300), 1e300))
            log_proposal += log_noise_density(log_variances[group], density)
            log_proposal += density.shape * math.log(density.scale) - math.lgamma(density.shape)
        x = log_variances[group]
        log_joint += log_noise_density(x, density_of(group, densities, marginal))
    return log_proposal, log_joint, log_integral_of(bounded, marginal)
