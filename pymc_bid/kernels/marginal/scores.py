"""The log odds of single columns at given noise, from the factor of a set.

See `pymc_bid.kernels.marginal.factor` for the formulas.
"""

import math

import numpy as np

from pymc_bid.kernels.by_reference import copy_into
from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.marginal.factor import weight_constant

FACTORS = 8
"""Precisions that are multiplied before a logarithm is taken: none is near 1e38."""


@part(fastmath={"contract"})
def _add_squares(first, last, row, values, factor, squares):
    """Add the squares of c of a range of targets that are interpolated, the last row dropped."""
    linear, interpolated, target = factor.linear, factor.interpolated, first
    while target + 4 <= last:
        # Four at a time, or it would be all loads.
        a, b, c, d = linear[target], linear[target + 1], linear[target + 2], linear[target + 3]
        e, f, g, h = values[target], values[target + 1], values[target + 2], values[target + 3]
        i, j = interpolated[target], interpolated[target + 1]
        k, m = interpolated[target + 2], interpolated[target + 3]
        for n in range(squares.size):
            p, q = a[n] + row[n] * e, b[n] + row[n] * f
            r, s = c[n] + row[n] * g, d[n] + row[n] * h
            squares[n] += i * p * p + j * q * q + (k * r * r + m * s * s)
        target += 4
    while target < last:
        for n in range(squares.size):
            total = linear[target, n] + row[n] * values[target]
            squares[n] += interpolated[target] * total * total
        target += 1


@part(fastmath={"contract"})
def score_columns(dropping, marginal, factor, scores):
    """Write log p(A | column in) - log p(A | column out) of every column that is out.

    With `dropping` the column of the last row counts as out, and is scored too. What is written for
    columns that are in means nothing.
    """
    columns, last = scores.size, factor.size - 1
    dropped = factor.members[last] if dropping else -1
    squares, precision = np.empty(columns), np.empty(columns)
    product, row, values = np.ones(columns), np.zeros(columns), np.zeros(marginal.squares.size)
    waiting = 0
    for column in range(columns):
        scores[column] = marginal.own_log_densities[column] + factor.constants[column]
    for q in range(factor.rows.shape[0]):
        copy_into(factor.precision[q], precision)
        if dropping:
            copy_into(factor.rows[q, last], row)
            precision[dropped] = 0.0
            for column in range(columns):
                precision[column] += row[column] * row[column]
        squares[:] = 0.0
        first, end, number = marginal.block_start[q], marginal.block_start[q + 1], 0.0
        for target in range(first, end):
            number += factor.interpolated[target]
            values[target] = factor.fitted[target, last] if dropping else 0.0
        _add_squares(first, end, row, values, factor, squares)
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
    last, q = factor.size - 1, marginal.block[target]
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
    last, linear, precision = factor.size - 1, factor.linear, factor.precision
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


@part()
def score_last(marginal, factor):
    """Return log p(A | in) - log p(A | out) of the column of the last row."""
    last, rows, fitted = factor.size - 1, factor.rows, factor.fitted
    interpolated, starts = factor.interpolated, marginal.block_start
    column = factor.members[last]
    total = marginal.own_log_densities[column] + factor.constants[column]
    for q in range(rows.shape[0]):
        half_log = math.log(abs(rows[q, last, column]))
        for target in range(starts[q], starts[q + 1]):
            if interpolated[target] != 0.0:
                total += 0.5 * fitted[target, last] * fitted[target, last] - half_log
    for target in marginal.own_targets[column]:
        # It is interpolated only while the column is out.
        half_log = math.log(abs(rows[marginal.block[target], last, column]))
        total += 0.5 * fitted[target, last] * fitted[target, last] - half_log
        total += weight_constant(column, target, marginal) - factor.log_evidence[target]
    return total
