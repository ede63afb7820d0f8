"""Which targets are interpolated, in a model with the identity: those that are not chosen.

A target that is a chosen column of the pool has a density of its own. Where several matrices share
one state vector, a column is a target in each of them, and all these change sides together: row
:math:`j` of `own_targets`, (N, D), holds the targets that column :math:`j` is. D = 0 in a model
without the identity, where all targets are interpolated.
"""

import numpy as np

from pymc_bid.kernels.compilation import spread


@spread()
def interpolated_targets(state, own_targets, number):
    """Return 1.0 for each target that is interpolated, 0.0 for each with a density of its own."""
    interpolated = np.ones(number)
    for column in range(state.size):
        if state[column] == 1:
            set_interpolated(interpolated, own_targets, column, 0.0)
    return interpolated


@spread()
def set_interpolated(interpolated, own_targets, column, value):
    """Mark the targets that a column is."""
    for target in own_targets[column]:
        interpolated[target] = value


@spread()
def is_own_target(target, column, own_targets):
    """Whether a target is the column."""
    for d in range(own_targets.shape[1]):
        if own_targets[column, d] == target:
            return True
    return False
