"""The hyperparameters (μ, τ) of each weight in GBTN: Gibbs sweeps, and what integrates them out."""

import math

from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.interrupts import OF_A_DRAW, let_interrupts_in
from pymc_bid.kernels.prior.gtnsng import draw_gtnsng
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass

LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
SMALLEST_NORMAL = 2.2250738585072014e-308


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
        let_interrupts_in(OF_A_DRAW * columns)
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


@part()
def log_hierarchical_density(weight, hyper_mean, hyper_precision, shape, rate):
    r"""Return the log density of a weight with μ and τ integrated out, bounds left out.

    .. math:: \int \mathrm{Gamma}(τ \mid α_t, β_t)\, N(y \mid μ_μ, 1/τ + 1/τ_μ)\, dτ

    by the trapezoidal rule in log τ, which converges fast: the integrand falls off exponentially
    below its mode and doubly so above.
    """
    distance = weight - hyper_mean
    total = 0.0
    first, last, step = precision_range(shape, rate)
    x = first
    while x < last:
        tau = math.exp(x)
        precision = hyper_precision * tau / (hyper_precision + tau)
        exponent = shape * (x - first) - rate * tau - 0.5 * precision * distance * distance
        total += math.exp(exponent) * math.sqrt(precision)
        x += step
    log_scale = shape * (first + math.log(rate)) - math.lgamma(shape) - LOG_SQRT_TWO_PI
    return math.log(total * step) + log_scale


@part()
def log_hierarchical_mass(lower, upper, hyper_mean, hyper_precision, shape, rate):
    """Return the log of the mass that this density has within bounds."""
    total = 0.0
    first, last, step = precision_range(shape, rate)
    x = first
    while x < last:
        tau = math.exp(x)
        precision = hyper_precision * tau / (hyper_precision + tau)
        log_mass = log_interval_mass(hyper_mean, precision, lower, upper)
        total += math.exp(shape * (x - first) - rate * tau + log_mass)
        x += step
    return math.log(total * step) + shape * (first + math.log(rate)) - math.lgamma(shape)


@part()
def precision_range(shape, rate):
    """Return the first and last log τ, and the step, of the trapezoidal rule.

    Below the first the integrand is less than 1e-9 of its largest value, and beyond the last too.
    """
    mode = math.log(shape / rate)
    step = 0.35 * min(1.0, 1.0 / math.sqrt(shape))
    return mode - 21.0 / shape, math.log((shape + 40.0) / rate), step


@kernel()
def likely_precision(hyper_mean, hyper_precision, shape, rate, lower, upper):
    """Return the precision of the normal that is most like the density of a weight.

    As high above its value at the farther bound (or one standard deviation of μ away) at the mean.
    """
    reach = 1.0 / math.sqrt(hyper_precision)
    farther = max(abs(lower - hyper_mean), abs(upper - hyper_mean))
    if farther < math.inf:
        reach = farther
    high = log_hierarchical_density(hyper_mean, hyper_mean, hyper_precision, shape, rate)
    low = log_hierarchical_density(hyper_mean + reach, hyper_mean, hyper_precision, shape, rate)
    return 2.0 * (high - low) / (reach * reach)


@kernel()
def log_hierarchical_ratio(state, weights, prior, hyperprior, interpolated):
    """Return the log density of the used weights under the hierarchy, over that under `prior`.

    Parameters
    ----------
    state : int array (N,)
    weights : array (N, L)
    prior : WeightPrior
        The truncated normal that stands for the hierarchy.
    hyperprior : tuple of four (N, L) arrays
        μ_μ, τ_μ, α_t, β_t.
    interpolated : array (L,)
        1.0 for each target that is interpolated, else 0.0.
    """
    hyper_mean, hyper_precision, shape, rate = hyperprior
    shared = prior.lower.strides == (0, 0) and prior.upper.strides == (0, 0)
    for values in hyperprior:
        shared = shared and values.strides == (0, 0)
    log_mass, is_known = 0.0, False
    total = 0.0
    for row in range(weights.shape[0]):
        let_interrupts_in(OF_A_DRAW * weights.shape[1])
        if state[row] == 0:
            continue
        for target in range(weights.shape[1]):
            if interpolated[target] == 0.0:
                continue
            parameters = (
                hyper_mean[row, target],
                hyper_precision[row, target],
                shape[row, target],
                rate[row, target],
            )
            lower, upper = prior.lower[row, target], prior.upper[row, target]
            mean, precision = prior.mean[row, target], prior.precision[row, target]
            if not (shared and is_known):
                log_mass = log_interval_mass(mean, precision, lower, upper)
                log_mass -= log_hierarchical_mass(lower, upper, *parameters)
                is_known = True
            deviation = weights[row, target] - mean
            total += log_hierarchical_density(weights[row, target], *parameters) + log_mass
            total += 0.5 * precision * deviation * deviation - 0.5 * math.log(precision)
            total += LOG_SQRT_TWO_PI
    return total


@random_kernel
def draw_hyperparameters(
    stream, state, weights, mean_precision, hyperprior, prior, interpolated, were_used
):
    """Draw (μ, τ) after the state changed: given its weight where that is used, else anew.

        τ | y ∝ Gamma(τ | α_t, β_t) N(y | μ_μ, 1/τ + 1/τ_μ),  μ | y, τ as in `sweep_hyperparameters`

    and y with them where it is not used any more, all from the prior.

    Parameters
    ----------
    stream : numpy.random.Generator
    state, weights, hyperprior, prior, interpolated
        As in `log_hierarchical_ratio`; `weights` that are not used any more are changed in place.
    mean_precision : array (N, L, 2)
        Changed in place.
    were_used : bool array (N, L)
        Whether a weight was used before the state changed.
    """
    rng = generator_at(stream)
    hyper_mean, hyper_precision, shape, rate = hyperprior
    for row in range(weights.shape[0]):
        let_interrupts_in(OF_A_DRAW * weights.shape[1])
        for target in range(weights.shape[1]):
            center, spread = hyper_mean[row, target], hyper_precision[row, target]
            alpha, beta = shape[row, target], rate[row, target]
            if state[row] == 1 and interpolated[target] != 0.0:
                weight = weights[row, target]
                tau = draw_precision_given(rng, weight - center, spread, alpha, beta)
                total = tau + spread
                drawn = center + tau / total * (weight - center)
                mean_precision[row, target, 0] = drawn + rng.standard_normal() / math.sqrt(total)
                mean_precision[row, target, 1] = tau
            elif were_used[row, target]:
                lower, upper = prior.lower[row, target], prior.upper[row, target]
                mu, tau = draw_gtnsng(rng, center, spread, alpha, beta, lower, upper)
                mean_precision[row, target, 0] = mu
                mean_precision[row, target, 1] = tau
                weights[row, target] = draw_truncated_normal(rng, mu, tau, lower, upper)


@part()
def draw_precision_given(rng, distance, hyper_precision, shape, rate):
    r"""Draw τ given a weight at a distance from μ_μ, μ integrated out, by rejection.

    With :math:`u = τ / (τ + τ_μ)` a gamma draw is kept in proportion to
    :math:`\sqrt u \exp(-c u)`, :math:`c = \tfrac12 τ_μ (y - μ_μ)²`, which is largest at
    :math:`\min(1, 1 / 2c)`.
    """
    c = 0.5 * hyper_precision * distance * distance
    best = 1.0 if c < 0.5 else 0.5 / c
    highest = 0.5 * math.log(best) - c * best
    while True:
        # With a small shape a gamma draw can be less than the smallest number.
        tau = max(rng.standard_gamma(shape) / rate, SMALLEST_NORMAL)
        u = tau / (tau + hyper_precision)
        if rng.standard_exponential() > highest - 0.5 * math.log(u) + c * u:
            return tau
