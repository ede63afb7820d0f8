"""Exact draws from GTNSNG, the prior of the mean and precision of a truncated normal weight."""

import math

import numpy as np

from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass

_PLAIN_ATTEMPTS = 30
_CELLS = 256
_NOTHING = 40.0
"""In logarithms: less than any number that it is added to would notice."""
_SMALLEST_NORMAL = 2.2250738585072014e-308


@kernel()
def draw_gtnsng(rng, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
    r"""Draw a mean and a precision from the GTNSNG prior.

    They are the (μ, τ) of an ordinary normal hierarchy, given that its weight z ~ N(μ, 1/τ) fell
    between the bounds. With μ integrated out, z | τ ~ N(μ_μ, 1/τ_μ + 1/τ), so

        τ ~ Gamma(α_t, β_t), kept in proportion to P(lower ≤ z ≤ upper | τ)
        z | τ ~ N(μ_μ, 1/τ_μ + 1/τ), truncated to the bounds
        μ | z, τ ~ N((τ z + τ_μ μ_μ) / (τ + τ_μ), 1 / (τ + τ_μ))

    Parameters
    ----------
    rng : numpy.random.Generator
    mu_mu, tau_mu, alpha_t, beta_t, lower, upper : float

    Returns
    -------
    tuple of float
        (μ, τ); nan where the bounds hold no mass that could be told from 0.
    """
    if not (tau_mu > 0.0 and alpha_t > 0.0 and beta_t > 0.0 and lower < upper):
        raise ValueError("GTNSNG needs tau_mu > 0, alpha_t > 0, beta_t > 0 and lower < upper")
    tau = _draw_precision(rng, mu_mu, tau_mu, alpha_t, beta_t, lower, upper)
    # Neither the product nor the sum of the reciprocals, which may leave the range of numbers.
    smaller, larger = min(tau, tau_mu), max(tau, tau_mu)
    weight = draw_truncated_normal(rng, mu_mu, smaller / (1.0 + smaller / larger), lower, upper)
    total = tau + tau_mu
    centre = mu_mu + (tau / total) * (weight - mu_mu)
    return centre + rng.standard_normal() / math.sqrt(total), tau


@kernel()
def _draw_precision(rng, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
    """Draw τ by keeping a gamma draw with the mass it gives to the bounds, over the largest mass.

    Where nearly every gamma draw is thrown away, because the bounds are far from the mean, another
    way of rejection takes over. Both are exact, and so is one after the other.
    """
    peak = _log_precision_of_most_mass(mu_mu, tau_mu, lower, upper)
    most = _log_mass_given(peak, mu_mu, tau_mu, lower, upper)
    if not most > -np.inf:
        return np.nan
    for _ in range(_PLAIN_ATTEMPTS):
        # With a small shape a gamma draw can be less than the smallest number.
        tau = max(rng.standard_gamma(alpha_t) / beta_t, _SMALLEST_NORMAL)
        log_mass = _log_mass_given(math.log(tau), mu_mu, tau_mu, lower, upper)
        if rng.standard_exponential() >= most - log_mass:
            return tau
    x = _draw_log_precision(rng, peak, mu_mu, tau_mu, alpha_t, beta_t, lower, upper)
    return max(math.exp(x), _SMALLEST_NORMAL)


@kernel()
def _log_mass_given(x, mu_mu, tau_mu, lower, upper):
    """Logarithm of P(lower ≤ z ≤ upper | τ) at x = log τ; x may be infinite."""
    return log_interval_mass(mu_mu, tau_mu / (1.0 + tau_mu * math.exp(-x)), lower, upper)


@kernel()
def _log_precision_of_most_mass(mu_mu, tau_mu, lower, upper):
    """Find log τ at which P(lower ≤ z ≤ upper | τ) is largest; it falls off on either side.

    With the mean inside the bounds the best spread of z is the smallest one, τ = ∞. Outside, at the
    distances d < D from the bounds, it is the variance (D² - d²) / (2 log(D / d)).
    """
    if lower <= mu_mu <= upper:
        return np.inf
    near = lower - mu_mu if mu_mu < lower else mu_mu - upper
    width = upper - lower
    if math.isinf(width):
        return -np.inf
    variance = 0.5 * width * (2.0 * near + width) / math.log1p(width / near)
    excess = variance - 1.0 / tau_mu
    return -math.log(excess) if excess > 0.0 else np.inf


@kernel()
def _draw_log_precision(rng, peak, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
    """Draw x = log τ by rejection from a step function.

    The log density is c(x) + m(x), with c(x) = α_t x - β_t exp(x), which rises up to its mode and
    falls after it, and m the log mass, which does so at `peak`. Over any cell the largest c plus
    the largest m are known, hence steps that lie above the density. Cells that come to nothing
    beside it make room for narrower ones.
    """
    mode = math.log(alpha_t / beta_t)
    most = _log_mass_given(peak, mu_mu, tau_mu, lower, upper)
    level = alpha_t * mode - alpha_t + _log_mass_given(mode, mu_mu, tau_mu, lower, upper)
    ends = np.empty(2)
    for side in range(2):
        ends[side], step = mode, 1.0 - 2.0 * (side == 0)
        while alpha_t * ends[side] - beta_t * math.exp(ends[side]) + most > level - _NOTHING:
            ends[side] = mode + step
            step *= 2.0
    heights, first, last, width = np.empty(_CELLS), 0, 0, 0.0
    while last - first < _CELLS // 2:
        width = (ends[1] - ends[0]) / _CELLS
        for i in range(_CELLS):
            left, right = ends[0] + i * width, ends[0] + (i + 1) * width
            best = min(max(mode, left), right)
            heights[i] = alpha_t * best - beta_t * math.exp(best)
            heights[i] += _log_mass_given(min(max(peak, left), right), mu_mu, tau_mu, lower, upper)
            value = alpha_t * left - beta_t * math.exp(left)
            level = max(level, value + _log_mass_given(left, mu_mu, tau_mu, lower, upper))
        first, last = 0, _CELLS
        while heights[first] < level - _NOTHING:
            first += 1
        while heights[last - 1] < level - _NOTHING:
            last -= 1
        if last - first < _CELLS // 2:
            ends[0], ends[1] = ends[0] + first * width, ends[0] + last * width
    while True:
        # The largest log weight plus Gumbel noise is a cell drawn by weight: no sums, no overflow.
        cell, best = 0, -np.inf
        for i in range(_CELLS):
            score = heights[i] - math.log(rng.standard_exponential())
            if score > best:
                cell, best = i, score
        x = ends[0] + (cell + rng.random()) * width
        log_density = alpha_t * x - beta_t * math.exp(x)
        log_density += _log_mass_given(x, mu_mu, tau_mu, lower, upper)
        if rng.standard_exponential() >= heights[cell] - log_density:
            return x
