r"""Tabu search over sets of columns, for warm-up only.

All exchanges of a column that is in for one that is out are scored in closed form, without bounds
(`pymc_bid.kernels.tableau`), and the best one is made even if it is for the worse. The two columns
then have to stay where they are for a while, so that the search climbs out of a set that no single
exchange improves instead of falling back into it (Glover, 1989). With :math:`p` the left part of
the tableau, :math:`c_k` the right part of row :math:`k` and :math:`f = p_{ji} / p_{jj}`, row
:math:`i` has, with row :math:`j` out, the precision :math:`q = p_{ii} + f p_{ji}` and

.. math:: \log \text{odds}_i = \text{constant}_i + \tfrac12 \bigl(
    (c_i \cdot c_i + 2 f\, c_i \cdot c_j + f^2 c_j \cdot c_j) / q - L \log q \bigr).

The products :math:`c_i \cdot c_j` of all rows are kept up instead of the rows themselves, so that
an exchange is scored by a few operations, whatever the number of targets. Everywhere below
`landscape` is the tuple of the left part of the tableau (N, N), these products (N, N), the totals
of the surrogate (N,) and the number of targets. None of this leaves the posterior invariant.
"""

import numpy as np

from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.tableau import build_surrogate, pivot

SHORTEST_BAN, LONGEST_BAN = 3, 25
"""Exchanges for which a column that has moved stays where it is, if there are enough others."""


@part()
def build_landscape(state, model, log_prior_odds):
    """Return the landscape around a state."""
    tableau, _, totals, _ = build_surrogate(state, model, log_prior_odds)
    number_of_columns = state.shape[0]
    linear = np.ascontiguousarray(tableau[:, number_of_columns:])
    left = np.ascontiguousarray(tableau[:, :number_of_columns])
    return left, linear @ linear.T, totals, linear.shape[1]


@part()
def flip(state, row, landscape):
    """Take a column in or out."""
    left, products, _, _ = landscape
    diagonal = left[row, row]
    square = products[row, row] / diagonal**2
    column = left[:, row].copy()
    scaled = products[row] / diagonal
    pivot(left, row)
    number = state.shape[0]
    for first in range(number):
        if first != row:
            factor = column[first]
            rest = scaled[first] - factor * square
            for second in range(number):
                products[first, second] -= factor * scaled[second] + column[second] * rest
    for other in range(number):
        if other != row:
            products[row, other] = scaled[other] - column[other] * square
            products[other, row] = products[row, other]
    products[row, row] = square
    state[row] = 1 - state[row]


@part()
def best_exchange(landscape, members, others, banned, least_gain):
    """Return the best exchange and its gain; one of banned columns only above `least_gain`.

    Parameters
    ----------
    landscape : tuple
    members, others : int arrays
        Columns that are in and out, and that may move.
    banned : (N,) bool array
    least_gain : float

    Returns
    -------
    leaving, entering : int
        -1, -1 if there is none.
    gain : float
    """
    left, products, totals, number_of_targets = landscape
    best, leaving, entering = -np.inf, -1, -1
    for member in members:
        variance = left[member, member]
        square = products[member, member]
        present = 0.5 * (square / variance + number_of_targets * np.log(variance)) + totals[member]
        for other in others:
            factor = left[member, other] / variance
            precision = left[other, other] + factor * left[member, other]
            quadratic = products[other, other]
            quadratic += factor * (2.0 * products[member, other] + factor * square)
            gain = 0.5 * (quadratic / precision - number_of_targets * np.log(precision))
            gain += totals[other] - present
            if gain > best and (gain > least_gain or not (banned[member] or banned[other])):
                best, leaving, entering = gain, member, other
    return leaving, entering, best


@part()
def best_flip(state, landscape, candidates):
    """Return the candidate whose flip gains most, and what it gains; -1 if there is none."""
    left, products, totals, number_of_targets = landscape
    best, column = -np.inf, -1
    for row in range(state.shape[0]):
        if candidates[row]:
            active = state[row] == 1
            diagonal = left[row, row]
            log_precision = -np.log(diagonal) if active else np.log(diagonal)
            quadratic = products[row, row] / diagonal
            log_odds = totals[row] + 0.5 * (quadratic - number_of_targets * log_precision)
            gain = -log_odds if active else log_odds
            if gain > best:
                best, column = gain, row
    return column, best


@kernel()
def rank_openings(state, noise_variance, problem, log_prior_odds, size_is_free, gains):
    """Find what the best exchange that takes each column in gains, or its flip if that is allowed.

    Parameters
    ----------
    state, noise_variance, problem, log_prior_odds, size_is_free
        As in `search_sets`; nothing of these is changed.
    gains : (N,) array
        Receives the gains; -inf for a column that takes no part.
    """
    moments, prior, own = problem
    landscape = build_landscape(state, (moments, noise_variance, prior, own), log_prior_odds)
    movable = np.isfinite(log_prior_odds)
    members = np.flatnonzero(movable & (state == 1))
    banned = np.zeros(state.shape[0], np.bool_)
    gains[:] = -np.inf
    for column in np.flatnonzero(movable):
        if state[column] == 0:
            entering = np.array([column])
            gains[column] = best_exchange(landscape, members, entering, banned, -np.inf)[2]
        if size_is_free:
            candidates = np.zeros(state.shape[0], np.bool_)
            candidates[column] = True
            gains[column] = max(gains[column], best_flip(state, landscape, candidates)[1])


@part()
def resize(state, landscape, movable, further):
    """Take columns in or out, the best first, while that pays, and then a few whatever it costs.

    Parameters
    ----------
    state, landscape
        Changed in place.
    movable : (N,) bool array
    further : int
        How many more go in at the end; out, if negative.

    Returns
    -------
    total : float
        What was gained.
    """
    total = 0.0
    candidates = movable.copy()
    row, gain = best_flip(state, landscape, candidates)
    while gain > 0.0:
        flip(state, row, landscape)
        total += gain
        candidates[row] = False
        row, gain = best_flip(state, landscape, candidates)
    before = 0 if further > 0 else 1
    for _ in range(abs(further)):
        row, gain = best_flip(state, landscape, movable & (state == before))
        if not np.isfinite(gain):
            break
        flip(state, row, landscape)
        total += gain
    return total


@part()
def draw_ban(rng, number_of_columns):
    """Draw how long a column is banned; half of those that could move instead never are."""
    longest = min(LONGEST_BAN, number_of_columns // 2)
    shortest = min(SHORTEST_BAN, longest)
    return shortest + int(rng.random() * (longest - shortest + 1))


@random_kernel
def search_sets(
    stream,
    state,
    noise_variance,
    problem,
    log_prior_odds,
    number_of_exchanges,
    size_is_free,
    further,
):
    """Make exchanges, always the best that is allowed, and keep the best set on the way.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    state : (N,) int array
        Changed in place to the best state.
    noise_variance : float
    problem : tuple
        `(products, prior, own)`, all as in `pymc_bid.kernels.tableau`; no column may have a density
        of its own.
    log_prior_odds : (N,) array
        A column where it is infinite takes no part.
    number_of_exchanges : int
    size_is_free : bool
        Whether columns are first taken in or out as long as that pays, see `resize`.
    further : int
        And how many more then go in, or out if negative: what pays may be another matter at the
        noise variance of the larger set.

    Returns
    -------
    gain : float
        In log evidence, bounds left out.
    """
    rng = generator_at(stream)
    moments, prior, own = problem
    landscape = build_landscape(state, (moments, noise_variance, prior, own), log_prior_odds)
    free_from = np.zeros(state.shape[0], np.int64)
    movable = np.isfinite(log_prior_odds)
    present = 0.0
    if size_is_free:
        present = resize(state, landscape, movable, further)
    best = present
    best_state = state.copy()
    for exchange in range(number_of_exchanges):
        members = np.flatnonzero(movable & (state == 1))
        others = np.flatnonzero(movable & (state == 0))
        leaving, entering, gain = best_exchange(
            landscape, members, others, free_from > exchange, best - present
        )
        if leaving < 0 or not np.isfinite(gain):
            break
        flip(state, leaving, landscape)
        flip(state, entering, landscape)
        free_from[leaving] = exchange + 1 + draw_ban(rng, others.size)
        free_from[entering] = exchange + 1 + draw_ban(rng, members.size)
        present += gain
        if present > best:
            best = present
            best_state[:] = state
    state[:] = best_state
    return best
