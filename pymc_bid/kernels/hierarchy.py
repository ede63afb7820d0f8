"""Gibbs sweep over the hyperparameters (μ, τ) of each weight in GBTN."""

import math

from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@random_kernel
def sweep_hyperparameters(
    stream, mean_precision, weights, hyper_mean, hyper_precision, shape, rate
):
    """Draw μ_kl, then τ_kl, from their full conditionals, in place.

    Under the GTNSNG prior the truncation constant of y_kl | μ_kl, τ_kl cancels, which leaves the
    conditionals of the ordinary normal hierarchy:

        μ_kl | . ~ Normal( (τ_kl y_kl + τ_μ μ_μ) / (τ_kl + τ_μ), 1 / (τ_kl + τ_μ) )
        τ_kl | . ~ Gamma( α_t + 1/2, β_t + (y_kl - μ_kl)² / 2 )

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    mean_precision : float64 array (N, L, 2)
        μ and τ along the last axis, updated in place.
    weights : float64 array (N, L)
    hyper_mean, hyper_precision, shape, rate : float64 arrays (N, L)
        μ_μ, τ_μ, α_t, β_t; broadcast views are welcome.
    """
    rng = generator_at(stream)
    rows, columns = weights.shape
    for row in range(rows):
        for column in range(columns):
            weight = weights[row, column]
            tau = mean_precision[row, column, 1]
            prior_precision = hyper_precision[row, column]
            total = tau + prior_precision
            centre = (tau * weight + prior_precision * hyper_mean[row, column]) / total
            mu = centre + rng.standard_normal() / math.sqrt(total)
            deviation = weight - mu
            mean_precision[row, column, 0] = mu
            mean_precision[row, column, 1] = rng.standard_gamma(shape[row, column] + 0.5) / (
                rate[row, column] + 0.5 * deviation * deviation
            )
