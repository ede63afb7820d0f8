r"""Weights of one target without their bounds: mean and covariance of their normal posterior.

.. math:: Σ^{-1} = G_{JJ} / σ² + \operatorname{diag} τ, \qquad
    Σ^{-1} m = B_J^\top a / σ² + τ μ

for the chosen columns :math:`J`. From eigenvalues of the Gram matrix, which many targets share and
with which nothing cancels however small the noise is; or by a Cholesky factor where a target has a
Gram matrix of its own.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.by_reference import by_reference
from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.interrupts import let_interrupts_in
from pymc_bid.kernels.marginal.eigen import symmetric_eigen

LARGEST_CONDITION = 1e8
"""Up to this condition number a covariance is inverted directly, with eight digits left."""


class Workspace(NamedTuple):
    """Arrays for the weights of one target after the other, K chosen columns."""

    members: NDArray[np.int64]
    """The chosen columns, (K,)."""
    eigenvalues: NDArray[np.float64]
    """Of the Gram matrix in units in which each weight has prior precision 1, (K,)."""
    eigenvectors: NDArray[np.float64]
    """Its eigenvectors, in the weights' own units, (K, K)."""
    covariance: NDArray[np.float64]
    """Σ, (K, K)."""
    center: NDArray[np.float64]
    """m, (K,)."""
    order: NDArray[np.int64]
    """The weights in the order in which they are drawn, (K,)."""
    log_masses: NDArray[np.float64]
    """Log of the mass that each weight by itself has within the bounds passed on, (K,)."""
    factor: NDArray[np.float64]
    """Cholesky factor of Σ in that order, (K, K)."""
    standard: NDArray[np.float64]
    """The weights less their conditional means, in conditional standard deviations, (K,)."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    cut_lower: NDArray[np.float64]
    """Bounds with those of weights that are settled by others passed on to these, (K,)."""
    cut_upper: NDArray[np.float64]
    site_precision: NDArray[np.float64]
    """s, (K,)."""
    site_linear: NDArray[np.float64]
    """b, for a weight less its m, (K,)."""
    has_site: NDArray[np.bool_]
    sited: NDArray[np.int64]
    """The weights that have a factor, (K,)."""
    place: NDArray[np.int64]
    """Where each weight stands among these, -1 if it has none, (K,)."""
    normal_center: NDArray[np.float64]
    """Mean of these weights less their m with all factors still to come, given those drawn before,
    (K,)."""
    normal_covariance: NDArray[np.float64]
    """Their covariance, (K, K)."""
    expected: NDArray[np.float64]
    """Mean of each weight given those drawn, in the order of the draws, (K,)."""
    remaining: NDArray[np.float64]
    """Its variance given those, (K,)."""
    row: NDArray[np.float64]
    fitted: NDArray[np.float64]


@spread()
def make_workspace(members):
    """Return a workspace for a set of columns."""
    number = members.size
    square, line = (number, number), number
    return by_reference(
        Workspace(
            members=members,
            eigenvalues=np.empty(line),
            eigenvectors=np.empty(square),
            covariance=np.empty(square),
            center=np.empty(line),
            order=np.empty(line, np.int64),
            log_masses=np.empty(line),
            factor=np.empty(square),
            standard=np.empty(line),
            lower=np.empty(line),
            upper=np.empty(line),
            cut_lower=np.empty(line),
            cut_upper=np.empty(line),
            site_precision=np.empty(line),
            site_linear=np.empty(line),
            has_site=np.empty(line, np.bool_),
            sited=np.empty(line, np.int64),
            place=np.empty(line, np.int64),
            normal_center=np.empty(line),
            normal_covariance=np.empty(square),
            expected=np.empty(line),
            remaining=np.empty(line),
            row=np.empty(line),
            fitted=np.empty(line),
        )
    )


@part()
def write_spectrum(work, gram, precision, target):
    """Write eigenvalues and eigenvectors of the Gram matrix of the chosen columns."""
    number, members = work.members.size, work.members
    if number == 0:
        return
    scaled = np.empty((number, number))
    for first in range(number):
        for second in range(number):
            scaled[first, second] = gram[members[first], members[second]] / math.sqrt(
                precision[members[first], target] * precision[members[second], target]
            )
    values, vectors = symmetric_eigen(scaled)
    for k in range(number):
        # What rounding leaves of zero would be a lot of information at little noise.
        is_zero = values[k] <= 1e-15 * number * values[number - 1]
        work.eigenvalues[k] = 0.0 if is_zero else values[k]
        for first in range(number):
            root = math.sqrt(precision[members[first], target])
            work.eigenvectors[first, k] = vectors[k, first] / root


@spread()
def write_covariance(work, variance):
    """Write Σ at a noise variance."""
    number, covariance, eigenvectors = work.members.size, work.covariance, work.eigenvectors
    for k in range(number):
        work.row[k] = variance / (variance + work.eigenvalues[k])
    for first in range(number):
        let_interrupts_in(first * number)
        for second in range(first + 1):
            total = 0.0
            for k in range(number):
                total += work.row[k] * eigenvectors[first, k] * eigenvectors[second, k]
            covariance[first, second] = covariance[second, first] = total


@spread()
def write_target(work, cross, variance, prior, target):
    """Write m and the bounds of a target; return ½ m·Σ⁻¹m - ½ log |Σ⁻¹|."""
    number, total = work.members.size, 0.0
    # Fields are read once: each time counts references to an array.
    members, center, eigenvectors = work.members, work.center, work.eigenvectors
    data, prior_part = work.row, work.fitted
    for k in range(number):
        center[k], data[k], prior_part[k] = 0.0, 0.0, 0.0
    for other in range(number):
        row = members[other]
        tau, product = prior.precision[row, target], cross[row, target]
        work.lower[other], work.upper[other] = prior.lower[row, target], prior.upper[row, target]
        total -= 0.5 * math.log(tau)
        linear = tau * prior.mean[row, target]
        for k in range(number):
            data[k] += eigenvectors[other, k] * product
            prior_part[k] += eigenvectors[other, k] * linear
    for k in range(number):
        eigenvalue = work.eigenvalues[k]
        if not eigenvalue > 0.0:
            # Along a null vector of the Gram matrix there are no data, only rounding errors.
            data[k] = 0.0
        spread = variance + eigenvalue
        projection = (data[k] + variance * prior_part[k]) / spread
        # The linear term is (data / σ² + prior part), its product with the mean a square.
        total += 0.5 * projection * (data[k] / variance + prior_part[k])
        total -= 0.5 * math.log(spread / variance)
        data[k] = projection
    for first in range(number):
        for k in range(number):
            center[first] += eigenvectors[first, k] * data[k]
    return total


@spread()
def is_well_conditioned(work, gram, variance, precision, target):
    """Whether Σ⁻¹ can be inverted as it is: no eigenvalue is less than 1, none above its trace."""
    total = 0.0
    for row in work.members:
        total += 1.0 + gram[row, row] / (variance * precision[row, target])
    return total < LARGEST_CONDITION


@part(fastmath={"reassoc", "contract"})
def write_directly(work, gram, cross, variance, prior, target):
    """Write Σ, m and the bounds of a target; return ½ m·Σ⁻¹m - ½ log |Σ⁻¹|.

    By a Cholesky factor: for a Gram matrix that one target alone has, eigenvalues take ten times as
    long.
    """
    number, members, factor = work.members.size, work.members, work.factor
    total = 0.0
    for first in range(number):
        let_interrupts_in(first * first)
        row = members[first]
        work.lower[first], work.upper[first] = prior.lower[row, target], prior.upper[row, target]
        tau = prior.precision[row, target]
        linear = cross[row, target] / variance + tau * prior.mean[row, target]
        for second in range(first + 1):
            value = gram[row, members[second]] / variance
            if first == second:
                value += tau
            for inner in range(second):
                value -= factor[first, inner] * factor[second, inner]
            if first == second:
                factor[first, first] = math.sqrt(value)
            else:
                factor[first, second] = value / factor[second, second]
        for inner in range(first):
            linear -= factor[first, inner] * work.fitted[inner]
        work.fitted[first] = linear / factor[first, first]
        total += 0.5 * work.fitted[first] * work.fitted[first] - math.log(factor[first, first])
    # The inverse of the factor, row by row of its transpose, into what has room for it.
    inverse = work.eigenvectors
    for first in range(number):
        let_interrupts_in((number - first) * (number - first))
        inverse[first, first] = 1.0 / factor[first, first]
        for second in range(first + 1, number):
            value = 0.0
            for inner in range(first, second):
                value -= factor[second, inner] * inverse[first, inner]
            inverse[first, second] = value / factor[second, second]
    for first in range(number):
        let_interrupts_in(first * (number - first))
        work.center[first] = 0.0
        for inner in range(first, number):
            work.center[first] += inverse[first, inner] * work.fitted[inner]
        for second in range(first + 1):
            value = 0.0
            for inner in range(first, number):
                value += inverse[first, inner] * inverse[second, inner]
            work.covariance[first, second] = work.covariance[second, first] = value
    return total
