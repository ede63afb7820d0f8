r"""Further collapsed flips for the columns that have a chance to be in.

With many columns most flips of a sweep are hopeless, and the few columns about which the posterior
is in doubt change too rarely. The closed form without bounds (`pymc_bid.kernels.tableau`) tells
them apart: column :math:`k` is visited again if its log odds there are within limits. These depend
on the *other* columns, the noise variance and the data only, neither on :math:`r_k` nor on the
weights, so visiting :math:`k` or not is as exact as the flip itself. Without an upper limit most
active columns are visited too, which draws their weights anew: a flip that failed at a bound finds
other weights the next time.
"""

import numpy as np

from pymc_bid.kernels.collapsed_flip import collapsed_flips
from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.tableau import log_odds_in, pivot_surrogate

flip = collapsed_flips.compiled


@part()
def focused_flips(stream, chain, likeness, surrogate, limits, number_of_visits):
    """Visit the columns in doubt, all of them before any a second time.

    Parameters
    ----------
    stream, chain, likeness
        See `pymc_bid.kernels.informed_moves`.
    surrogate : tuple
        That of the state, see `pymc_bid.kernels.tableau`; kept up.
    limits : tuple of two floats
        Columns with log odds that are not in between are left out.
    number_of_visits : int
        To each of them.

    Returns
    -------
    tried, accepted : int
        Number of visits that could change a state, and of those that did.
    """
    state = chain[0]
    lowest, highest = limits
    number_of_columns = state.shape[0]
    log_odds = np.empty(number_of_columns)
    for row in range(number_of_columns):
        log_odds[row] = log_odds_in(state, row, likeness, surrogate)
    column = np.empty(1, np.int64)
    tried = 0
    accepted = 0
    for _ in range(number_of_visits):
        for row in range(number_of_columns):
            if not lowest < log_odds[row] < highest:
                continue
            column[0] = row
            visits, changes = flip(stream, *chain, column)
            tried += visits
            accepted += changes
            if changes > 0:
                pivot_surrogate(surrogate, row)
                for other in range(number_of_columns):
                    log_odds[other] = log_odds_in(state, other, likeness, surrogate)
    return tried, accepted
