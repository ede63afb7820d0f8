r"""Weights of one target drawn within their bounds, one after the other, with a known density.

Without bounds the weights :math:`y` of the chosen columns :math:`J` in one target :math:`a` have
the posterior :math:`N(Λ^{-1} h, Λ^{-1})`,

.. math:: Λ = G_{JJ} / σ² + \operatorname{diag} τ, \qquad h = B_J^\top a / σ² + τ μ .

Drawing each weight within its bounds, given those drawn before it and with those still to come
integrated out, has a density :math:`q(y)` that is known (Geweke, Hajivassiliou, Keane). It does not
know of the bounds of the weights still to come. Expectation propagation has a normal factor
:math:`\exp(b_k y_k - \tfrac12 s_k y_k²)` for each of these bounds; with the factors of the weights
still to come as part of the density it looks ahead, and

.. math:: w(y) = p(a \mid y)\, p(y) / q(y)

hardly varies. The weights whose bounds take most are drawn first: one that is drawn last, or has no
bound nearby, needs no looking ahead. Factors and order follow from :math:`(J, σ²)` and the data
alone, so that :math:`q` does too, and the mean of :math:`w` over :math:`q` is the evidence with the
bounds.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.marginal.propagation import is_near_bound, propagate_target
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass


class Workspace(NamedTuple):
    """Arrays for the weights of one target after the other, K chosen columns."""

    members: NDArray[np.int64]
    """The chosen columns, (K,)."""
    precision: NDArray[np.float64]
    """Λ, (K, K)."""
    covariance: NDArray[np.float64]
    """Its inverse, (K, K)."""
    order: NDArray[np.int64]
    """The weights in the order in which they are integrated out, drawn from the last on, (K,)."""
    log_masses: NDArray[np.float64]
    """Log of the mass that each weight by itself has within its bounds, (K,)."""
    reduced: NDArray[np.float64]
    """Λ with factors, in that order, weights integrated out from the first on, (K, K)."""
    linear: NDArray[np.float64]
    """h, (K,)."""
    reduced_linear: NDArray[np.float64]
    """h with factors and likewise reduced, (K,)."""
    center: NDArray[np.float64]
    """Posterior mean without bounds, (K,)."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    site_precision: NDArray[np.float64]
    """s, (K,)."""
    site_linear: NDArray[np.float64]
    """b, (K,)."""
    has_site: NDArray[np.bool_]
    sited: NDArray[np.int64]
    """The weights that have a factor, (K,)."""
    normal_center: NDArray[np.float64]
    normal_covariance: NDArray[np.float64]
    normal_row: NDArray[np.float64]
    fitted: NDArray[np.float64]


@part()
def make_workspace(members):
    """Return a workspace for a set of columns."""
    number = members.size
    return Workspace(
        members,
        np.empty((number, number)),
        np.empty((number, number)),
        np.empty(number, np.int64),
        np.empty(number),
        np.empty((number, number)),
        np.empty(number),
        np.empty(number),
        np.empty(number),
        np.empty(number),
        np.empty(number),
        np.empty(number),
        np.empty(number),
        np.empty(number, np.bool_),
        np.empty(number, np.int64),
        np.empty(number),
        np.empty((number, number)),
        np.empty(number),
        np.empty(number),
    )


@part()
def write_precision(work, gram, variance, precision, target):
    """Write Λ and its inverse."""
    members, number = work.members, work.members.size
    for first in range(number):
        for second in range(number):
            work.precision[first, second] = gram[members[first], members[second]] / variance
        work.precision[first, first] += precision[members[first], target]
    # Gauss-Jordan: Λ is positive definite, and no pivot falls below the prior's precision but by
    # rounding.
    inverse = work.covariance
    inverse[:] = work.precision
    for row in range(number):
        pivot = 1.0 / max(inverse[row, row], precision[members[row], target])
        line = inverse[row]
        for column in range(number):
            line[column] *= pivot
        line[row] = pivot
        for other in range(number):
            if other != row:
                factor = inverse[other, row]
                changed = inverse[other]
                for column in range(number):
                    changed[column] -= factor * line[column]
                changed[row] = -factor * pivot


@part()
def write_target(work, cross, variance, prior, target):
    """Write h, the posterior mean and the bounds of a target; tell whether there are any."""
    number = work.members.size
    bounded = False
    for k in range(number):
        row = work.members[k]
        work.linear[k] = cross[row, target] / variance
        work.linear[k] += prior.precision[row, target] * prior.mean[row, target]
        work.lower[k], work.upper[k] = prior.lower[row, target], prior.upper[row, target]
        bounded = bounded or work.lower[k] > -np.inf or work.upper[k] < np.inf
    for first in range(number):
        total = 0.0
        for second in range(number):
            total += work.covariance[first, second] * work.linear[second]
        work.center[first] = total
    return bounded


@part()
def find_order(work, bounded):
    """Order the weights by the mass within their bounds; return how many are near a bound."""
    number, near = work.members.size, 0
    for k in range(number):
        work.order[k] = k
        work.log_masses[k] = 0.0
    if not bounded:
        return 0
    for k in range(number):
        variance = work.covariance[k, k]
        if is_near_bound(work.center[k], variance, work.lower[k], work.upper[k]):
            work.log_masses[k] = log_interval_mass(
                work.center[k], 1.0 / variance, work.lower[k], work.upper[k]
            )
            near += 1
        # One after the other into a descending order.
        place = k
        while place > 0 and work.log_masses[work.order[place - 1]] < work.log_masses[k]:
            work.order[place] = work.order[place - 1]
            place -= 1
        work.order[place] = k
    return near


@part()
def find_sites(work, near):
    """Find the factors of expectation propagation, from none, where there is anything to see."""
    work.site_precision[:] = 0.0
    work.site_linear[:] = 0.0
    if near < 2:
        return
    work.has_site[:] = False
    propagate_target(
        work.center,
        work.covariance,
        work.lower,
        work.upper,
        (work.site_precision, work.site_linear),
        work.has_site,
        work.sited,
        (work.normal_center, work.normal_covariance, work.normal_row),
        work.fitted,
    )


@part()
def eliminate(work):
    """Integrate weights out in order, each with its factor.

    Row k of the reduced matrix is left as it was before weight k was integrated out, which is
    where weight k is drawn from.
    """
    number, order = work.members.size, work.order
    reduced, linear = work.reduced, work.reduced_linear
    for first in range(number):
        linear[first] = work.linear[order[first]]
        for second in range(number):
            reduced[first, second] = work.precision[order[first], order[second]]
    for k in range(number):
        pivot = reduced[k, k] + work.site_precision[order[k]]
        pull = (linear[k] + work.site_linear[order[k]]) / pivot
        for other in range(k + 1, number):
            factor = reduced[other, k] / pivot
            linear[other] -= reduced[other, k] * pull
            for column in range(k + 1, number):
                reduced[other, column] -= factor * reduced[k, column]


@part()
def log_proposal(rng, drawing, work, least, values):
    """Draw weights from q into `values`, or take those that are there; return log q but for 2π.

    `least` is the prior precision of each weight, which the precision that it is drawn with cannot
    fall below but by rounding.
    """
    number = work.members.size
    total = 0.0
    for k in range(number - 1, -1, -1):
        weight = work.order[k]
        lower, upper = work.lower[weight], work.upper[weight]
        concentration = max(work.reduced[k, k], least[weight])
        center = work.reduced_linear[k]
        for later in range(k + 1, number):
            center -= work.reduced[k, later] * values[work.order[later]]
        center /= concentration
        if drawing:
            values[weight] = draw_truncated_normal(rng, center, concentration, lower, upper)
        deviation = values[weight] - center
        total += 0.5 * (math.log(concentration) - concentration * deviation * deviation)
        total -= log_interval_mass(center, concentration, lower, upper)
    return total


@part()
def log_joint(work, values):
    """Return h·y - ½ y·Λy."""
    number = work.members.size
    total = 0.0
    for first in range(number):
        product = 0.0
        for second in range(number):
            product += work.precision[first, second] * values[second]
        total += values[first] * (work.linear[first] - 0.5 * product)
    return total
