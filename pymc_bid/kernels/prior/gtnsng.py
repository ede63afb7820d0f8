"""Exact draws from GTNSNG, the prior of the mean and precision of a truncated normal weight."""

import math

import numpy as np

from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass

_PLAIN_ATTEMPTS = 30
_MOST_CELLS = 10_000
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

    Where nearly every gamma draw is thrown away, because the bounds are far from the mean, the
    adaptive sampler takes over. Both are exact, and so is one after the other.
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
    """Draw x = log τ by adaptive rejection.

    The log density is c(x) + m(x), with c(x) = α_t x - β_t exp(x) concave and m the log mass, which
    rises up to `peak` and falls after it. Over any cell the largest c plus the largest m are known,
    hence a step function that lies above the density; beyond the outermost cells it goes on as an
    exponential. A rejected point splits its cell, so that the steps close in on the density.
    """
    mode = math.log(alpha_t / beta_t)
    # Cell i lies between edges i - 1 and i; cells 0 and `count` are the two tails.
    edges = np.empty(_MOST_CELLS)
    heights = np.empty(_MOST_CELLS + 1)
    log_weights = np.empty(_MOST_CELLS + 1)
    count = _place_edges(edges, mode, peak, mu_mu, tau_mu, alpha_t, beta_t, lower, upper)
    first, last = 0, count

    while True:
        for i in range(first, last + 1):
            left = edges[i - 1] if i > 0 else -np.inf
            right = edges[i] if i < count else np.inf
            height = _log_mass_given(min(max(peak, left), right), mu_mu, tau_mu, lower, upper)
            if i == 0:
                height += alpha_t * right
                log_weights[i] = height - math.log(alpha_t)
            elif i == count:
                height += alpha_t * left - beta_t * math.exp(left)
                log_weights[i] = height - math.log(beta_t * math.exp(left) - alpha_t)
            else:
                best = min(max(mode, left), right)
                height += alpha_t * best - beta_t * math.exp(best)
                log_weights[i] = height + math.log(right - left)
            heights[i] = height

        # The largest log weight plus Gumbel noise is a cell drawn by weight: no sums, no overflow.
        cell, best = 0, -np.inf
        for i in range(count + 1):
            score = log_weights[i] - math.log(rng.standard_exponential())
            if score > best:
                cell, best = i, score

        bound = heights[cell]
        if cell == 0:
            step = rng.standard_exponential()
            x = edges[0] - step / alpha_t
            bound -= step
        elif cell == count:
            step = rng.standard_exponential()
            x = edges[count - 1] + step / (beta_t * math.exp(edges[count - 1]) - alpha_t)
            bound -= step
        else:
            x = edges[cell - 1] + (edges[cell] - edges[cell - 1]) * rng.random()

        log_density = alpha_t * x - beta_t * math.exp(x)
        log_density += _log_mass_given(x, mu_mu, tau_mu, lower, upper)
        if rng.standard_exponential() >= bound - log_density:
            return x

        # A cell of no width would weigh nothing and could not be split again.
        inside = (cell == 0 or x > edges[cell - 1]) and (cell == count or x < edges[cell])
        first, last = cell, cell - 1
        if count < _MOST_CELLS and inside:
            for i in range(count, cell, -1):
                edges[i] = edges[i - 1]
                heights[i + 1] = heights[i]
                log_weights[i + 1] = log_weights[i]
            edges[cell] = x
            count += 1
            last = cell + 1


@kernel()
def _place_edges(edges, mode, peak, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
    """Place the first edges at doubling distances from the mode of c, and return their number.

    They reach so far out that the tails weigh next to nothing, whatever the mass there: splitting
    would push a heavy tail out only in its own short steps.
    """
    most = _log_mass_given(peak, mu_mu, tau_mu, lower, upper)
    level = alpha_t * mode - alpha_t + _log_mass_given(mode, mu_mu, tau_mu, lower, upper) - 40.0
    deviation = 1.0 / math.sqrt(alpha_t)
    left = 0
    while left < 60 and alpha_t * (mode - deviation * 2.0**left) + most > level:
        left += 1
    right = 0
    while right < 60:
        x = mode + deviation * 2.0**right
        if alpha_t * x - beta_t * math.exp(x) + most <= level:
            break
        right += 1
    for i in range(left + 1):
        edges[left - i] = mode - deviation * 2.0**i
    edges[left + 1] = mode
    for i in range(right + 1):
        edges[left + 2 + i] = mode + deviation * 2.0**i
    return left + right + 3
