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

import numpy as np

from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.identity import interpolated_targets
from pymc_bid.kernels.marginal.eigen import symmetric_eigen
from pymc_bid.kernels.marginal.noise import log_noise_density, log_noise_integral
from pymc_bid.kernels.types import NoiseDensity

SMALLEST_EIGENVALUE = 1e-15
"""Relative to the largest one, for each column: below it, an eigenvalue is a rounding error."""


@part()
def spectrum(members, marginal):
    """Return d of each part, (P, K), e, (K, L), and |a_l - B_J μ_l|², (L,)."""
    number, targets = members.size, marginal.squares.size
    residual = np.empty((number, targets))
    squares = marginal.squares.copy()
    has_mean = marginal.mean.shape[0] > 0
    for first in range(number):
        row = members[first]
        for target in range(targets):
            value = marginal.cross[row, target]
            if has_mean:
                gram = marginal.grams[marginal.part[target]]
                for second in range(number):
                    value -= (
                        marginal.share[target]
                        * gram[row, members[second]]
                        * marginal.mean[members[second], target]
                    )
                squares[target] -= marginal.mean[row, target] * (
                    marginal.cross[row, target] + value
                )
            residual[first, target] = value
    parts = marginal.grams.shape[0]
    eigenvalues = np.empty((parts, number))
    projections = np.zeros((number, targets))
    if number == 0:
        return eigenvalues, projections, squares
    start = 0
    for index in range(parts):
        end = start
        while end < targets and marginal.part[end] == index:
            end += 1
        gram = np.empty((number, number))
        for first in range(number):
            for second in range(number):
                gram[first, second] = marginal.grams[index, members[first], members[second]]
        values, vectors = symmetric_eigen(gram)
        for k in range(number):
            # What rounding leaves of zero explains nothing.
            is_zero = values[k] <= SMALLEST_EIGENVALUE * number * values[number - 1]
            eigenvalues[index, k] = 0.0 if is_zero else values[k]
            for first in range(number):
                factor = vectors[first, k]
                for target in range(start, end):
                    projections[k, target] += factor * residual[first, target]
        start = end
    return eigenvalues, projections, squares


@part()
def noise_densities(state, marginal):
    r"""Return what the noise variance of each group is drawn from, and what is left beside it.

    Returns
    -------
    shape, scale, targets : arrays (S,)
        See `NoiseDensity`; those of a group without targets are the prior's.
    eigenvalues, explained : arrays (S, K)
    rest : float
        The log evidence less the log integrals (or densities) of the groups, odds left out.
    """
    members = np.flatnonzero(state)
    number = members.size
    eigenvalues, projections, squares = spectrum(members, marginal)
    groups = marginal.shape.size
    interpolated = interpolated_targets(state, marginal.own_targets, squares.size)
    shape, scale = marginal.shape.copy(), marginal.scale.copy()
    targets = np.zeros(groups)
    group_eigenvalues = np.zeros((groups, number))
    explained = np.zeros((groups, number))
    rest = 0.0
    for row in members:
        rest += marginal.own_log_densities[row]
    for target in range(squares.size):
        if interpolated[target] == 0.0:
            continue
        group = marginal.group[target]
        shape[group] += 0.5 * marginal.rows[target]
        targets[group] += 1.0
        left = squares[target]
        for k in range(number):
            rest += marginal.log_constants[members[k], target]
            eigenvalue = marginal.share[target] * eigenvalues[marginal.part[target], k]
            group_eigenvalues[group, k] = eigenvalue
            if eigenvalue > 0.0:
                square = projections[k, target] * projections[k, target] / eigenvalue
                explained[group, k] += square
                left -= square
        # Rounding takes a perfect fit below zero.
        scale[group] += 0.5 * max(left, 0.0)
    for group in range(groups):
        if math.isnan(marginal.held[group]):
            rest += marginal.shape[group] * math.log(marginal.scale[group])
            rest -= math.lgamma(marginal.shape[group])
    return shape, scale, targets, group_eigenvalues, explained, rest


@part()
def density_of(group, densities):
    """Return the density of the noise variance of one group."""
    shape, scale, targets, eigenvalues, explained, _ = densities
    return NoiseDensity(
        shape[group], scale[group], targets[group], eigenvalues[group], explained[group]
    )


@kernel()
def log_evidence(state, marginal):
    """Return log p(A | J), every noise variance integrated out that is not held."""
    densities = noise_densities(state, marginal)
    total = densities[5]
    for group in range(marginal.shape.size):
        density = density_of(group, densities)
        if not math.isnan(marginal.held[group]):
            total += log_noise_density(math.log(marginal.held[group]), density)
        elif density.targets > 0.0:
            total += log_noise_integral(density)
        else:
            # The integral over the prior alone.
            total += math.lgamma(density.shape) - density.shape * math.log(density.scale)
    return total
