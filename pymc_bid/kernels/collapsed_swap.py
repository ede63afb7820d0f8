r"""Collapsed oblique swaps: exchange a column that is in for one that is out.

Columns :math:`j`, which is in, and :math:`i`, which is out, share the companions
:math:`S \subset J \setminus \{j\}`, drawn in a way symmetric in the two. With
:math:`y'_S = y_S + \beta^{(j)} y_j` held, the weights of either column are integrated out, which
leaves the marginals :math:`M_j(y'), M_i(y')` of `pymc_bid.kernels.oblique_row`. If the pair is
proposed with probability :math:`q_{ji}`, which does not look at the weights, and the way back with
:math:`q_{ij}`, the swap is accepted with probability

.. math:: \min\Bigl(1,
    \frac{\text{odds}_i\, M_i(y')\, q_{ij}}{\text{odds}_j\, M_j(y')\, q_{ji}}\Bigr)

(in the model with the identity times the ratio of `pymc_bid.kernels.own_column`) and the weights of
the column that is in afterwards are drawn given :math:`y'_S`. The number of columns that are in
stays the same, so the move serves a fixed number as well as independent inclusion, where the prior
odds of the two columns enter. Which pairs are tried is up to `pymc_bid.kernels.informed_swap`.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.oblique import (
    draw_companions,
    image_of_direction,
    largest_size,
    oblique_direction,
    typical_variance,
)
from pymc_bid.kernels.oblique_row import (
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


@part()
def exchange(
    rng,
    leaving,
    entering,
    log_proposal_ratio,
    state,
    weights,
    residual_cross,
    products,
    noise_variance,
    prior,
    own,
    log_prior_odds,
    companion_sizes,
):
    r"""Try to exchange two columns, with their weights and those of their companions.

    Parameters
    ----------
    rng : numpy.random.Generator
    leaving, entering : int
        A column that is in and one that is out.
    log_proposal_ratio : float
        :math:`\log q_{ij} - \log q_{ji}`.
    state : (N,) int array
        Which columns are in; changed in place, with the same sum.
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
        Logit of the prior inclusion probability, any constant for a fixed number of columns. Where
        it is infinite the column is forced in or out and takes no part.
    companion_sizes : int array
        The number of companions is drawn uniformly from these numbers. Fewer take part when fewer
        other columns are in.

    Returns
    -------
    bool
        Whether they were exchanged.
    """
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
    direction = np.empty((2, largest))
    gram_direction = np.empty((2, number_of_patterns, number_of_columns))
    curvature = np.empty(number_of_patterns)
    overlap = np.empty(number_of_patterns)
    shifted = np.empty((largest, number_of_targets))
    projection = np.empty(number_of_targets)
    conditional = np.empty((2, 4, number_of_targets))
    values = np.empty((own_targets.shape[1], number_of_columns))
    number = 0
    wanted = companion_sizes[int(rng.random() * companion_sizes.shape[0])]
    set_interpolated(interpolated, own, entering, 0.0)
    size = draw_companions(
        rng, state, gram, leaving, entering, wanted, members, affinity, companions
    )
    oblique_direction(gram, typical, precision, leaving, companions, size, factor, direction[0])
    image_of_direction(grams, leaving, companions, size, direction[0], gram_direction[0], curvature)
    shift_companions(
        leaving,
        companions,
        size,
        direction[0],
        weights,
        True,
        interpolated,
        shifted,
    )
    project_residual(
        leaving,
        companions,
        size,
        direction[0],
        residual_cross,
        curvature,
        pattern,
        weights[leaving],
        projection,
    )
    log_odds_leaving = log_prior_odds[leaving] + oblique_conditional(
        leaving,
        companions,
        size,
        direction[0],
        curvature,
        pattern,
        projection,
        shifted,
        noise_variance,
        prior,
        interpolated,
        conditional[0],
    )
    log_odds_leaving -= log_prior_mass(leaving, prior, interpolated)
    log_odds_leaving += log_conditional_mass(conditional[0], -np.inf)

    oblique_direction(gram, typical, precision, entering, companions, size, factor, direction[1])
    image_of_direction(
        grams, entering, companions, size, direction[1], gram_direction[1], curvature
    )
    for kind in range(number_of_patterns):
        overlap[kind] = gram_direction[0, kind, entering]
        for index in range(size):
            overlap[kind] -= direction[1, index] * gram_direction[0, kind, companions[index]]
    project_residual(
        entering,
        companions,
        size,
        direction[1],
        residual_cross,
        overlap,
        pattern,
        weights[leaving],
        projection,
    )
    log_odds_entering = log_prior_odds[entering] + oblique_conditional(
        entering,
        companions,
        size,
        direction[1],
        curvature,
        pattern,
        projection,
        shifted,
        noise_variance,
        prior,
        interpolated,
        conditional[1],
    )
    log_odds_entering -= log_prior_mass(entering, prior, interpolated)
    if has_identity:
        log_weight, _ = log_column_weight(
            rng, False, entering, -1, -1, state, weights, model, members, values
        )
        log_odds_entering += own_densities[entering] - log_weight
        log_weight, number = log_column_weight(
            rng, True, leaving, leaving, entering, state, weights, model, members, values
        )
        log_odds_leaving += own_densities[leaving] - log_weight
    # The masses are the dear part, and can only lower the odds.
    threshold = np.log(rng.random()) + log_odds_leaving - log_proposal_ratio
    if log_odds_entering > threshold:
        log_odds_entering += log_conditional_mass(conditional[1], threshold - log_odds_entering)
    if log_odds_entering > threshold:
        take_out_row(
            rng,
            leaving,
            companions,
            size,
            gram_direction[0],
            pattern,
            shifted,
            weights,
            residual_cross,
            prior,
        )
        put_in_row(
            rng,
            entering,
            companions,
            size,
            direction[1],
            gram_direction[1],
            pattern,
            conditional[1],
            shifted,
            False,
            weights,
            residual_cross,
            prior,
            interpolated,
            projection,
        )
        state[leaving] = 0
        state[entering] = 1
        if has_identity:
            stop_interpolating(rng, entering, weights, prior, own, interpolated)
            start_interpolating(
                leaving,
                members,
                values,
                number,
                weights,
                residual_cross,
                products,
                own,
                interpolated,
            )
        return True
    return False
