r"""Collapsed oblique flips: put columns in and take them out with their weights integrated out.

For column :math:`j` choose companions :math:`S` among the other active columns, and with them the
direction :math:`\beta` (`pymc_bid.kernels.oblique`). Draw the state of the column given
:math:`y'_S = y_S + \beta r_j y_j`, its own weights integrated out, from the odds in
`pymc_bid.kernels.oblique_row`; then draw the weights of the row given its state.

This is a Gibbs update of :math:`(r_j, y_j)` given :math:`y'_S`, hence exact for every choice of
:math:`S` and :math:`\beta` that looks at neither :math:`r_j` nor the weights. If some
:math:`y'_{sl}` is out of bounds, the column cannot leave and only :math:`y_j` is drawn anew.
"""

import numpy as np

from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.oblique import draw_companions, largest_size, oblique_direction
from pymc_bid.kernels.oblique_row import (
    is_within_bounds,
    log_conditional_mass,
    log_prior_mass,
    oblique_conditional,
    project_residual,
    put_in_row,
    shift_companions,
    take_out_row,
)


@kernel()
def collapsed_flips(
    rng,
    state,
    weights,
    residual_cross,
    gram,
    noise_variance,
    mean,
    precision,
    lower,
    upper,
    log_prior_odds,
    companion_sizes,
    columns,
):
    """Update the state of some columns, together with their weights and those of their companions.

    Parameters
    ----------
    rng : numpy.random.Generator
    state : (N,) int array
        Which columns are in; changed in place.
    weights : (N, L) array
        Changed in place. Rows of columns that are out hold, and keep, draws from the prior.
    residual_cross : (N, L) array
        Pool times residual, :math:`B^T (A - B diag(r) Y)`; changed in place.
    gram : (N, N) array
        Pool times pool, :math:`B^T B`.
    noise_variance : float
    mean, precision, lower, upper : (N, L) arrays
        Truncated normal prior of the weights.
    log_prior_odds : (N,) array
        Logit of the prior inclusion probability; infinite for a column forced in or out.
    companion_sizes : int array
        The number of companions of each flip is drawn uniformly from these numbers. Fewer take part
        when fewer other columns are in.
    columns : int array
        The columns to visit, in this order; a column may be there several times.

    Returns
    -------
    tried, accepted : int
        Number of visits that could change a state, and of those that did.
    """
    number_of_columns, number_of_targets = weights.shape
    prior = (mean, precision, lower, upper)
    largest = largest_size(companion_sizes)
    members = np.empty(number_of_columns, np.int64)
    affinity = np.empty(number_of_columns)
    companions = np.empty(largest, np.int64)
    factor = np.empty((largest, largest))
    direction = np.empty(largest)
    gram_direction = np.empty(number_of_columns)
    shifted = np.empty((largest, number_of_targets))
    projection = np.empty(number_of_targets)
    conditional = np.empty((4, number_of_targets))
    tried = 0
    accepted = 0
    for row in columns:
        active = state[row] == 1
        forced = np.isinf(log_prior_odds[row])
        if forced and not active and log_prior_odds[row] < 0.0:
            continue
        wanted = companion_sizes[int(rng.random() * companion_sizes.shape[0])]
        # Companions could keep a column that is forced to move from moving.
        if forced:
            wanted = 0
        else:
            tried += 1
        size = draw_companions(rng, state, gram, row, row, wanted, members, affinity, companions)
        curvature = oblique_direction(
            gram,
            noise_variance,
            precision,
            row,
            companions,
            size,
            factor,
            direction,
            gram_direction,
        )
        shift_companions(row, companions, size, direction, weights, active, shifted)
        project_residual(
            row,
            companions,
            size,
            direction,
            residual_cross,
            curvature if active else 0.0,
            weights[row],
            projection,
        )
        log_odds = log_prior_odds[row] + oblique_conditional(
            row,
            companions,
            size,
            direction,
            curvature,
            projection,
            shifted,
            noise_variance,
            prior,
            conditional,
        )
        if forced:
            enter = log_prior_odds[row] > 0.0
        elif active and not is_within_bounds(companions, size, shifted, prior):
            enter = True
        else:
            log_odds -= log_prior_mass(row, prior)
            uniform = rng.random()
            threshold = np.log(uniform) - np.log1p(-uniform)
            # The masses are the dear part, and can only lower the odds.
            enter = log_odds > threshold
            if enter:
                log_odds += log_conditional_mass(conditional, threshold - log_odds)
                enter = log_odds > threshold

        if enter:
            put_in_row(
                rng,
                row,
                companions,
                size,
                direction,
                gram_direction,
                conditional,
                shifted,
                active,
                weights,
                residual_cross,
                prior,
                projection,
            )
        elif active:
            take_out_row(
                rng,
                row,
                companions,
                size,
                gram_direction,
                shifted,
                weights,
                residual_cross,
                prior,
            )
        if enter != active:
            state[row] = 1 if enter else 0
            accepted += 1
    return tried, accepted
