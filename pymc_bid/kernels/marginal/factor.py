r"""Triangular factors of a set of columns: the log odds of every single column at given noise.

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

from pymc_bid.kernels.compilation import inlined, part
from pymc_bid.kernels.identity import interpolated_targets, set_interpolated

FACTORS = 8
"""Precisions that are multiplied before a logarithm is taken: none is near 1e38."""


class Factor(NamedTuple):
    """The factors of a set of columns at given noise variances, changed in place."""

    size: NDArray[np.int64]
    """How many columns are chosen, K, an array of one number."""
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


@inlined()
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
    factor = Factor(
        size=np.array([members.size]),
        members=np.empty(columns, np.int64),
        rows=np.empty((blocks, room, columns)),
        fitted=np.empty((targets, room)),
        linear=np.empty((targets, columns)),
        precision=np.empty((blocks, columns)),
        log_evidence=np.empty(targets),
        interpolated=interpolated_targets(state, marginal.own_targets, targets),
        constants=np.zeros(columns),
    )
    factor.members[: members.size] = members
    for q in range(blocks):
        write_block(q, variances[marginal.block_group[q]], marginal, factor)
    for target in range(targets):
        if factor.interpolated[target] != 0.0:
            _add_constants(target, 1.0, marginal, factor)
    return factor


@part(fastmath={"contract"})
def write_block(q, variance, marginal, factor):
    """Write all that belongs to one block, at a noise variance."""
    inverse, number = 1.0 / variance, factor.size[0]
    gram, rows, precision = (
        marginal.grams[marginal.block_pattern[q]],
        factor.rows[q],
        factor.precision[q],
    )
    for column in range(precision.size):
        precision[column] = gram[column, column] * inverse + 1.0
    log_determinant = 0.0
    for k in range(number):
        _write_row(k, inverse, gram, rows, precision, factor.members)
        log_determinant += math.log(rows[k, factor.members[k]])
    for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
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
            fitted[k] = line[member] / rows[k, member]
            for column in range(line.size):
                line[column] -= rows[k, column] * fitted[k]
            total += 0.5 * fitted[k] * fitted[k] + weight_constant(member, target, marginal)
        factor.log_evidence[target] = total - log_determinant


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


@part()
def _with_room(factor):
    """Return the factor with room for one column more."""
    blocks, room, columns = factor.rows.shape
    if factor.size[0] < room:
        return factor
    rows = np.empty((blocks, min(2 * room, columns), columns))
    fitted = np.empty((factor.fitted.shape[0], rows.shape[1]))
    rows[:, :room], fitted[:, :room] = factor.rows, factor.fitted
    return Factor(
        factor.size,
        factor.members,
        rows,
        fitted,
        factor.linear,
        factor.precision,
        factor.log_evidence,
        factor.interpolated,
        factor.constants,
    )


@part(fastmath={"contract"})
def make_last(column, marginal, factor):
    """Turn the row of a chosen column into the last one, by rotations."""
    members, number = factor.members, factor.size[0]
    place = 0
    while members[place] != column:
        place += 1
    for i in range(place, number - 1):
        following = members[i + 1]
        for q in range(factor.rows.shape[0]):
            upper, lower = factor.rows[q, i], factor.rows[q, i + 1]
            length = math.sqrt(
                upper[following] * upper[following] + lower[following] * lower[following]
            )
            cosine, sine = upper[following] / length, lower[following] / length
            for other in range(upper.size):
                kept = upper[other]
                upper[other] = cosine * kept + sine * lower[other]
                lower[other] = cosine * lower[other] - sine * kept
            lower[following] = 0.0
            for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
                fitted = factor.fitted[target]
                kept = fitted[i]
                fitted[i] = cosine * kept + sine * fitted[i + 1]
                fitted[i + 1] = cosine * fitted[i + 1] - sine * kept
        members[i] = following
    members[number - 1] = column


@part(fastmath={"contract"})
def take_in(column, state, marginal, variances, factor):
    """Take a column in; return the factor, which may have been given more room."""
    factor = _with_room(factor)
    place = factor.size[0]
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
    factor.size[0] = place + 1
    state[column] = 1
    set_interpolated(factor.interpolated, marginal.own_targets, column, 0.0)
    for target in marginal.own_targets[column]:
        _add_constants(target, -1.0, marginal, factor)
    return factor


@part(fastmath={"contract"})
def take_last_out(state, marginal, factor):
    """Take out the column of the last row."""
    last = factor.size[0] - 1
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
    factor.size[0] = last
    state[column] = 0
    set_interpolated(factor.interpolated, marginal.own_targets, column, 1.0)
    for target in marginal.own_targets[column]:
        _add_constants(target, 1.0, marginal, factor)


@inlined()
def _last_gain(target, place, column, marginal, factor):
    """Return g of the column of a row, the last one, for one target."""
    value = factor.fitted[target, place]
    half_log = math.log(abs(factor.rows[marginal.block[target], place, column]))
    return 0.5 * value * value - half_log + weight_constant(column, target, marginal)


@inlined()
def log_evidence_of(target, dropping, marginal, factor):
    """Return E of a target, without the column of the last row if that is dropped."""
    found = factor.log_evidence[target]
    if dropping:
        last = factor.size[0] - 1
        found -= _last_gain(target, last, factor.members[last], marginal, factor)
    return found


@inlined()
def linear_and_precision(column, target, dropping, marginal, factor):
    """Return c and q of a column for one target."""
    q, last = marginal.block[target], factor.size[0] - 1
    value, precision = factor.linear[target, column], factor.precision[q, column]
    if dropping:
        row = factor.rows[q, last, column]
        if column == factor.members[last]:
            value, precision = 0.0, 0.0
        value += row * factor.fitted[target, last]
        precision += row * row
    return value, precision


@part(fastmath={"contract"})
def _add_squares(line, row, value, squares):
    """Add the squares of c with the last row dropped; apart, so that it is done many at a time."""
    for column in range(squares.size):
        total = line[column] + row[column] * value
        squares[column] += total * total


@part(fastmath={"contract"})
def score_columns(dropping, marginal, factor, scores):
    """Write log p(A | column in) - log p(A | column out) of every column that is out.

    With `dropping` the column of the last row counts as out, and is scored too. What is written for
    columns that are in means nothing.
    """
    columns, last = scores.size, factor.size[0] - 1
    dropped = factor.members[last] if dropping else -1
    squares, precision = np.empty(columns), np.empty(columns)
    product, row = np.ones(columns), np.zeros(columns)
    waiting = 0
    for column in range(columns):
        scores[column] = marginal.own_log_densities[column] + factor.constants[column]
    for q in range(factor.rows.shape[0]):
        precision[:] = factor.precision[q]
        if dropping:
            row[:] = factor.rows[q, last]
            precision[dropped] = 0.0
            for column in range(columns):
                precision[column] += row[column] * row[column]
        squares[:] = 0.0
        number = 0.0
        for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
            if factor.interpolated[target] == 0.0:
                continue
            number += 1.0
            line = factor.linear[target]
            value = factor.fitted[target, last] if dropping else 0.0
            _add_squares(line, row, value, squares)
        if number == 0.0:
            continue
        for column in range(columns):
            scores[column] += 0.5 * squares[column] / precision[column]
        if number > 1.0:
            for column in range(columns):
                scores[column] -= 0.5 * number * math.log(precision[column])
            continue
        waiting += 1
        for column in range(columns):
            product[column] *= precision[column]
        if waiting == FACTORS:
            waiting = 0
            for column in range(columns):
                scores[column] -= 0.5 * math.log(product[column])
                product[column] = 1.0
    if waiting > 0:
        for column in range(columns):
            scores[column] -= 0.5 * math.log(product[column])
    for d in range(marginal.own_targets.shape[1]):
        if dropping:
            _add_gains(marginal.own_targets[dropped, d], marginal, factor, scores)
        _subtract_own(d, dropping, marginal, factor, scores)


@part(fastmath={"contract"})
def _add_gains(target, marginal, factor, scores):
    """Add g of every column but the last for one target, with the last column dropped."""
    last, q = factor.size[0] - 1, marginal.block[target]
    linear, precision, row = factor.linear[target], factor.precision[q], factor.rows[q, last]
    value = factor.fitted[target, last]
    kept = scores[factor.members[last]]
    for column in range(scores.size):
        total = linear[column] + row[column] * value
        inverse = 1.0 / (precision[column] + row[column] * row[column])
        scores[column] += 0.5 * (total * total * inverse + math.log(inverse))
        scores[column] += weight_constant(column, target, marginal)
    scores[factor.members[last]] = kept


@part(fastmath={"contract"})
def _subtract_own(d, dropping, marginal, factor, scores):
    """Subtract what the own target of each column adds while the column is out."""
    last, linear, precision = factor.size[0] - 1, factor.linear, factor.precision
    block, own_targets = marginal.block, marginal.own_targets
    dropped = factor.members[last] if dropping else -1
    half_logs = np.zeros(factor.rows.shape[0])
    if dropping:
        for q in range(half_logs.size):
            half_logs[q] = math.log(abs(factor.rows[q, last, dropped]))
    for column in range(scores.size):
        target = own_targets[column, d]
        q = block[target]
        scores[column] -= factor.log_evidence[target]
        row, value = 0.0, 0.0
        if dropping:
            row, value = factor.rows[q, last, column], factor.fitted[target, last]
            scores[column] += 0.5 * value * value - half_logs[q]
            scores[column] += weight_constant(dropped, target, marginal)
        if factor.interpolated[target] != 0.0:
            # It is interpolated only while the column is out.
            total = linear[target, column] + row * value
            inverse = 1.0 / (precision[q, column] + row * row)
            scores[column] -= 0.5 * (total * total * inverse + math.log(inverse))
            scores[column] -= weight_constant(column, target, marginal)


@part(fastmath={"reassoc", "contract"})
def score_member(column, marginal, factor):
    r"""Return log p(A | in) - log p(A | out) of a chosen column, without making it the last one.

    With :math:`R^\top v = e_i` its weights have, all others integrated out, the precision
    :math:`1 / |v|²` and the means :math:`v·Z_l`.
    """
    members, number = factor.members, factor.size[0]
    place = 0
    while members[place] != column:
        place += 1
    total = marginal.own_log_densities[column] + factor.constants[column]
    solved = np.empty(number)
    for q in range(factor.rows.shape[0]):
        rows, variance = factor.rows[q], 0.0
        for k in range(place, number):
            value = 1.0 if k == place else 0.0
            for earlier in range(place, k):
                value -= rows[earlier, members[k]] * solved[earlier]
            solved[k] = value / rows[k, members[k]]
            variance += solved[k] * solved[k]
        log_variance = math.log(variance)
        for target in range(marginal.block_start[q], marginal.block_start[q + 1]):
            is_own = False
            for d in range(marginal.own_targets.shape[1]):
                is_own = is_own or marginal.own_targets[column, d] == target
            if factor.interpolated[target] == 0.0 and not is_own:
                continue
            mean = 0.0
            for k in range(place, number):
                mean += solved[k] * factor.fitted[target, k]
            gain = 0.5 * (mean * mean / variance + log_variance)
            if is_own:
                gain += weight_constant(column, target, marginal)
                total += gain - factor.log_evidence[target]
            else:
                total += gain
    return total
