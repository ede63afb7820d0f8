r"""The sweep operator: the log odds of every single column, at a given noise variance.

For a marginal model with one Gram matrix and one noise variance, sweeping the table

.. math:: \bigl[ G / σ² + I \;\big|\; B^\top A / σ² + μ \bigr]

on the rows of the chosen columns :math:`J` leaves, for a column :math:`k` that is out, the
precision :math:`q_k` (on the diagonal) and the linear terms :math:`c_{kl}` (on the right) of its
weights, those of all chosen columns integrated out; for one that is in, the variance
:math:`1 / q_k` and the means :math:`c_{kl} / q_k`. Either way the log odds of in against out are

.. math:: \sum_l \Bigl[ \tfrac12 \frac{c_{kl}^2}{q_k} - \tfrac12 \log q_k - \tfrac12 μ_{kl}^2
    - \log P⁰_{kl} \Bigr]

over the interpolated targets that column :math:`k` is not, plus, with the identity,
:math:`\log p_0(a_k) - \log E_k`: its own density against its evidence given the other columns.
O(L) for the odds of one column, O(N (N + L)) to take one in or out.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.identity import interpolated_targets, set_interpolated


class Table(NamedTuple):
    """A swept table and what goes with it."""

    values: NDArray[np.float64]
    """(N, N + L)."""
    constants: NDArray[np.float64]
    """What each weight adds to the log odds of its column whatever the data, (N, L)."""
    interpolated: NDArray[np.float64]
    """1.0 for each target that is interpolated, else 0.0, (L,)."""
    log_determinant: NDArray[np.float64]
    """Of the precision matrix of the chosen columns' weights, an array of one number."""


@part()
def prior_constants(marginal):
    """Return `Table.constants`."""
    constants = marginal.log_constants.copy()
    if marginal.mean.shape[0] > 0:
        constants -= 0.5 * marginal.mean**2
    return constants


@part()
def build_table(state, variance, marginal, constants, values):
    """Sweep on the chosen columns, writing into `values`."""
    size = state.size
    gram = marginal.grams[0]
    has_mean = marginal.mean.shape[0] > 0
    inverse = 1.0 / variance
    for row in range(size):
        for column in range(size):
            values[row, column] = gram[row, column] * inverse
        values[row, row] += 1.0
        for target in range(marginal.squares.size):
            values[row, size + target] = marginal.cross[row, target] * inverse
            if has_mean:
                values[row, size + target] += marginal.mean[row, target]
    interpolated = interpolated_targets(state, marginal.own_targets, marginal.squares.size)
    table = Table(values, constants, interpolated, np.zeros(1))
    for row in range(size):
        if state[row] == 1:
            sweep(row, False, table)
    return table


@part()
def kept_diagonal(value, is_in):
    """Return a precision, or a variance of a column that is in, with rounding errors undone.

    No precision is less than that of the prior, which is 1.
    """
    return min(max(value, 1e-300), 1.0) if is_in else max(value, 1.0)


@part(fastmath={"contract"})
def sweep(row, is_in, table):
    """Take a column in or out, in place; doing it twice changes nothing."""
    values = table.values
    values[row, row] = kept_diagonal(values[row, row], is_in)
    inverse = 1.0 / values[row, row]
    table.log_determinant[0] -= math.log(inverse)
    pivot = values[row]
    for column in range(values.shape[1]):
        pivot[column] *= inverse
    pivot[row] = inverse
    for other in range(values.shape[0]):
        if other != row:
            factor = values[other, row]
            if factor == 0.0:
                continue
            line = values[other]
            for column in range(values.shape[1]):
                line[column] -= factor * pivot[column]
            line[row] = -factor * inverse


@part()
def change_column(state, row, marginal, table):
    """Take a column in or out of the state, with all that follows."""
    sweep(row, state[row] == 1, table)
    state[row] = 1 - state[row]
    set_interpolated(table.interpolated, marginal.own_targets, row, 1.0 - state[row])


# Sums may be taken in any order here, which lets them be taken several at a time.
@part(fastmath={"reassoc", "contract"})
def interpolated_sums(row, table):
    """Return the number of interpolated targets, and sums of squares and constants over them."""
    size = table.values.shape[0]
    line = table.values[row, size:]
    constants = table.constants[row]
    number, squares, total = 0.0, 0.0, 0.0
    for target in range(line.size):
        share = table.interpolated[target]
        number += share
        squares += share * line[target] * line[target]
        total += share * constants[target]
    return number, squares, total


@part()
def log_own_evidence(state, row, variance, marginal, table):
    r"""Return the log evidence of a column as a target, given the other chosen columns.

    .. math:: \log E_k = \sum_{j \in J \setminus k} \bigl[ \text{constant}_j
        + \tfrac12 h_j \hat y_j \bigr] - \tfrac12 \log |Λ| - \tfrac12 |a_k|^2 / σ²
        - \tfrac{M}{2} \log σ², \qquad h = B^\top a_k / σ² + μ
    """
    size = state.size
    values = table.values
    has_mean = marginal.mean.shape[0] > 0
    is_in = state[row] == 1
    total = 0.0
    for target in marginal.own_targets[row]:
        total -= 0.5 * (marginal.squares[target] / variance + table.log_determinant[0])
        total -= 0.5 * marginal.rows[target] * math.log(variance)
        share = 0.0
        if is_in:
            # As if it had been taken out.
            variance_in = kept_diagonal(values[row, row], True)
            total -= 0.5 * math.log(variance_in)
            share = values[row, size + target] / variance_in
        for other in range(size):
            if state[other] == 0 or other == row:
                continue
            fitted = values[other, size + target] - share * values[other, row]
            linear = marginal.cross[other, target] / variance
            if has_mean:
                linear += marginal.mean[other, target]
            total += table.constants[other, target] + 0.5 * linear * fitted
    return total


@part()
def log_odds_from_data(state, row, variance, marginal, table):
    """Return log p(A | column in) - log p(A | column out), all other columns as they are."""
    size = state.size
    diagonal = kept_diagonal(table.values[row, row], state[row] == 1)
    log_precision = -math.log(diagonal) if state[row] == 1 else math.log(diagonal)
    number, squares, total = interpolated_sums(row, table)
    if state[row] == 0:
        for target in marginal.own_targets[row]:
            value = table.values[row, size + target]
            number -= 1.0
            squares -= value * value
            total -= table.constants[row, target]
    log_odds = total + 0.5 * (squares / diagonal - number * log_precision)
    if marginal.own_targets.shape[1] > 0:
        log_odds += marginal.own_log_densities[row]
        log_odds -= log_own_evidence(state, row, variance, marginal, table)
    return log_odds
