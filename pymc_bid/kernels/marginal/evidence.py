r"""The evidence of a set of columns, weights integrated out and bounds left out.

With the chosen columns :math:`J`, :math:`G_{JJ} = V \operatorname{diag}(d) V^\top` and
:math:`e_l = V^\top (B_J^\top a_l - G_{JJ} μ_l)`, with weights in units of prior precision 1,

.. math:: \log p(a_l \mid J, σ²) = -\tfrac12 \Bigl[ M_l \log 2πσ² + \sum_k \log(1 + d_k/σ²)
    + \frac{R_l}{σ²} + \sum_k \frac{e_{kl}² / d_k}{σ² + d_k} \Bigr] - \sum_k \log P⁰_{kl},
    \qquad R_l = |a_l - B_J μ_l|² - \sum_k e_{kl}² / d_k ,

where :math:`P⁰` is the mass of the weight's prior within its bounds. The noise variance is one more
integral, in one dimension, for each group of targets that share it. With the identity the chosen
columns are no targets and add their own log densities. Terms :math:`\log 2π` are left out
throughout: there is one for each observed entry, whatever the set.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.by_reference import by_reference
from pymc_bid.kernels.compilation import kernel, part, spread
from pymc_bid.kernels.identity import interpolated_targets
from pymc_bid.kernels.interrupts import let_interrupts_in
from pymc_bid.kernels.marginal.eigen import spectrum_of_vector, symmetric_eigen
from pymc_bid.kernels.marginal.noise import log_noise_density, log_noise_integral
from pymc_bid.kernels.types import NoiseDensity

SMALLEST_EIGENVALUE = 1e-15
"""Relative to the largest one, for each column: below it, an eigenvalue is a rounding error, and so
is what a fit leaves of a target."""


class NoiseDensities(NamedTuple):
    """The densities of all noise variances given a set, see `NoiseDensity`."""

    shape: NDArray[np.float64]
    """(S,); the prior's for a group without targets."""
    scale: NDArray[np.float64]
    targets: NDArray[np.float64]
    """(Q,)."""
    eigenvalues: NDArray[np.float64]
    """(Q, K)."""
    explained: NDArray[np.float64]
    rest: float
    """The log evidence less the log integrals (or densities) of the groups, odds left out."""


@spread()
def center_target(target, members, gram, marginal, residual):
    """Write B_Jᵀ(a - B_J μ) of a target into `residual`; return |a - B_J μ|²."""
    square = marginal.squares[target]
    for first in range(members.size):
        value = marginal.cross[target, members[first]]
        if marginal.mean.shape[0] > 0:
            for second in range(members.size):
                value -= gram[first, second] * marginal.mean[target, members[second]]
            product = marginal.cross[target, members[first]] + value
            square -= marginal.mean[target, members[first]] * product
        residual[first] = value
    return square


@spread()
def write_gram(members, pattern, marginal, gram):
    """Write the Gram matrix of the chosen columns."""
    whole = marginal.grams[pattern]
    for first in range(members.size):
        for second in range(members.size):
            gram[first, second] = whole[members[first], members[second]]


@spread()
def is_alone(q, marginal):
    """Whether a block is one target whose pattern nobody shares."""
    patterns = marginal.block_pattern
    return (
        marginal.block_start[q + 1] - marginal.block_start[q] == 1
        and (q == 0 or patterns[q - 1] != patterns[q])
        and (q == patterns.size - 1 or patterns[q + 1] != patterns[q])
    )


@part(fastmath={"reassoc", "contract"})
def project(vectors, residual, projections):
    """Write the products of rows with a vector."""
    for k in range(residual.size):
        total = 0.0
        for first in range(residual.size):
            total += vectors[k, first] * residual[first]
        projections[k] = total


@spread()
def explain_target(values, projections, whole, explained):
    """Add the squares that each eigenvector explains of a target; return what is left of it."""
    number, left = values.size, whole
    for k in range(number):
        # What rounding leaves of zero explains nothing.
        if values[k] > SMALLEST_EIGENVALUE * number * values[number - 1]:
            square = projections[k] * projections[k] / values[k]
            explained[k] += square
            left -= square
    # Of a perfect fit there is rounding left, of either sign.
    return left if left > SMALLEST_EIGENVALUE * number * whole else 0.0


@spread()
def write_eigenvalues(values, eigenvalues):
    """Write eigenvalues, with zero for what is a rounding error."""
    number = values.size
    for k in range(number):
        is_zero = values[k] <= SMALLEST_EIGENVALUE * number * values[number - 1]
        eigenvalues[k] = 0.0 if is_zero else values[k]


@part()
def density_of_target(target, group, members, marginal):
    """Return the density of the noise variance of a group that has one target."""
    number = members.size
    gram, residual = np.empty((number, number)), np.empty(number)
    eigenvalues, explained = np.zeros((1, number)), np.zeros((1, number))
    write_gram(members, marginal.block_pattern[marginal.block[target]], marginal, gram)
    left = whole = center_target(target, members, gram, marginal, residual)
    if number > 0:
        values, projections = spectrum_of_vector(gram, residual)
        left = explain_target(values, projections, whole, explained[0])
        write_eigenvalues(values, eigenvalues[0])
    return NoiseDensity(
        marginal.shape[group] + 0.5 * marginal.rows[target],
        marginal.scale[group] + 0.5 * left,
        np.ones(1),
        eigenvalues,
        explained,
    )


@part()
def noise_densities(state, marginal):
    """Return what the noise variance of each group is drawn from, and what is left beside it."""
    members = np.flatnonzero(state)
    number, blocks = members.size, marginal.block_pattern.size
    interpolated = interpolated_targets(state, marginal.own_targets, marginal.squares.size)
    shape, scale = marginal.shape.copy(), marginal.scale.copy()
    targets = np.zeros(blocks)
    eigenvalues, explained = np.zeros((blocks, number)), np.zeros((blocks, number))
    gram, vectors = np.empty((number, number)), np.empty((number, number))
    residual, projections, values = np.empty(number), np.empty(number), np.empty(number)
    rest, present = 0.0, -1
    for row in members:
        rest += marginal.own_log_densities[row]
    for q in range(blocks):
        pattern, group = marginal.block_pattern[q], marginal.block_group[q]
        alone = is_alone(q, marginal)
        if pattern != present and number > 0:
            present = pattern
            write_gram(members, pattern, marginal, gram)
            if not alone:
                values, vectors = symmetric_eigen(gram)
        for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
            if interpolated[target] == 0.0:
                continue
            let_interrupts_in(number * number)
            shape[group] += 0.5 * marginal.rows[target]
            targets[q] += 1.0
            constants = marginal.log_constants[target]
            for row in members:
                rest += constants[row]
            whole = center_target(target, members, gram, marginal, residual)
            if alone and number > 0:
                values, projections = spectrum_of_vector(gram, residual)
            else:
                project(vectors, residual, projections)
            scale[group] += 0.5 * explain_target(values, projections, whole, explained[q])
        if targets[q] > 0.0:
            write_eigenvalues(values, eigenvalues[q])
    for group in range(shape.size):
        if math.isnan(marginal.held[group]):
            rest += marginal.shape[group] * math.log(marginal.scale[group])
            rest -= math.lgamma(marginal.shape[group])
    return NoiseDensities(shape, scale, targets, eigenvalues, explained, rest)


@spread()
def density_of(group, densities, group_start):
    """Return the density of the noise variance of one group; for `group_start` see `Marginal`."""
    first, last = group_start[group], group_start[group + 1]
    return NoiseDensity(
        densities.shape[group],
        densities.scale[group],
        densities.targets[first:last],
        densities.eigenvalues[first:last],
        densities.explained[first:last],
    )


@spread()
def log_evidence_of_set(state, marginal):
    """Return log p(A | J), every noise variance integrated out that is not held."""
    return log_integral_of(noise_densities(state, marginal), marginal)


@spread()
def log_integral_of(densities, marginal):
    """Return the log of the integral of all densities, the rest included."""
    total = densities.rest
    for group in range(marginal.shape.size):
        density = density_of(group, densities, marginal.group_start)
        if not math.isnan(marginal.held[group]):
            total += log_noise_density(math.log(marginal.held[group]), density)
        elif density.targets.sum() > 0.0:
            total += log_noise_integral(density)
        else:
            # The integral over the prior alone.
            total += math.lgamma(density.shape) - density.shape * math.log(density.scale)
    return total


@kernel()
def log_evidence(state, marginal):
    """Return log p(A | J) of a set, (N,), by a `Marginal`."""
    return log_evidence_of_set(state, by_reference(marginal))
