"""What the bounds take from the prior of each weight."""

import numpy as np

from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.interrupts import OF_A_DRAW, let_interrupts_in
from pymc_bid.kernels.truncated_normal import log_interval_mass


@kernel()
def log_prior_masses(mean, precision, lower, upper):
    """Return the log of the mass that each weight's prior has within its bounds, (N, L)."""
    result = np.empty(mean.shape)
    log_mass = 0.0
    for row in range(mean.shape[0]):
        let_interrupts_in(OF_A_DRAW * mean.shape[1])
        for target in range(mean.shape[1]):
            # A prior shared by all targets, the common case, is evaluated once for each row.
            if (
                target == 0
                or mean[row, target] != mean[row, target - 1]
                or precision[row, target] != precision[row, target - 1]
                or lower[row, target] != lower[row, target - 1]
                or upper[row, target] != upper[row, target - 1]
            ):
                log_mass = log_interval_mass(
                    mean[row, target],
                    precision[row, target],
                    lower[row, target],
                    upper[row, target],
                )
            result[row, target] = log_mass
    return result
