r"""Expectation propagation for the weights of one target within their bounds.

Without bounds the posterior of the weights is a normal, known in closed form. The bounds multiply
it by one factor for each weight. Each factor is replaced by a normal one,
:math:`\exp(b y - a y^2 / 2)` times a constant, that leaves the mass, mean and variance of that
weight right while all other factors are the replacements (Minka, 2001). See
`pymc_bid.kernels.exact.unbounded.Workspace` for the arrays that all this is written to.

Most weights are far from their bounds. Only those within `REACH` standard deviations of one have a
factor, which makes the cost of a target a matter of a few dozen weights, not of all.
"""

import math

from pymc_bid.kernels.compilation import spread
from pymc_bid.kernels.interrupts import let_interrupts_in
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
def add_site(work, index, size, precision_change, linear_change):
    """Multiply the normal by a normal factor of one of its weights, in place."""
    mean, covariance, row = work.normal_center, work.normal_covariance, work.row
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
def sweep_sites(work, size):
    """Refine every factor of a target once; return the sum of logs and the largest change.

    The sums are those of the constants of the factors and of the changes to the log of the integral
    over the normal ones.
    """
    mean, covariance = work.normal_center, work.normal_covariance
    precision, linear = work.site_precision, work.site_linear
    log_constants, log_integral, largest_change = 0.0, 0.0, 0.0
    for index in range(size):
        let_interrupts_in(size * size)
        weight = work.sited[index]
        variance = covariance[index, index]
        without = 1.0 / variance - precision[weight]
        if not without * variance > 1e-10:
            continue
        center = (mean[index] / variance - linear[weight]) / without
        lower = work.cut_lower[weight] - work.center[weight]
        upper = work.cut_upper[weight] - work.center[weight]
        log_mass, wanted_mean, wanted_variance = truncated_moments(center, without, lower, upper)
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
            add_site(work, index, size, precision_change, linear_change)
            precision[weight] = new_precision
            linear[weight] = new_linear
            largest_change = max(largest_change, change)
        log_constants += log_mass - log_tilt(
            center, 1.0 / without, precision[weight], linear[weight]
        )
    return log_constants, log_integral, largest_change


@spread()
def find_members(work):
    """Give a factor to every weight that is near a bound; return how many weights have one."""
    size = 0
    for weight in range(work.members.size):
        if not work.has_site[weight]:
            mean, variance = (
                work.center[weight] + work.fitted[weight],
                work.covariance[weight, weight],
            )
            lower, upper = work.cut_lower[weight], work.cut_upper[weight]
            work.has_site[weight] = is_near_bound(mean, variance, lower, upper)
        if work.has_site[weight]:
            work.sited[size] = weight
            size += 1
    return size


@spread()
def propagate_target(work):
    r"""Find the factors of one target, starting from those that are there.

    Weights are measured from their means without bounds: where a perfect fit leaves hardly any
    noise, sums of squares of anything else would have no digits left.

    Returns the log of the mass within the bounds, and how many weights have a factor.
    """
    precision, linear, members = work.site_precision, work.site_linear, work.sited
    center, covariance, fitted = work.normal_center, work.normal_covariance, work.fitted
    fitted[:] = 0.0
    log_mass, size = 0.0, 0
    for _ in range(LARGEST_NUMBER_OF_ROUNDS):
        size_before = size
        size = find_members(work)
        if size == size_before:
            break
        for first in range(size):
            center[first] = 0.0
            for second in range(size):
                covariance[first, second] = work.covariance[members[first], members[second]]
        log_integral = 0.0
        for index in range(size):
            let_interrupts_in(size * size)
            a, b = precision[members[index]], linear[members[index]]
            if a > 0.0:
                log_integral += log_tilt(center[index], covariance[index, index], a, b)
                add_site(work, index, size, a, b)
        log_constants = 0.0
        for _ in range(LARGEST_NUMBER_OF_SWEEPS):
            log_constants, added, change = sweep_sites(work, size)
            log_integral += added
            if change < TOLERANCE:
                break
        log_mass = log_constants + log_integral
        fitted[:] = 0.0
        for index in range(size):
            source = members[index]
            pull = linear[source] - precision[source] * center[index]
            for weight in range(fitted.size):
                fitted[weight] += work.covariance[weight, source] * pull
    return log_mass, size
