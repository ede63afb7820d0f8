r"""Columns with a density of their own: what changes sides when a column is chosen.

In the model with the identity a target that is a chosen column of the pool has a density of its
own, :math:`p_0(a_j)`, and only the targets that are not chosen are interpolated. When column
:math:`j` goes in or out, the target that it is goes along: in, it gives up its weights, which
become draws from the prior, as all weights without a likelihood are; out, it needs weights, which
are drawn one after the other within the bounds (`pymc_bid.kernels.sequential`). With

.. math:: w(y) = p(y)\, N(a_j \mid B_J y, \sigma^2 I) / q(y)

and the odds of in against out that the *other* targets give, column :math:`j` goes in with
probability :math:`\min(1, \text{odds} \cdot p_0(a_j) / w(y))`, where :math:`y` are the weights that
it has, and out with probability :math:`\min(1, w(y) / (\text{odds} \cdot p_0(a_j)))`, where
:math:`y \sim q` are those that it gets. A swap does both.

Where several matrices share one state vector, a column is a target in each of them, and all these
targets change sides together.

Everywhere below `own` is the tuple `(targets, log_densities)`: for each column of the pool the
targets that it is, an (N, D) array with D = 0 in a model without the identity, and the sum of their
:math:`\log p_0(a_j)`, but for :math:`-\tfrac{M}{2} \log 2 \pi` each.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.sequential import log_column_evidence, sequential_log_mass
from pymc_bid.kernels.truncated_normal import draw_truncated_normal


@part()
def interpolated_targets(state, own, number_of_targets):
    """Return 1.0 for each target that is interpolated, 0.0 for each with a density of its own."""
    interpolated = np.ones(number_of_targets)
    for column in range(state.shape[0]):
        if state[column] == 1:
            set_interpolated(interpolated, own, column, 0.0)
    return interpolated


@part()
def set_interpolated(interpolated, own, column, value):
    """Mark the targets that a column is."""
    targets, _ = own
    for target in targets[column]:
        interpolated[target] = value


@part()
def log_column_weight(
    rng, drawing, column, leaving, entering, state, weights, model, members, values
):
    r"""Return :math:`\log w(y)` of a column as a target, of its weights or of new ones.

    Parameters
    ----------
    rng : numpy.random.Generator
    drawing : bool
        Whether to draw new weights, or to take those that the column has.
    column : int
        The column, whose own targets are meant.
    leaving, entering : int
        Columns that count as out and in whatever their state, -1 for none.
    state, weights
        As in `pymc_bid.kernels.collapsed_flip.collapsed_flips`; nothing is changed.
    model : tuple
        `(products, noise_variance, prior, own)`, all as there.
    members : (N,) int array
        Receives the columns :math:`J` that the weights belong to.
    values : (D, N) array
        Receives the weights of each target.

    Returns
    -------
    log_weight : float
        Their sum over the targets that the column is.
    number : int
        How many columns and weights there are.
    """
    products, noise_variance, prior, own = model
    rows = products[5]
    targets, _ = own
    number = 0
    for other in range(state.shape[0]):
        if other == entering or (state[other] == 1 and other != leaving):
            members[number] = other
            number += 1
    factor = np.empty((number, number))
    center = np.empty(number)
    log_weight = 0.0
    for index in range(targets.shape[1]):
        target = targets[column, index]
        variance = noise_variance[target]
        for inner in range(number):
            values[index, inner] = weights[members[inner], target]
        log_weight += log_column_evidence(
            members, number, products, variance, prior, target, factor, center
        )
        log_weight -= 0.5 * rows[target] * np.log(variance)
        log_weight += sequential_log_mass(
            rng, drawing, members, number, factor, center, prior, target, values[index]
        )
    return log_weight, number


@part()
def start_interpolating(
    column, members, values, number, weights, residual_cross, products, own, interpolated
):
    """Give a column that was taken out the weights that were drawn for it."""
    _, grams, pattern, cross, _, _ = products
    targets, _ = own
    for index in range(targets.shape[1]):
        target = targets[column, index]
        gram = grams[pattern[target]]
        interpolated[target] = 1.0
        for other in range(cross.shape[0]):
            residual_cross[other, target] = cross[other, target]
        for inner in range(number):
            member = members[inner]
            weights[member, target] = values[index, inner]
            for other in range(cross.shape[0]):
                residual_cross[other, target] -= gram[other, member] * values[index, inner]


@part()
def stop_interpolating(rng, column, weights, prior, own, interpolated):
    """Replace the weights of a column that was put in by draws from the prior."""
    targets, _ = own
    mean, precision, lower, upper = prior
    for target in targets[column]:
        interpolated[target] = 0.0
        for row in range(weights.shape[0]):
            weights[row, target] = draw_truncated_normal(
                rng,
                mean[row, target],
                precision[row, target],
                lower[row, target],
                upper[row, target],
            )
