r"""Collapsed oblique flips: put columns in and take them out with their weights integrated out.

For column :math:`j` choose companions :math:`S` among the other active columns, and with them the
direction :math:`\beta` (`pymc_bid.kernels.oblique`). Draw the state of the column given
:math:`y'_S = y_S + \beta r_j y_j`, its own weights integrated out, from the odds in
`pymc_bid.kernels.oblique_row`; then draw the weights of the row given its state.

This is a Gibbs update of :math:`(r_j, y_j)` given :math:`y'_S`, hence exact for every choice of
:math:`S` and :math:`\beta` that looks at neither :math:`r_j` nor the weights. If some
:math:`y'_{sl}` is out of bounds, the column cannot leave and only :math:`y_j` is drawn anew.

In the model with the identity the column changes sides as a target as well, and the draw of its
state becomes the Metropolis step of `pymc_bid.kernels.own_column`.
"""

import numpy as np

from pymc_bid.kernels.oblique import (
    draw_companions,
    image_of_direction,
    largest_size,
    oblique_direction,
    typical_variance,
)
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
from pymc_bid.kernels.own_column import (
    interpolated_targets,
    log_column_weight,
    set_interpolated,
    start_interpolating,
    stop_interpolating,
)
from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@random_kernel
def collapsed_flips(
    stream,
    state,
    weights,
    residual_cross,
    products,
    noise_variance,
    prior,
    own,
    log_prior_odds,
    companion_sizes,
    columns,
):
    """Update the state of some columns, together with their weights and those of their companions.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    state : (N,) int array
        Which columns are in; changed in place.
    weights : (N, L) array
        Changed in place. Rows of columns that are out hold, and keep, draws from the prior.
    residual_cross : (N, L) array
        Pool times residual, :math:`B^T (A - B diag(r) Y)`; changed in place.
    products : tuple
        What is known of the data, see `pymc_bid.regression.Products`.
    noise_variance : (L,) array
        Of each target.
    prior : tuple of four (N, L) arrays
        Mean, precision, lower and upper bound of the weights' truncated normal prior.
    own : tuple of an (N, D) and an (N,) array
        The targets that each column is and their own density, see `pymc_bid.kernels.own_column`.
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
    rng = generator_at(stream)
    number_of_columns, number_of_targets = weights.shape
    _, precision, _, _ = prior
    gram, grams, pattern, _, _, _ = products
    number_of_patterns = grams.shape[0]
    own_targets, own_densities = own
    has_identity = own_targets.shape[1] > 0
    model = (products, noise_variance, prior, own)
    typical = typical_variance(noise_variance)
    interpolated = interpolated_targets(state, own, number_of_targets)
    largest = largest_size(companion_sizes)
    members = np.empty(number_of_columns, np.int64)
    affinity = np.empty(number_of_columns)
    companions = np.empty(largest, np.int64)
    factor = np.empty((largest, largest))
    direction = np.empty(largest)
    gram_direction = np.empty((number_of_patterns, number_of_columns))
    curvature = np.empty(number_of_patterns)
    overlap = np.empty(number_of_patterns)
    shifted = np.empty((largest, number_of_targets))
    projection = np.empty(number_of_targets)
    conditional = np.empty((4, number_of_targets))
    values = np.empty((own_targets.shape[1], number_of_columns))
    number = 0
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
        # Its own targets are one side's before the move and the other side's after it.
        set_interpolated(interpolated, own, row, 0.0)
        size = draw_companions(rng, state, gram, row, row, wanted, members, affinity, companions)
        oblique_direction(gram, typical, precision, row, companions, size, factor, direction)
        image_of_direction(grams, row, companions, size, direction, gram_direction, curvature)
        for index in range(number_of_patterns):
            overlap[index] = curvature[index] if active else 0.0
        shift_companions(row, companions, size, direction, weights, active, interpolated, shifted)
        project_residual(
            row,
            companions,
            size,
            direction,
            residual_cross,
            overlap,
            pattern,
            weights[row],
            projection,
        )
        log_odds = log_prior_odds[row] + oblique_conditional(
            row,
            companions,
            size,
            direction,
            curvature,
            pattern,
            projection,
            shifted,
            noise_variance,
            prior,
            interpolated,
            conditional,
        )
        if has_identity:
            # Weights are drawn for a column that is in, in case that it goes out.
            log_weight, number = log_column_weight(
                rng, active, row, row, -1, state, weights, model, members, values
            )
            log_odds += own_densities[row] - log_weight
        if forced:
            enter = log_prior_odds[row] > 0.0
        elif active and not is_within_bounds(companions, size, shifted, prior):
            enter = True
        else:
            log_odds -= log_prior_mass(row, prior, interpolated)
            uniform = rng.random()
            if has_identity:
                threshold = -np.log(uniform) if active else np.log(uniform)
            else:
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
                pattern,
                conditional,
                shifted,
                active,
                weights,
                residual_cross,
                prior,
                interpolated,
                projection,
            )
            if has_identity and not active:
                stop_interpolating(rng, row, weights, prior, own, interpolated)
        elif active:
            take_out_row(
                rng,
                row,
                companions,
                size,
                gram_direction,
                pattern,
                shifted,
                weights,
                residual_cross,
                prior,
            )
            if has_identity:
                start_interpolating(
                    row,
                    members,
                    values,
                    number,
                    weights,
                    residual_cross,
                    products,
                    own,
                    interpolated,
                )
        else:
            set_interpolated(interpolated, own, row, 1.0)
        if enter != active:
            state[row] = 1 if enter else 0
            accepted += 1
    return tried, accepted
