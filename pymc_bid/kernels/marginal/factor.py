r"""Triangular factors of a set of columns at given noise.

In a block of targets with noise variance :math:`σ²` and Gram matrix :math:`G` the weights of the
chosen columns :math:`J`, in units of prior precision 1, have the posterior precision
:math:`G_{JJ} / σ² + I = R^\top R` with a triangular :math:`R`. Carried along for *all* columns
:math:`n` and targets :math:`l` are

.. math:: U = R^{-\top} (G / σ² + I)_{J·}, \qquad Z = R^{-\top} h_{J·}, \qquad
    c_{ln} = h_{nl} - U_n·Z_l, \qquad q_n = G_{nn} / σ² + 1 - |U_n|² ,

with :math:`h_l = B^\top a_l / σ² + μ_l`. A column that is out would add

.. math:: g_l = \tfrac12 \frac{c_{ln}²}{q_n} - \tfrac12 \log q_n - \tfrac12 μ_{nl}² - \log P⁰_{nl}

to the log evidence :math:`E_l` of a target, all its weights integrated out. One that is in is
turned, by rotations, into the last row of :math:`U` and :math:`Z`, where dropping it is adding a
product of two vectors to :math:`c`. The log odds of in against out are the sum of :math:`g_l` over
the interpolated targets that the column is not plus, with the identity, its own log density less
its :math:`E` as a target without it.

O(N L) for the odds of all columns that are out, O(K N L) to start, O(N L) to take one in or out,
for one block; K N more for each further one, as where entries are missing or where every target has
its own noise.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.by_reference import by_reference, copy_into
from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.identity import interpolated_targets, set_interpolated
from pymc_bid.kernels.interrupts import let_interrupts_in


class Factor(NamedTuple):
    """The factors of a set of columns at given noise variances; kernels hold and change it."""

    size: int
    """How many columns are chosen, K."""
    members: NDArray[np.int64]
    """These columns, in the order of the rows, the first K entries of (N,)."""
    rows: NDArray[np.float64]
    """U, the first K of (Q, room, N)."""
    fitted: NDArray[np.float64]
    """Z, the first K of (L, room)."""
    linear: NDArray[np.float64]
    """c, (L, N)."""
    precision: NDArray[np.float64]
    """q, (Q, N)."""
    log_evidence: NDArray[np.float64]
    """E of every target, interpolated or not, (L,)."""
    interpolated: NDArray[np.float64]
    """1.0 for each target that is interpolated, else 0.0, (L,)."""
    constants: NDArray[np.float64]
    """Sum of -½μ² - log P⁰ of each column over the interpolated targets, (N,)."""


@part()
def weight_constant(column, target, marginal):
    """Return what g has that does not depend on the data."""
    if marginal.mean.shape[0] == 0:
        return marginal.log_constants[target, column]
    mean = marginal.mean[target, column]
    return marginal.log_constants[target, column] - 0.5 * mean * mean


@part()
def make_factor(state, variances, marginal):
    """Factor a set at the noise variances of the groups, (S,)."""
    targets, columns = marginal.cross.shape
    blocks = marginal.block_pattern.size
    members = np.flatnonzero(state)
    room = min(columns, 2 * members.size + 8)
    factor = by_reference(
        Factor(
            size=members.size,
            members=np.empty(columns, np.int64),
            rows=np.empty((blocks, room, columns)),
            fitted=np.empty((targets, room)),
            linear=np.empty((targets, columns)),
            precision=np.empty((blocks, columns)),
            log_evidence=np.empty(targets),
            interpolated=interpolated_targets(state, marginal.own_targets, targets),
            constants=marginal.constants.copy(),
        )
    )
    for k in range(members.size):
        # Descending: a scan that offers columns from the first on finds each near the last row.
        factor.members[k] = members[members.size - 1 - k]
    for q in range(blocks):
        write_block(q, variances[marginal.block_group[q]], marginal, factor)
    for target in range(targets):
        if factor.interpolated[target] == 0.0:
            _add_constants(target, -1.0, marginal, factor)
    return factor


@part(fastmath={"contract"})
def write_block(q, variance, marginal, factor):
    """Write all that belongs to one block, at a noise variance."""
    inverse, number = 1.0 / variance, factor.size
    gram = marginal.grams[marginal.block_pattern[q]]
    rows, precision = factor.rows[q], factor.precision[q]
    for column in range(precision.size):
        precision[column] = gram[column, column] * inverse + 1.0
    log_determinant = 0.0
    for k in range(number):
        let_interrupts_in(k * precision.size)
        _write_row(k, inverse, gram, rows, precision, factor.members)
        log_determinant += math.log(rows[k, factor.members[k]])
    for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
        let_interrupts_in(number * precision.size)
        line, fitted = factor.linear[target], factor.fitted[target]
        for column in range(line.size):
            line[column] = marginal.cross[target, column] * inverse
        if marginal.mean.shape[0] > 0:
            for column in range(line.size):
                line[column] += marginal.mean[target, column]
        square = marginal.squares[target] * inverse
        total = 0.5 * (marginal.rows[target] * math.log(inverse) - square)
        for k in range(number):
            member = factor.members[k]
            value = line[member]
            for earlier in range(k):
                value -= rows[earlier, member] * fitted[earlier]
            fitted[k] = value / rows[k, member]
            total += 0.5 * fitted[k] * fitted[k] + weight_constant(member, target, marginal)
        _subtract_rows(number, fitted, rows, line)
        factor.log_evidence[target] = total - log_determinant


@part(fastmath={"contract"})
def _subtract_rows(number, factors, rows, line):
    """Subtract the first rows, each times its factor; four at a time, or it would be all loads."""
    whole = number - number % 4
    for k in range(0, whole, 4):
        a, b, c, d = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        p, q, r, s = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for n in range(line.size):
            line[n] -= a * p[n] + b * q[n] + c * r[n] + d * s[n]
    for k in range(whole, number):
        for column in range(line.size):
            line[column] -= factors[k] * rows[k, column]


@part(fastmath={"contract"})
def _write_row(k, inverse, gram, rows, precision, members):
    """Write row k of U in one block, and bring q up to date."""
    member, line = members[k], rows[k]
    root = math.sqrt(precision[member])
    for column in range(line.size):
        line[column] = gram[member, column] * inverse
    for earlier in range(k):
        share = rows[earlier, member]
        for column in range(line.size):
            line[column] -= share * rows[earlier, column]
    for column in range(line.size):
        line[column] /= root
        # None is less than that of the prior; what is, is a rounding error.
        precision[column] = max(precision[column] - line[column] * line[column], 1.0)
    for earlier in range(k):
        # But for rounding it is zero.
        line[members[earlier]] = 0.0
    line[member] = root


@part()
def _add_constants(target, sign, marginal, factor):
    """Count the constants of a target, or do not count them any more."""
    for column in range(factor.constants.size):
        factor.constants[column] += sign * weight_constant(column, target, marginal)


@spread()
def _make_room(factor):
    """Give a factor room for one column more."""
    blocks, room, columns = factor.rows.shape
    if factor.size < room:
        return
    rows = np.empty((blocks, min(2 * room, columns), columns))
    fitted = np.empty((factor.fitted.shape[0], rows.shape[1]))
    for q in range(blocks):
        for k in range(room):
            copy_into(factor.rows[q, k], rows[q, k])
    for target in range(fitted.shape[0]):
        copy_into(factor.fitted[target], fitted[target])
    factor.rows, factor.fitted = rows, fitted


@part(fastmath={"contract"})
def make_last(column, marginal, factor):
    """Turn the row of a chosen column into the last one, by rotations."""
    members, number = factor.members, factor.size
    # Fields are read once: each time counts references to an array.
    rows, fitted, starts = factor.rows, factor.fitted, marginal.block_start
    place = 0
    while members[place] != column:
        place += 1
    for i in range(place, number - 1):
        following = members[i + 1]
        for q in range(rows.shape[0]):
            upper, lower = rows[q, i, following], rows[q, i + 1, following]
            length = math.sqrt(upper * upper + lower * lower)
            cosine, sine = upper / length, lower / length
            for other in range(rows.shape[2]):
                upper, lower = rows[q, i, other], rows[q, i + 1, other]
                rows[q, i, other] = cosine * upper + sine * lower
                rows[q, i + 1, other] = cosine * lower - sine * upper
            rows[q, i + 1, following] = 0.0
            for target in range(starts[q], starts[q + 1]):
                upper, lower = fitted[target, i], fitted[target, i + 1]
                fitted[target, i] = cosine * upper + sine * lower
                fitted[target, i + 1] = cosine * lower - sine * upper
        members[i] = following
    members[number - 1] = column


@part(fastmath={"contract"})
def take_in(column, state, marginal, variances, factor):
    """Take a column in."""
    _make_room(factor)
    place = factor.size
    factor.members[place] = column
    for q in range(factor.rows.shape[0]):
        gram, inverse = (
            marginal.grams[marginal.block_pattern[q]],
            1.0 / variances[marginal.block_group[q]],
        )
        rows = factor.rows[q]
        _write_row(place, inverse, gram, rows, factor.precision[q], factor.members)
        for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
            line = factor.linear[target]
            value = line[column] / rows[place, column]
            for other in range(line.size):
                line[other] -= rows[place, other] * value
            factor.fitted[target, place] = value
            factor.log_evidence[target] += _last_gain(target, place, column, marginal, factor)
    factor.size = place + 1
    state[column] = 1
    set_interpolated(factor.interpolated, marginal.own_targets, column, 0.0)
    for target in marginal.own_targets[column]:
        _add_constants(target, -1.0, marginal, factor)


@part(fastmath={"contract"})
def take_last_out(state, marginal, factor):
    """Take out the column of the last row."""
    last = factor.size - 1
    column = factor.members[last]
    for q in range(factor.rows.shape[0]):
        row, precision = factor.rows[q, last], factor.precision[q]
        precision[column] = 0.0
        for other in range(row.size):
            precision[other] += row[other] * row[other]
        for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
            line, value = factor.linear[target], factor.fitted[target, last]
            factor.log_evidence[target] -= _last_gain(target, last, column, marginal, factor)
            line[column] = 0.0
            for other in range(line.size):
                line[other] += row[other] * value
    factor.size = last
    state[column] = 0
    set_interpolated(factor.interpolated, marginal.own_targets, column, 1.0)
    for target in marginal.own_targets[column]:
        _add_constants(target, 1.0, marginal, factor)


@part()
def _last_gain(target, place, column, marginal, factor):
    """Return g of the column of a row, the last one, for one target."""
    value = factor.fitted[target, place]
    half_log = math.log(abs(factor.rows[marginal.block[target], place, column]))
    return 0.5 * value * value - half_log + weight_constant(column, target, marginal)


@part()
def log_evidence_of(target, dropping, marginal, factor):
    """Return E of a target, without the column of the last row if that is dropped."""
    found = factor.log_evidence[target]
    if dropping:
        last = factor.size - 1
        found -= _last_gain(target, last, factor.members[last], marginal, factor)
    return found


@part()
def linear_and_precision(column, target, dropping, marginal, factor):
    """Return c and q of a column for one target."""
    q, last = marginal.block[target], factor.size - 1
    value, precision = factor.linear[target, column], factor.precision[q, column]
    if dropping:
        row = factor.rows[q, last, column]
        if column == factor.members[last]:
            value, precision = 0.0, 0.0
        value += row * factor.fitted[target, last]
        precision += row * row
    return value, precision
