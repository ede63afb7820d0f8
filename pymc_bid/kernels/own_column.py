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

Everywhere below `own` is the tuple `(targets, log_densities, number_of_rows)`: for each column of
the pool the target that it is, -1 if choosing it frees no target, and :math:`\log p_0(a_j)` but for
:math:`-\tfrac{M}{2} \log 2 \pi`; and :math:`M`.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.sequential import log_column_evidence, sequential_log_mass
from pymc_bid.kernels.truncated_normal import draw_truncated_normal


@part()
def interpolated_targets(state, own, number_of_targets):
    """Return 1.0 for each target that is interpolated, 0.0 for each with a density of its own."""
    targets, _, _ = own
    interpolated = np.ones(number_of_targets)
    for column in range(state.shape[0]):
        if state[column] == 1 and targets[column] >= 0:
            interpolated[targets[column]] = 0.0
    return interpolated


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
        The column, whose own target is meant.
    leaving, entering : int
        Columns that count as out and in whatever their state, -1 for none.
    state, weights
        As in `pymc_bid.kernels.collapsed_flip.collapsed_flips`; nothing is changed.
    model : tuple
        `(gram, noise_variance, prior, own)`, all as there.
    members : (N,) int array
        Receives the columns :math:`J` that the weights belong to.
    values : (N,) array
        Receives the weights.

    Returns
    -------
    log_weight : float
    number : int
        How many columns and weights there are.
    """
    gram, noise_variance, prior, own = model
    targets, _, number_of_rows = own
    target = targets[column]
    number = 0
    for other in range(state.shape[0]):
        if other == entering or (state[other] == 1 and other != leaving):
            members[number] = other
            values[number] = weights[other, target]
            number += 1
    factor = np.empty((number, number))
    center = np.empty(number)
    log_weight = log_column_evidence(
        members, number, gram, noise_variance, prior, target, column, factor, center
    )
    log_weight -= 0.5 * number_of_rows * np.log(noise_variance)
    log_weight += sequential_log_mass(
        rng, drawing, members, number, factor, center, prior, target, values
    )
    return log_weight, number


@part()
def start_interpolating(
    column, members, values, number, weights, residual_cross, gram, own, interpolated
):
    """Give a column that was taken out the weights that were drawn for it."""
    targets, _, _ = own
    target = targets[column]
    interpolated[target] = 1.0
    for other in range(gram.shape[0]):
        residual_cross[other, target] = gram[other, column]
    for index in range(number):
        member = members[index]
        weights[member, target] = values[index]
        for other in range(gram.shape[0]):
            residual_cross[other, target] -= gram[other, member] * values[index]


@part()
def stop_interpolating(rng, column, weights, prior, own, interpolated):
    """Replace the weights of a column that was put in by draws from the prior."""
    targets, _, _ = own
    target = targets[column]
    mean, precision, lower, upper = prior
    interpolated[target] = 0.0
    for row in range(weights.shape[0]):
        weights[row, target] = draw_truncated_normal(
            rng, mean[row, target], precision[row, target], lower[row, target], upper[row, target]
        )
