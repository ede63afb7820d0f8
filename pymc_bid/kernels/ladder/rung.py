"""A place of the path from the reference to the marginal model, and the noise there."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.exact.exchange import log_box_masses
from pymc_bid.kernels.ladder.replicas import Reference
from pymc_bid.kernels.marginal.evidence import density_of, density_of_target
from pymc_bid.kernels.marginal.factor import write_block
from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    log_noise_density,
    log_table_density,
    tabulate_noise,
)
from pymc_bid.kernels.types import Box, Marginal, NoiseDensity


class Rung(NamedTuple):
    """Where a replica is on the path, and what the path is between."""

    power: float
    """β."""
    bound_power: float
    """γ."""
    marginal: Marginal
    reference: Reference
    box: Box


class Replica(NamedTuple):
    """One replica, changed in place."""

    state: NDArray[np.int64]
    """r, (N,)."""
    log_variances: NDArray[np.float64]
    """x, (S,)."""
    log_mass: NDArray[np.float64]
    """Log of the mass within the bounds, an array of one number."""


@part()
def tempered(density, power, reference):
    """Return the density of x at a power."""
    return NoiseDensity(
        power * density.shape + (1.0 - power) * reference.shape,
        power * density.scale + (1.0 - power) * reference.scale,
        power * density.targets,
        density.eigenvalues,
        power * density.explained,
    )


@spread()
def log_gamma_density(x, shape, scale):
    """Return the log density of the logarithm of an inverse gamma variable."""
    return shape * (math.log(scale) - x) - scale * math.exp(-x) - math.lgamma(shape)


@part()
def draw_log_gamma(rng, shape, scale):
    """Draw the logarithm of an inverse gamma variable."""
    return math.log(scale) - math.log(max(rng.standard_gamma(shape), 1e-300))


@part()
def unused_parameters(group, rung):
    """Return shape and scale of the noise of a group without targets, at a power."""
    power, marginal, reference = rung.power, rung.marginal, rung.reference
    shape = power * marginal.shape[group] + (1.0 - power) * reference.shape
    return shape, power * marginal.scale[group] + (1.0 - power) * reference.scale


@part()
def log_peak(group, target, rung):
    """Return about how high the log density of x of a group of one target is at its mode."""
    shape, _ = unused_parameters(group, rung)
    return 0.5 * math.log((shape + 0.5 * rung.power * rung.marginal.rows[target]) / (2 * math.pi))


@part()
def log_own_noise(rng, drawing, column, replica, rung):
    """Return what the noise of a column's own groups adds to the log odds of in against out.

    At its x, drawn anew if asked for: log(q / f), f with the likelihood, and how much of that is q
    below its peak. The replica has the column out.
    """
    marginal, x = rung.marginal, replica.log_variances
    members = np.flatnonzero(replica.state)
    grid = np.empty((2, MOST_POINTS))
    total, below = 0.0, 0.0
    for group in marginal.own_groups[column]:
        target = marginal.block_start[marginal.group_start[group]]
        density = tempered(
            density_of_target(target, group, members, marginal), rung.power, rung.reference
        )
        table = tabulate_noise(density, grid)
        if drawing:
            x[group] = draw_from_table(rng, table)
        log_density = log_noise_density(x[group], density)
        constants = marginal.log_constants[target]
        for member in members:
            log_density += rung.power * constants[member]
        shape, scale = unused_parameters(group, rung)
        log_proposal = log_table_density(x[group], table)
        # Without a target its integral is that of the prior.
        total += log_proposal - log_density + math.lgamma(shape) - shape * math.log(scale)
        below += log_proposal - log_peak(group, target, rung)
    return total, below


@part()
def log_noise_weights(rng, densities, x, proposed, rung):
    r"""Draw x of all groups from tables q; return :math:`\log [f / q]` of them and of present ones.

    But for what a table misses it does not depend on x.
    """
    marginal, present, found = rung.marginal, 0.0, 0.0
    grid = np.empty((2, MOST_POINTS))
    for group in range(x.size):
        density = density_of(group, densities, marginal.group_start)
        if density.targets.sum() > 0.0:
            density = tempered(density, rung.power, rung.reference)
            table = tabulate_noise(density, grid)
            proposed[group] = draw_from_table(rng, table)
            found += log_noise_density(proposed[group], density)
            found -= log_table_density(proposed[group], table)
            present += log_noise_density(x[group], density) - log_table_density(x[group], table)
        else:
            shape, scale = unused_parameters(group, rung)
            proposed[group] = draw_log_gamma(rng, shape, scale)
            constant = math.lgamma(shape) - shape * math.log(scale)
            found, present = found + constant, present + constant
    return found, present


@spread()
def release_own_noise(rng, column, x, rung):
    """Draw the noise variances of a column's own groups, which have no target any more."""
    for group in rung.marginal.own_groups[column]:
        x[group] = draw_log_gamma(rng, *unused_parameters(group, rung))


@part()
def mass_of(replica, rung):
    """Return the log of the mass within the bounds, 0 where nobody asks."""
    if rung.bound_power == 0.0:
        return 0.0
    x = replica.log_variances
    if not math.isnan(rung.marginal.held[0]):
        x = np.log(rung.marginal.held)
    total = 0.0
    for log_mass in log_box_masses(replica.state, x, rung.box):
        total += log_mass
    return total


@part()
def variances_of(replica, marginal):
    """Return the noise variances of the groups that a factor is made at.

    For groups that nobody uses, those of chosen columns, any will do: what is computed at it is
    taken out again, and at an x far from the data nothing would be left of the rest.
    """
    if not math.isnan(marginal.held[0]):
        return marginal.held
    variances = np.exp(replica.log_variances)
    for column in range(replica.state.size):
        if replica.state[column] == 1:
            for d in range(marginal.own_groups.shape[1]):
                variances[marginal.own_groups[column, d]] = 1.0
    return variances


@spread()
def is_rejected(rng, log_ratio, log_mass, replica, rung):
    """Whether a proposal with another mass within the bounds is rejected."""
    log_ratio += rung.bound_power * (log_mass - replica.log_mass[0])
    return not rng.standard_exponential() > -log_ratio


@spread()
def write_own_blocks(column, x, marginal, factor):
    """Bring the factor up to date after the noise of a column's own groups has changed."""
    for group in marginal.own_groups[column]:
        write_block(marginal.group_start[group], math.exp(x[group]), marginal, factor)
