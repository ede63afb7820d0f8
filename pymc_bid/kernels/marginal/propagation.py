r"""Expectation propagation for the weights of one target within their bounds.

Without bounds the posterior of the weights is a normal, known in closed form. The bounds multiply
it by one factor for each weight. Each factor is replaced by a normal one,
:math:`\exp(b y - a y^2 / 2)` times a constant, that leaves the mass, mean and variance of that
weight right while all other factors are the replacements (Minka, 2001).

Most weights are far from their bounds. Only those within `REACH` standard deviations of one have a
factor, which makes the cost of a target a matter of a few dozen weights, not of all.
"""

import math

from pymc_bid.kernels.compilation import spread
from pymc_bid.kernels.marginal.truncated_moments import truncated_moments

REACH = 2.5
"""How near to a bound a weight has a factor, in standard deviations."""
TOLERANCE = 3e-2
"""Largest change of a factor, in standard deviations of its weight, when sweeps end."""
SMALLEST_CHANGE = 1e-3
"""Below that a factor stays as it is: the changes of log evidences are of second order."""
LARGEST_NUMBER_OF_SWEEPS = 4
LARGEST_NUMBER_OF_ROUNDS = 2


@spread()
def log_tilt(mean, variance, site_precision, site_linear):
    r"""Return :math:`\log E \exp(b y - a y^2 / 2)` for a normal :math:`y`."""
    linear = mean / variance + site_linear
    return 0.5 * (
        linear * linear / (1.0 / variance + site_precision)
        - mean * mean / variance
        - math.log1p(site_precision * variance)
    )


@spread()
def add_site(index, size, precision_change, linear_change, mean, covariance, row):
    """Multiply the normal by a normal factor of one of its weights, in place."""
    scale = 1.0 / (1.0 + precision_change * covariance[index, index])
    shift = scale * (linear_change - precision_change * mean[index])
    for other in range(size):
        row[other] = covariance[index, other]
    for first in range(size):
        mean[first] += shift * row[first]
        factor = scale * precision_change * row[first]
        for second in range(size):
            covariance[first, second] -= factor * row[second]


@spread()
def is_near_bound(mean, variance, lower, upper):
    """Tell whether a bound takes a part of the mass that matters."""
    reach = REACH * math.sqrt(variance)
    return upper - mean < reach or mean - lower < reach


@spread()
def sweep_sites(members, size, lower, upper, precision, linear, mean, covariance, row):
    """Refine every factor of a target once; return the sum of logs and the largest change.

    `mean` and `covariance` are those of the normal with all factors, `precision` and `linear` the
    factors' own; all four are changed in place. The sum is that of the constants of the factors and
    of the changes to the log of the integral over the normal ones.
    """
    log_constants = 0.0
    log_integral = 0.0
    largest_change = 0.0
    for index in range(size):
        weight = members[index]
        variance = covariance[index, index]
        without = 1.0 / variance - precision[weight]
        if not without * variance > 1e-10:
            continue
        center = (mean[index] / variance - linear[weight]) / without
        log_mass, wanted_mean, wanted_variance = truncated_moments(
            center, without, lower[weight], upper[weight]
        )
        new_precision = max(1.0 / wanted_variance - without, 0.0)
        new_linear = wanted_mean * (without + new_precision) - center * without
        precision_change = new_precision - precision[weight]
        linear_change = new_linear - linear[weight]
        deviation = math.sqrt(variance)
        change = max(
            abs(linear_change - precision_change * mean[index]) * deviation,
            abs(precision_change) * variance,
        ) / (1.0 + precision_change * variance)
        if change > SMALLEST_CHANGE:
            log_integral += log_tilt(mean[index], variance, precision_change, linear_change)
            add_site(index, size, precision_change, linear_change, mean, covariance, row)
            precision[weight] = new_precision
            linear[weight] = new_linear
            largest_change = max(largest_change, change)
        log_constants += log_mass - log_tilt(
            center, 1.0 / without, precision[weight], linear[weight]
        )
    return log_constants, log_integral, largest_change


@spread()
def find_members(fitted, posterior, left, right, is_member, members):
    """Give a factor to every weight that is near a bound; return how many weights have one."""
    size = 0
    for weight in range(fitted.shape[0]):
        if not is_member[weight]:
            is_member[weight] = is_near_bound(
                fitted[weight], posterior[weight, weight], left[weight], right[weight]
            )
        if is_member[weight]:
            members[size] = weight
            size += 1
    return size


@spread()
def propagate_target(unbounded, posterior, left, right, sites, is_member, members, normal, fitted):
    r"""Find the factors of one target.

    Parameters
    ----------
    unbounded : (K,) array
        Posterior mean of the weights without bounds.
    posterior : (K, K) array
        Their covariance.
    left, right : (K,) arrays
        Bounds.
    sites : tuple of two (K,) arrays
        The factors, :math:`a` and :math:`b`, changed in place.
    is_member : (K,) bool array
        Which weights have a factor; more may be added.
    members : (K,) int array
        Receives these weights.
    normal : tuple of a (K,), a (K, K) and a (K,) array
        The first two receive mean and covariance of these weights, the last is a workspace.
    fitted : (K,) array
        Receives the mean of all weights.

    Returns
    -------
    log_mass : float
    size : int
        How many weights have a factor.
    """
    number = unbounded.shape[0]
    precision, linear = sites
    center, covariance, row = normal
    for weight in range(number):
        fitted[weight] = unbounded[weight]
    log_mass = 0.0
    size = 0
    for _ in range(LARGEST_NUMBER_OF_ROUNDS):
        size_before = size
        size = find_members(fitted, posterior, left, right, is_member, members)
        if size == size_before:
            break
        for first in range(size):
            center[first] = unbounded[members[first]]
            for second in range(size):
                covariance[first, second] = posterior[members[first], members[second]]
        log_integral = 0.0
        for index in range(size):
            a, b = precision[members[index]], linear[members[index]]
            if a > 0.0:
                log_integral += log_tilt(center[index], covariance[index, index], a, b)
                add_site(index, size, a, b, center, covariance, row)
        log_constants = 0.0
        for _ in range(LARGEST_NUMBER_OF_SWEEPS):
            log_constants, added, change = sweep_sites(
                members, size, left, right, precision, linear, center, covariance, row
            )
            log_integral += added
            if change < TOLERANCE:
                break
        log_mass = log_constants + log_integral
        for weight in range(number):
            fitted[weight] = unbounded[weight]
        for index in range(size):
            source = members[index]
            pull = linear[source] - precision[source] * center[index]
            for weight in range(number):
                fitted[weight] += posterior[weight, source] * pull
    return log_mass, size
