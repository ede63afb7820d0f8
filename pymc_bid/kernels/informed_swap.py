r"""Collapsed swaps whose pairs are proposed by the closed form without bounds.

Column :math:`j`, drawn uniformly among those that are in, is taken out. For each column :math:`i`
that is out then, :math:`j` among them, `pymc_bid.kernels.tableau` knows the log odds
:math:`\ell_i` with which it would go in, weights integrated out and bounds left out. One of the
others is proposed with probability

.. math:: e^{\gamma \ell_i} \Big/ \sum_{i' \neq j} e^{\gamma \ell_{i'}},

and the way back from :math:`i` sees the same columns with the same odds, so that the ratio of the
two is

.. math:: e^{\gamma (\ell_j - \ell_i)} \sum_{i' \neq j} e^{\gamma \ell_{i'}}
    \Big/ \sum_{i' \neq i} e^{\gamma \ell_{i'}}.

With the power :math:`\gamma = 1`, no bounds and all other columns as companions this is Gibbs
sampling of which column goes in, but for leaving out :math:`j` (Liu, 1996). A lower power is for
bounds that make the closed form err; 0 proposes all columns alike. The odds depend on the other
columns, the noise variance and the data, not on the weights, and
`pymc_bid.kernels.collapsed_swap.exchange` decides by the model itself: the move is exact whatever
the closed form is worth.
"""

import numpy as np

from pymc_bid.kernels.collapsed_swap import exchange
from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.oblique import draw_index
from pymc_bid.kernels.tableau import log_odds_in, movable_members, pivot_surrogate


@part()
def log_sum_without(scores, number, left_out):
    """Return the log of the sum of exponentials of all scores but one."""
    largest = -np.inf
    for index in range(number):
        if index != left_out:
            largest = max(largest, scores[index])
    if not np.isfinite(largest):
        return largest
    total = 0.0
    for index in range(number):
        if index != left_out:
            total += np.exp(scores[index] - largest)
    return largest + np.log(total)


@part()
def draw_entering(rng, leaving, state, likeness, log_prior_odds, surrogate, power, workspace):
    """Draw the column that is proposed in place of one that was taken out of the surrogate.

    Returns
    -------
    entering : int
        -1 if there is none.
    log_proposal_ratio : float
    """
    candidates, scores, affinity = workspace
    number = 0
    place = -1
    for column in range(state.shape[0]):
        if state[column] == 0 and np.isfinite(log_prior_odds[column]):
            score = log_odds_in(state, column, likeness, surrogate)
            if not np.isfinite(score):
                continue
            if column == leaving:
                place = number
            candidates[number] = column
            scores[number] = power * score
            number += 1
    if place < 0 or number < 2:
        return -1, 0.0
    forward = log_sum_without(scores, number, place)
    for index in range(number):
        affinity[index] = 0.0 if index == place else np.exp(scores[index] - forward)
    chosen = draw_index(rng, affinity, number)
    backward = log_sum_without(scores, number, chosen)
    return candidates[chosen], scores[place] - scores[chosen] + forward - backward


@part()
def informed_swaps(rng, chain, likeness, surrogate, powers, number_of_swaps):
    """Try swaps of pairs that the closed form without bounds proposes.

    Parameters
    ----------
    rng : numpy.random.Generator
    chain, likeness
        See `pymc_bid.kernels.informed_moves`.
    surrogate : tuple
        That of the state, see `pymc_bid.kernels.tableau`; kept up.
    powers : array
        The power of each swap is drawn uniformly from these.
    number_of_swaps : int

    Returns
    -------
    tried, accepted : int
    """
    state, log_prior_odds = chain[0], chain[7]
    number_of_columns = state.shape[0]
    members = np.empty(number_of_columns, np.int64)
    candidates = np.empty(number_of_columns, np.int64)
    workspace = (candidates, np.empty(number_of_columns), np.empty(number_of_columns))
    tried = 0
    accepted = 0
    for _ in range(number_of_swaps):
        number = movable_members(state, log_prior_odds, members)
        if number == 0:
            break
        leaving = members[int(rng.random() * number)]
        power = powers[int(rng.random() * powers.shape[0])]
        pivot_surrogate(surrogate, leaving)
        state[leaving] = 0
        entering, log_proposal_ratio = draw_entering(
            rng, leaving, state, likeness, log_prior_odds, surrogate, power, workspace
        )
        state[leaving] = 1
        exchanged = False
        if entering >= 0:
            tried += 1
            exchanged = exchange(rng, leaving, entering, log_proposal_ratio, *chain)
        pivot_surrogate(surrogate, entering if exchanged else leaving)
        accepted += exchanged
    return tried, accepted
