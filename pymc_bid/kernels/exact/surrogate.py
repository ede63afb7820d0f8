"""The closed form at a set, with bounds or without, and noise variances drawn from it."""

import math
from functools import partial

import numpy as np
from numba import typeof, types

from pymc_bid.kernels.by_address import ByAddress, keep_address_out
from pymc_bid.kernels.by_reference import by_reference, type_by_reference
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
from pymc_bid.kernels.types import Box, Marginal, NoiseDensity

ROUNDS = 10
"""Times that a noise variance and what the bounds make of it are found given each other, at most;
nearly always it is one or two."""
SMALL_CHANGE = 0.3
"""In the log density at the mode: nothing is left to be found. Of 900 sets of three slices of the
panel no log evidence is off by more than 0.004 for it."""

_vector, _matrix = types.float64[::1], types.float64[:, ::1]
_densities = types.NamedTuple(
    (_vector, _vector, _vector, _matrix, _matrix, types.float64), NoiseDensities
)


@kernel()
def log_marginal_at(state, log_variances, marginal):
    """Return log p(A, x | r) of a marginal model, x = log σ² of each group, (S,)."""
    marginal = by_reference(marginal)
    densities = noise_densities(state, marginal)
    total = densities.rest
    for group in range(log_variances.size):
        total += log_noise_density(
            log_variances[group], density_of(group, densities, marginal.group_start)
        )
    return total


@spread()
def log_masses_of_groups(state, x, box):
    """Return the log of the mass within the bounds of the weights of each group, (S,)."""
    totals, log_masses = np.zeros(x.size), log_box_masses(state, x, box)
    for target in range(log_masses.size):
        totals[box.group[target]] += log_masses[target]
    return totals


@spread()
def within_bounds(state, densities, marginal, box):
    r"""Return the densities of the noise variances times the mass within the bounds, about.

    What bounds keep the weights from explaining is left of the targets: the mass is about
    :math:`\exp(a - c / σ²)`, and :math:`c` adds to the scale of the density. Both are found where
    the product has its mode.
    """
    found, number = densities, densities.scale.size
    x, beside = np.zeros(number), np.zeros(number)
    for _ in range(ROUNDS):
        scale, rest = densities.scale.copy(), densities.rest
        for group in range(number):
            density = density_of(group, found, marginal.group_start)
            if density.targets.sum() > 0.0:
                x[group], deviation = find_mode(density)
                beside[group] = x[group] + deviation
        here = log_masses_of_groups(state, x, box)
        there = log_masses_of_groups(state, beside, box)
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


@partial(ByAddress, types.Tuple((types.float64, types.float64, _vector, _densities)))
def evidence_of_set(state, with_bounds, marginal, box):
    """Return log p(A | J), every noise variance integrated out or held, and what bounds add to it.

    The latter about, and 0 if it is not asked for. Then the scales of the densities of the noise
    variances within the bounds, (S,), and the densities without them.
    """
    densities = noise_densities(state, marginal)
    log_evidence, log_mass, scale = log_integral_of(densities, marginal), 0.0, densities.scale
    if with_bounds and box.lower.size > 0:
        if math.isnan(marginal.held[0]):
            found = within_bounds(state, densities, marginal, box)
            log_mass, scale = log_integral_of(found, marginal) - log_evidence, found.scale
        else:
            for of_target in log_box_masses(state, np.log(marginal.held), box):
                log_mass += of_target
        # More is not to be had; moves of replicas rely on it.
        log_mass = min(log_mass, 0.0)
    return log_evidence, log_mass, scale, densities


call_evidence = evidence_of_set.call


def with_evidence(marginal: Marginal, box: Box) -> Box:
    """Return the bounds with the address of the function that evidences are found by."""
    kinds = (type_by_reference(typeof(value)) for value in (marginal, box))
    return box._replace(evidence=evidence_of_set.address(types.int64[::1], types.boolean, *kinds))


keep_address_out(Box, evidence_of_set)


@kernel()
def find_evidence(state, with_bounds, marginal, box):
    """Return what `evidence_of_set` does, of a set, (N,)."""
    return call_evidence(
        box.evidence, (state, with_bounds, by_reference(marginal), by_reference(box))
    )


@random_kernel
def propose_noise(stream, drawing, log_variances, scale, densities, group_start):
    """Return log q(x) and log p(A, x | r), the latter without bounds.

    q is the density of tables, one for each group, close to the posterior of the log noise
    variances x given the state.

    Parameters
    ----------
    stream : numpy.random.Generator
    drawing : bool
        Whether to draw them, or to take those that are there.
    log_variances : array (S,)
        Changed in place if drawing.
    scale : array (S,)
        By `evidence_of_set`, as are the densities.
    densities : NoiseDensities
    group_start : int array (S + 1,)
        See `Marginal`.
    """
    rng = generator_at(stream)
    grid, log_proposal, log_joint = np.empty((2, MOST_POINTS)), 0.0, densities.rest
    for group in range(log_variances.size):
        density = density_of(group, densities, group_start)
        if density.targets.sum() > 0.0:
            shape, targets = density.shape, density.targets
            eigenvalues, explained = density.eigenvalues, density.explained
            bounded = NoiseDensity(shape, scale[group], targets, eigenvalues, explained)
            table = tabulate_noise(bounded, grid)
            if drawing:
                log_variances[group] = draw_from_table(rng, table)
            log_proposal += log_table_density(log_variances[group], table)
        else:
            if drawing:
                drawn = density.scale / rng.standard_gamma(density.shape)
                log_variances[group] = math.log(min(max(drawn, 1e-300), 1e300))
            log_proposal += log_noise_density(log_variances[group], density)
            log_proposal += density.shape * math.log(density.scale) - math.lgamma(density.shape)
        log_joint += log_noise_density(log_variances[group], density)
    return log_proposal, log_joint
