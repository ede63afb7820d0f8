r"""Annealed search over states, for warm-up of the model with the identity only.

A *scout* is a state without weights, moved by flips and swaps whose log odds, taken from the
closed form without bounds (`pymc_bid.kernels.tableau`), are divided by a temperature that falls to
1. The objective is the evidence itself at every temperature. Holding the noise variance high
instead changes the objective, and its path leads to the best states of the wrong noise. At the end
of a cycle the chain takes over the scout's state if its evidence *with* the bounds
(`pymc_bid.kernels.bounded_evidence`) is higher.

None of this leaves the posterior invariant: it belongs to draws that are discarded.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.oblique import draw_index
from pymc_bid.kernels.own_column import interpolated_targets
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.tableau import (
    build_surrogate,
    expected_squared_error,
    log_odds_in,
    movable_members,
    pivot_surrogate,
)


@part()
def tempered_flips(rng, state, model, surrogate, temperature):
    """Draw the state of each column given the others, at a temperature; return how many changed."""
    changed = 0
    for row in range(state.shape[0]):
        active = state[row] == 1
        log_odds = log_odds_in(state, row, model, surrogate)
        uniform = rng.random()
        enter = log_odds > temperature * (np.log(uniform) - np.log1p(-uniform))
        if enter != active:
            pivot_surrogate(surrogate, row)
            state[row] = 1 if enter else 0
            changed += 1
    return changed


@part()
def draw_tempered(rng, affinity, temperature):
    """Draw an index with probability proportional to exp(affinity / temperature), in place."""
    best = -np.inf
    for row in range(affinity.shape[0]):
        best = max(best, affinity[row])
    for row in range(affinity.shape[0]):
        affinity[row] = np.exp((affinity[row] - best) / temperature)
    return draw_index(rng, affinity, affinity.shape[0])


@part()
def tempered_swaps(rng, state, model, log_prior_odds, surrogate, temperature, number_of_swaps):
    """Take a random column out and draw the one that goes in; return how many changed."""
    number_of_columns = state.shape[0]
    members = np.empty(number_of_columns, np.int64)
    affinity = np.empty(number_of_columns)
    changed = 0
    for _ in range(number_of_swaps):
        number = movable_members(state, log_prior_odds, members)
        if number == 0:
            break
        leaving = members[int(rng.random() * number)]
        pivot_surrogate(surrogate, leaving)
        state[leaving] = 0
        for row in range(number_of_columns):
            affinity[row] = -np.inf
            if state[row] == 0 and np.isfinite(log_prior_odds[row]):
                affinity[row] = log_odds_in(state, row, model, surrogate)
        entering = draw_tempered(rng, affinity, temperature)
        pivot_surrogate(surrogate, entering)
        state[entering] = 1
        if entering != leaving:
            changed += 1
    return changed


@random_kernel
def scout_step(
    stream,
    state,
    noise_variance,
    problem,
    log_prior_odds,
    temperature,
    noise_floor,
    flips,
    number_of_swaps,
):
    """Move the scout once: flips (if the number of columns is free), swaps, noise variance.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    state : (N,) int array
        The scout's state, changed in place.
    noise_variance : float
        The scout's noise variance.
    problem : tuple
        `(products, prior, own)`, all as in `pymc_bid.kernels.tableau`.
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
    rng = generator_at(stream)
    products, prior, own = problem
    model = (products, noise_variance, prior, own)
    surrogate = build_surrogate(state, model, log_prior_odds)
    changed = 0
    if flips:
        changed += tempered_flips(rng, state, model, surrogate, temperature)
    changed += tempered_swaps(
        rng, state, model, log_prior_odds, surrogate, temperature, number_of_swaps
    )
    rows = products[5]
    interpolated = interpolated_targets(state, own, rows.shape[0])
    entries = (rows * interpolated).sum()
    if entries == 0.0:
        return noise_variance, changed
    error = expected_squared_error(state, model, interpolated, surrogate)
    return max(error / entries, noise_floor), changed
