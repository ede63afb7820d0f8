r"""Annealed search over states, for warm-up only: brings chains from any start to the same region.

A *scout* is a state without weights, moved by flips and swaps whose log odds, taken from the
closed form without bounds (`pymc_bid.kernels.tableau`), are divided by a temperature that falls to
1. The objective is the evidence itself at every temperature. Holding the noise variance high
instead changes the objective, and its path leads to the best states of the wrong noise. At the end
of a cycle the chain takes over the scout's state if its evidence *with* the bounds
(`pymc_bid.kernels.propagation`) is higher.

None of this leaves the posterior invariant: it belongs to draws that are discarded.
"""

import numpy as np

from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.oblique import draw_index
from pymc_bid.kernels.tableau import (
    build_tableau,
    expected_squared_error,
    log_odds_in,
    pivot,
    prior_constants,
    squared_norm,
)


@part()
def tempered_flips(rng, state, tableau, constants, temperature):
    """Draw the state of each column given the others, at a temperature; return how many changed."""
    changed = 0
    for row in range(state.shape[0]):
        active = state[row] == 1
        log_odds = log_odds_in(tableau, active, row, constants[row])
        uniform = rng.random()
        enter = log_odds > temperature * (np.log(uniform) - np.log1p(-uniform))
        if enter != active:
            pivot(tableau, row)
            state[row] = 1 if enter else 0
            changed += 1
    return changed


@part()
def tempered_swaps(rng, state, tableau, constants, temperature, number_of_swaps):
    r"""Take a random column out and draw the one that goes in; return how many changed.

    With row :math:`j` out, row :math:`i` has the precision :math:`q_i + f p_{ji}` and the linear
    term :math:`c_i + f \hat y_j`, where :math:`f = p_{ji} / p_{jj}`, :math:`p` being the left part
    of the tableau: one pass scores all candidates, and only a swap that happens takes pivots.
    """
    number_of_columns = state.shape[0]
    number_of_targets = tableau.shape[1] - number_of_columns
    members = np.empty(number_of_columns, np.int64)
    affinity = np.empty(number_of_columns)
    norms = np.empty(number_of_columns)
    for row in range(number_of_columns):
        norms[row] = squared_norm(tableau, row)
    changed = 0
    for _ in range(number_of_swaps):
        number = 0
        for row in range(number_of_columns):
            if state[row] == 1 and np.isfinite(constants[row]):
                members[number] = row
                number += 1
        if number == 0:
            break
        leaving = members[int(rng.random() * number)]
        variance = tableau[leaving, leaving]
        best = -np.inf
        for row in range(number_of_columns):
            affinity[row] = -np.inf
            if row == leaving:
                score = norms[row] / variance + number_of_targets * np.log(variance)
            elif state[row] == 0 and np.isfinite(constants[row]):
                factor = tableau[leaving, row] / variance
                product = 0.0
                for column in range(number_of_columns, tableau.shape[1]):
                    product += tableau[row, column] * tableau[leaving, column]
                precision = tableau[row, row] + factor * tableau[leaving, row]
                square = norms[row] + factor * (2.0 * product + factor * norms[leaving])
                score = square / precision - number_of_targets * np.log(precision)
            else:
                continue
            affinity[row] = (0.5 * score + constants[row]) / temperature
            best = max(best, affinity[row])
        for row in range(number_of_columns):
            affinity[row] = np.exp(affinity[row] - best)
        entering = draw_index(rng, affinity, number_of_columns)
        if entering >= 0 and entering != leaving:
            pivot(tableau, leaving)
            pivot(tableau, entering)
            state[leaving] = 0
            state[entering] = 1
            changed += 1
            for row in range(number_of_columns):
                norms[row] = squared_norm(tableau, row)
    return changed


@kernel()
def scout_step(
    rng,
    state,
    noise_variance,
    gram,
    cross,
    total_square,
    number_of_rows,
    mean,
    precision,
    lower,
    upper,
    log_prior_odds,
    temperature,
    noise_floor,
    flips,
    number_of_swaps,
):
    """Move the scout once: flips (if the number of columns is free), swaps, noise variance.

    Parameters
    ----------
    rng : numpy.random.Generator
    state : (N,) int array
        The scout's state, changed in place.
    noise_variance : float
        The scout's noise variance.
    gram, cross : (N, N) and (N, L) arrays
        :math:`B^T B` and :math:`B^T A`.
    total_square : float
        :math:`|A|^2`.
    number_of_rows : int
        Rows of the data.
    mean, precision, lower, upper : (N, L) arrays
        Prior of the weights.
    log_prior_odds : (N,) array
    temperature : float
    noise_floor : float
        Below which the noise variance does not fall: data fitted exactly would take it to zero.
    flips : bool
    number_of_swaps : int

    Returns
    -------
    noise_variance : float
        After one step of expectation-maximisation.
    changed : int
        How many flips and swaps happened.
    """
    prior = (mean, precision, lower, upper)
    constants = prior_constants(prior, log_prior_odds)
    tableau, _ = build_tableau(state, gram, cross, noise_variance, prior, constants)
    changed = 0
    if flips:
        changed += tempered_flips(rng, state, tableau, constants, temperature)
    changed += tempered_swaps(rng, state, tableau, constants, temperature, number_of_swaps)
    error = expected_squared_error(state, tableau, cross, noise_variance, prior, total_square)
    return max(error / (number_of_rows * cross.shape[1]), noise_floor), changed
