r"""Weights of one target drawn within their bounds, one after the other, with a known density.

Without bounds the weights :math:`y` of the chosen columns :math:`J` in one target :math:`a` have
the posterior :math:`N(m, Σ)`,

.. math:: Σ^{-1} = G_{JJ} / σ² + \operatorname{diag} τ, \qquad
    Σ^{-1} m = B_J^\top a / σ² + τ μ .

Drawing each weight within its bounds, given those drawn before it and with those still to come
integrated out, has a density :math:`q(y)` that is known (Geweke, Hajivassiliou, Keane). It does not
know of the bounds of the weights still to come. Expectation propagation has a normal factor
:math:`\exp(b_k y_k - \tfrac12 s_k y_k²)` for each of these bounds; with the factors of the weights
still to come as part of the density it looks ahead, and

.. math:: w(y) = p(a \mid y)\, p(y) / q(y) = E\, N(y \mid m, Σ) / q(y)

hardly varies, where :math:`E` is the evidence with the bounds left out of the likelihood. The
weights whose bounds take most are drawn first: one that is drawn last, or has no bound nearby,
needs no looking ahead. A normal factor is no wall, though: of two weights whose sum is all but
known, as those of a column and its copy, the first must not be drawn where the bounds leave nothing
to the second. Where one weight settles another, its interval is cut to what that one's bounds
allow. Factors, order and cuts follow from :math:`(J, σ²)` and the data alone, so that :math:`q`
does too, and the mean of :math:`w` over :math:`q` is the evidence with the bounds.

Both densities are products of conditional ones, taken weight by weight from covariances, so that
nothing cancels however small the noise is, with copies among the columns or without.
"""

import math

import numpy as np

from pymc_bid.kernels.by_reference import copy_into
from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.interrupts import let_interrupts_in
from pymc_bid.kernels.marginal.propagation import is_near_bound, propagate_target
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass

SETTLED = 0.1
"""A weight is settled by another if what is left of its standard deviation is less than this share
of what the other one moves it by."""
MARGIN = 4.0
"""How far beyond a bound a settled weight may be expected, in standard deviations that are left."""
SMALLEST_VARIANCE = 3e-16
"""Of a weight given others, relative to that of its own: less is a rounding error."""


@spread()
def pass_bounds_on(work):
    """Write bounds with those of weights that another one settles passed on to that one.

    Expectation propagation would count them twice.
    """
    center, covariance = work.center, work.covariance
    copy_into(work.lower, work.cut_lower)
    copy_into(work.upper, work.cut_upper)
    lower, upper = work.cut_lower, work.cut_upper
    for first in range(center.size):
        inverse = 1.0 / covariance[first, first]
        for second in range(first + 1, center.size):
            slope = covariance[first, second] * inverse
            moved = slope * covariance[first, second]
            if not covariance[second, second] - moved <= SETTLED * SETTLED * moved:
                continue
            one = center[first] + (lower[second] - center[second]) / slope
            other = center[first] + (upper[second] - center[second]) / slope
            least = max(lower[first], min(one, other))
            most = min(upper[first], max(one, other))
            if least < most:
                lower[first], upper[first] = least, most
                lower[second], upper[second] = -np.inf, np.inf


@part()
def find_order(work):
    """Order the weights by the mass within their bounds; return how many are near a bound.

    With bounds passed on, see `pass_bounds_on`.
    """
    number, near = work.members.size, 0
    pass_bounds_on(work)
    for k in range(number):
        center, variance = work.center[k], work.covariance[k, k]
        lower, upper = work.cut_lower[k], work.cut_upper[k]
        work.log_masses[k] = 0.0
        if is_near_bound(center, variance, lower, upper):
            work.log_masses[k] = log_interval_mass(center, 1.0 / variance, lower, upper)
            near += 1
        # One after the other into an ascending order.
        place = k
        while place > 0 and work.log_masses[work.order[place - 1]] > work.log_masses[k]:
            work.order[place] = work.order[place - 1]
            place -= 1
        work.order[place] = k
    return near


@spread()
def find_sites(work):
    """Find the factors of expectation propagation, starting from none.

    Returns the log of the mass within the bounds, and how many weights have a factor.
    """
    work.site_precision[:] = 0.0
    work.site_linear[:] = 0.0
    work.has_site[:] = False
    log_mass, size = propagate_target(work)
    work.place[:] = -1
    for index in range(size):
        # Where it fails, for rounding, nobody looks ahead.
        if not (0.0 < work.normal_covariance[index, index] < np.inf):
            return 0.0, 0
        work.place[work.sited[index]] = index
    return log_mass, size


@part(fastmath={"reassoc", "contract"})
def write_factor(work):
    """Write the Cholesky factor of Σ in the order of the draws."""
    order, factor, covariance = work.order, work.factor, work.covariance
    for first in range(order.size):
        let_interrupts_in(first * first)
        for second in range(first + 1):
            value = covariance[order[first], order[second]]
            for inner in range(second):
                value -= factor[first, inner] * factor[second, inner]
            if first == second:
                least = SMALLEST_VARIANCE * covariance[order[first], order[first]]
                factor[first, first] = math.sqrt(max(value, least))
            else:
                factor[first, second] = value / factor[second, second]


@spread()
def sited_variance(work, index):
    """Return the variance of a weight with all factors still to come."""
    weight = work.sited[index]
    least = SMALLEST_VARIANCE * work.covariance[weight, weight]
    return max(work.normal_covariance[index, index], least)


@spread()
def look_ahead(work, index):
    """Return mean and variance of a weight with the factors of those still to come, not its own."""
    weight = work.sited[index]
    variance = sited_variance(work, index)
    precision = work.site_precision[weight]
    linear = work.site_linear[weight]
    without, center = 1.0 - precision * variance, work.normal_center[index]
    if not without > 1e-10:
        return work.center[weight] + center, variance
    return work.center[weight] + (center - linear * variance) / without, variance / without


@spread()
def condition_on(work, index, size, value):
    """Take a weight that has a factor as given."""
    center, covariance = work.normal_center, work.normal_covariance
    variance = sited_variance(work, index)
    shift = (value - work.center[work.sited[index]] - center[index]) / variance
    for other in range(size):
        work.row[other] = covariance[index, other]
    for first in range(size):
        center[first] += shift * work.row[first]
        factor = work.row[first] / variance
        for second in range(size):
            covariance[first, second] -= factor * work.row[second]


@spread()
def start_drawing(work):
    """Write mean and variance of every weight before any is drawn."""
    factor = work.factor
    for k in range(factor.shape[0]):
        work.expected[k] = work.center[work.order[k]]
        variance = 0.0
        for earlier in range(k + 1):
            variance += factor[k, earlier] * factor[k, earlier]
        work.remaining[k] = variance


@spread()
def cut_interval(work, k):
    """Return the bounds of the weight drawn next, cut to what those that it settles allow."""
    lower, upper = work.lower[work.order[k]], work.upper[work.order[k]]
    factor, remaining = work.factor, work.remaining
    deviation = factor[k, k]
    cut_lower, cut_upper = lower, upper
    for later in range(k + 1, remaining.size):
        share = factor[later, k]
        left = max(remaining[later] - share * share, 0.0)
        if left > SETTLED * SETTLED * share * share:
            continue
        slope, margin = share / deviation, MARGIN * math.sqrt(left)
        weight = work.order[later]
        first = work.expected[k] + (work.lower[weight] - margin - work.expected[later]) / slope
        last = work.expected[k] + (work.upper[weight] + margin - work.expected[later]) / slope
        cut_lower = max(cut_lower, min(first, last))
        cut_upper = min(cut_upper, max(first, last))
    # Where nothing is left, whatever is drawn is not worth much.
    return (cut_lower, cut_upper) if cut_lower < cut_upper else (lower, upper)


@spread()
def take_as_drawn(work, k, value):
    """Take the weight drawn last into the means and variances of the others."""
    factor, expected, remaining = work.factor, work.expected, work.remaining
    standard = work.standard[k] = (value - expected[k]) / factor[k, k]
    for later in range(k + 1, expected.size):
        share = factor[later, k]
        expected[later] += share * standard
        remaining[later] -= share * share


@part()
def log_normal_ratio(rng, drawing, work, near, sites, values):
    """Draw weights from q into `values`, or take those that are there; return log [N(y) / q(y)].

    `near` weights are near a bound, and `sites` have a factor. Infinite for weights that q does not
    draw.
    """
    total = 0.0
    start_drawing(work)
    for k in range(work.members.size):
        let_interrupts_in(sites * sites)
        weight = work.order[k]
        lower, upper = work.lower[weight], work.upper[weight]
        deviation = work.factor[k, k]
        center, variance = work.expected[k], deviation * deviation
        is_sited = sites > 0 and work.place[weight] >= 0
        if is_sited:
            center, variance = look_ahead(work, work.place[weight])
        if near > 0:
            lower, upper = cut_interval(work, k)
        if drawing:
            values[weight] = draw_truncated_normal(rng, center, 1.0 / variance, lower, upper)
        value = values[weight]
        if not lower <= value <= upper:
            # A draw that is nan, of what rounding has left nothing of, is not to be taken.
            return -np.inf if drawing else np.inf
        total += log_interval_mass(center, 1.0 / variance, lower, upper)
        take_as_drawn(work, k, value)
        if is_sited:
            distance = value - center
            total += 0.5 * (distance * distance / variance + math.log(variance))
            total -= 0.5 * work.standard[k] * work.standard[k] + math.log(deviation)
            condition_on(work, work.place[weight], sites, value)
    return total
