"""The closed form at a state of the chain, and noise variances drawn from it."""

import math

import numpy as np

from pymc_bid.kernels.by_reference import by_reference
from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.marginal.evidence import density_of, noise_densities
from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    log_noise_density,
    log_noise_integral,
    log_table_density,
    tabulate_noise,
)
from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@kernel()
def log_marginal_at(state, log_variances, marginal):
    """Return log p(A, x | r) of a marginal model, x = log σ² of each group, (S,)."""
    marginal = by_reference(marginal)
    densities = noise_densities(state, marginal)
    total = densities.rest
    for group in range(log_variances.size):
        total += log_noise_density(log_variances[group], density_of(group, densities, marginal))
    return total


@random_kernel
def propose_noise(stream, drawing, state, log_variances, marginal):
    """Return the log densities of log noise variances, under a proposal and without bounds, and E.

    The first is that of tables, one for each group, which are close to the second, the posterior
    given the state; E is the log evidence of the state.

    Parameters
    ----------
    stream : numpy.random.Generator
    drawing : bool
        Whether to draw them, or to take those that are there.
    state : int array (N,)
    log_variances : array (S,)
        Changed in place if drawing.
    marginal : Marginal
    """
    rng, marginal = generator_at(stream), by_reference(marginal)
    densities = noise_densities(state, marginal)
    grid, log_evidence = np.empty(MOST_POINTS), densities.rest
    log_proposal, log_posterior = 0.0, 0.0
    for group in range(log_variances.size):
        density = density_of(group, densities, marginal)
        if density.targets.sum() > 0.0:
            table = tabulate_noise(density, grid)
            if drawing:
                log_variances[group] = draw_from_table(rng, table)
            x = log_variances[group]
            log_proposal += log_table_density(x, table)
            log_integral = log_noise_integral(density)
            log_posterior += log_noise_density(x, density) - log_integral
            log_evidence += log_integral
        else:
            if drawing:
                drawn = density.scale / rng.standard_gamma(density.shape)
                log_variances[group] = math.log(min(max(drawn, 1e-300), 1e300))
            x = log_variances[group]
            log_integral = math.lgamma(density.shape) - density.shape * math.log(density.scale)
            log_prior = -density.shape * x - density.scale * math.exp(-x) - log_integral
            log_proposal += log_prior
            log_posterior += log_prior
            log_evidence += log_integral
    return log_proposal, log_posterior, log_evidence
