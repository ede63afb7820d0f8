r"""Cholesky factors of a set of columns: the log odds of every single column at given noise.

In a block of targets with noise variance :math:`σ²` and Gram matrix :math:`G` the weights of the
chosen columns :math:`J`, in units of prior precision 1, have the posterior precision
:math:`G_{JJ} / σ² + I = L L^\top`. With :math:`h_l = B^\top a_l / σ² + μ_l` and
:math:`z_l = L^{-1} h_{Jl}`, a column :math:`j` that is out has, all chosen ones integrated out,

.. math:: u = L^{-1} G_{Jj} / σ², \qquad q = G_{jj} / σ² + 1 - |u|², \qquad c_l = h_{jl} - u·z_l ,

and one that is in, at place :math:`i` of the factor, has with :math:`v = L^{-1} e_i` the variance
:math:`1 / q = |v|²` and the means :math:`c_l / q = v·z_l`. Either way its weights add

.. math:: g_l = \tfrac12 \frac{c_l²}{q} - \tfrac12 \log q - \tfrac12 μ_{jl}² - \log P⁰_{jl}

to the log evidence :math:`E_l` of a target, and the log odds of in against out are the sum of
:math:`g_l` over the interpolated targets that column :math:`j` is not plus, with the identity, its
own log density less its :math:`E_j` as a target without it.

O(K² + K L) for the odds of one column, as much to take it in, and at most K times as much to take
one out. Blocks are treated side by side, so that one for each target costs little more than one.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.identity import interpolated_targets, set_interpolated


class Factor(NamedTuple):
    """The factors of a set of columns at given noise variances, changed in place."""

    size: NDArray[np.int64]
    """How many columns are chosen, K, an array of one number."""
    members: NDArray[np.int64]
    """These columns, in the order of the factors, the first K entries of (N,)."""
    triangle: NDArray[np.float64]
    """L, the reciprocals of its diagonal in place of that, (N, N, Q)."""
    fitted: NDArray[np.float64]
    """z, the first K rows of (N, L)."""
    log_evidence: NDArray[np.float64]
    """E of every target, interpolated or not, (L,)."""
    interpolated: NDArray[np.float64]
    """1.0 for each target that is interpolated, else 0.0, (L,)."""
    inverse_variance: NDArray[np.float64]
    """1/σ² of each block, (Q,)."""
    solved: NDArray[np.float64]
    """u or v of the column looked at last, (N, Q)."""
    precision: NDArray[np.float64]
    """Its q, (Q,)."""
    linear: NDArray[np.float64]
    """Its c, (L,)."""
    gain: NDArray[np.float64]
    """Its g, (L,)."""


@part()
def make_factor(columns, targets, blocks):
    """Return room for the factors of any set."""
    return Factor(
        size=np.zeros(1, np.int64),
        members=np.empty(columns, np.int64),
        triangle=np.empty((columns, columns, blocks)),
        fitted=np.empty((columns, targets)),
        log_evidence=np.empty(targets),
        interpolated=np.empty(targets),
        inverse_variance=np.empty(blocks),
        solved=np.empty((columns, blocks)),
        precision=np.empty(blocks),
        linear=np.empty(targets),
        gain=np.empty(targets),
    )


@part()
def write_factor(state, variances, marginal, factor):
    """Factor a set at the noise variances of the groups, (S,)."""
    for q in range(factor.inverse_variance.size):
        factor.inverse_variance[q] = 1.0 / variances[marginal.block_group[q]]
    for target in range(factor.log_evidence.size):
        inverse = factor.inverse_variance[marginal.block[target]]
        square = marginal.squares[target] * inverse
        factor.log_evidence[target] = 0.5 * (marginal.rows[target] * math.log(inverse) - square)
    factor.interpolated[:] = interpolated_targets(
        state, marginal.own_targets, factor.interpolated.size
    )
    factor.size[0] = 0
    for column in range(state.size):
        if state[column] == 1:
            look_at_outsider(column, marginal, factor)
            append_column(column, marginal, factor)


@part(fastmath={"contract"})
def look_at_outsider(column, marginal, factor):
    """Write u, q, c and g of a column that is not in the factors."""
    number, blocks = factor.size[0], factor.precision.size
    solved, precision, triangle = factor.solved, factor.precision, factor.triangle
    inverse = factor.inverse_variance
    for q in range(blocks):
        gram = marginal.grams[column, column, marginal.block_pattern[q]]
        precision[q] = gram * inverse[q] + 1.0
    for i in range(number):
        grams = marginal.grams[factor.members[i], column]
        for q in range(blocks):
            solved[i, q] = grams[marginal.block_pattern[q]] * inverse[q]
        for k in range(i):
            for q in range(blocks):
                solved[i, q] -= triangle[i, k, q] * solved[k, q]
        for q in range(blocks):
            solved[i, q] *= triangle[i, i, q]
            precision[q] -= solved[i, q] * solved[i, q]
    for q in range(blocks):
        # None is less than that of the prior; what is, is a rounding error.
        precision[q] = max(precision[q], 1.0)
    linear = factor.linear
    for target in range(linear.size):
        linear[target] = marginal.cross[column, target] * inverse[marginal.block[target]]
    if marginal.mean.shape[0] > 0:
        for target in range(linear.size):
            linear[target] += marginal.mean[column, target]
    add_products(0, -1.0, marginal, factor)
    write_gain(column, marginal, factor)


@part(fastmath={"contract"})
def look_at_member(place, marginal, factor):
    """Write v, q, c and g of the column at a place of the factors."""
    number, blocks = factor.size[0], factor.precision.size
    solved, precision, triangle = factor.solved, factor.precision, factor.triangle
    for q in range(blocks):
        solved[place, q] = triangle[place, place, q]
        precision[q] = solved[place, q] * solved[place, q]
    for i in range(place + 1, number):
        for q in range(blocks):
            solved[i, q] = 0.0
        for k in range(place, i):
            for q in range(blocks):
                solved[i, q] -= triangle[i, k, q] * solved[k, q]
        for q in range(blocks):
            solved[i, q] *= triangle[i, i, q]
            precision[q] += solved[i, q] * solved[i, q]
    for q in range(blocks):
        # So far the variance, which is at most that of the prior.
        precision[q] = max(1.0 / precision[q], 1.0)
    linear = factor.linear
    linear[:] = 0.0
    add_products(place, 1.0, marginal, factor)
    for target in range(linear.size):
        linear[target] *= precision[marginal.block[target]]
    write_gain(factor.members[place], marginal, factor)


@part(fastmath={"contract"})
def add_products(first, sign, marginal, factor):
    """Add products of the solved column with z, from a place on and with a sign, to c."""
    linear, solved, fitted = factor.linear, factor.solved, factor.fitted
    for i in range(first, factor.size[0]):
        line = fitted[i]
        if factor.precision.size == 1:
            share = sign * solved[i, 0]
            for target in range(linear.size):
                linear[target] += share * line[target]
        else:
            shares = solved[i]
            for target in range(linear.size):
                linear[target] += sign * shares[marginal.block[target]] * line[target]


@part(fastmath={"contract"})
def write_gain(column, marginal, factor):
    """Write g from c and q."""
    gain, linear = factor.gain, factor.linear
    constants = marginal.log_constants[column]
    for q in range(factor.precision.size):
        precision = factor.precision[q]
        half, constant = 0.5 / precision, -0.5 * math.log(precision)
        for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
            gain[target] = half * linear[target] * linear[target] + constant + constants[target]
    if marginal.mean.shape[0] > 0:
        for target in range(gain.size):
            mean = marginal.mean[column, target]
            gain[target] -= 0.5 * mean * mean


@part(fastmath={"contract"})
def append_column(column, marginal, factor):
    """Take in the column that was looked at last."""
    place, blocks = factor.size[0], factor.precision.size
    triangle, line = factor.triangle, factor.fitted[place]
    for i in range(place):
        for q in range(blocks):
            triangle[place, i, q] = factor.solved[i, q]
    for q in range(blocks):
        triangle[place, place, q] = 1.0 / math.sqrt(factor.precision[q])
    for target in range(line.size):
        line[target] = factor.linear[target] * triangle[place, place, marginal.block[target]]
        factor.log_evidence[target] += factor.gain[target]
    factor.members[place] = column
    factor.size[0] = place + 1


@part()
def place_of(column, factor):
    """Return where a chosen column is in the factors."""
    for place in range(factor.size[0]):
        if factor.members[place] == column:
            return place
    return -1


@part()
def remove_column(column, marginal, factor):
    """Take a column out: what was taken in before it stays, the rest is taken in again."""
    place, number = place_of(column, factor), factor.size[0]
    later = factor.members[place + 1 : number].copy()
    # Evidences follow one by one, from the last column to this one.
    for last in range(number - 1, place - 1, -1):
        look_at_member(last, marginal, factor)
        for target in range(factor.gain.size):
            factor.log_evidence[target] -= factor.gain[target]
        factor.size[0] = last
    for other in later:
        look_at_outsider(other, marginal, factor)
        append_column(other, marginal, factor)


@part(fastmath={"reassoc", "contract"})
def log_odds_from_data(state, column, marginal, factor):
    """Return log p(A | column in) - log p(A | column out), all other columns as they are."""
    is_in = state[column] == 1
    if is_in:
        look_at_member(place_of(column, factor), marginal, factor)
    else:
        look_at_outsider(column, marginal, factor)
    total = marginal.own_log_densities[column]
    for target in range(factor.gain.size):
        total += factor.interpolated[target] * factor.gain[target]
    for target in marginal.own_targets[column]:
        # It is interpolated only while the column is out.
        total -= factor.log_evidence[target]
        if is_in:
            total += factor.gain[target]
        else:
            total -= factor.gain[target]
    return total


@part()
def change_column(state, column, marginal, factor):
    """Take a column in or out of the state, with all that follows."""
    if state[column] == 1:
        remove_column(column, marginal, factor)
    else:
        look_at_outsider(column, marginal, factor)
        append_column(column, marginal, factor)
    state[column] = 1 - state[column]
    set_interpolated(factor.interpolated, marginal.own_targets, column, 1.0 - state[column])


@part()
def log_likelihood_of(state, marginal, factor):
    """Return log p(A | J) at the given noise variances, but for -½ log 2π an entry."""
    total = 0.0
    for target in range(factor.gain.size):
        total += factor.interpolated[target] * factor.log_evidence[target]
    for column in range(state.size):
        if state[column] == 1:
            total += marginal.own_log_densities[column]
    return total
