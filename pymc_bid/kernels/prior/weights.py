"""Weights without a likelihood: rows of draws from the prior."""

import math

import numpy as np

from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.truncated_normal import draw_truncated_normal

_SQRT_HALF = math.sqrt(0.5)

# Bounds, in standard deviations, between which one rational function is the quantile, and the least
# distance of the bounds for which no digits are lost.
_CENTRAL, _NARROW = 1.43, 0.1


@part(fastmath={"contract"})
def central_quantile(probability):
    """Quantile of the standard normal for probabilities from 0.075 to 0.925.

    Wichura's algorithm AS 241, accurate to the last digits. No branches, so that a loop over it is
    done four numbers at a time.
    """
    q = probability - 0.5
    r = 0.180625 - q * q
    above = 2509.0809287301226727 * r + 33430.575583588128105
    above = above * r + 67265.770927008700853
    above = above * r + 45921.953931549871457
    above = above * r + 13731.693765509461125
    above = above * r + 1971.5909503065514427
    above = above * r + 133.14166789178437745
    above = above * r + 3.387132872796366608
    below = 5226.495278852545925 * r + 28729.085735721942674
    below = below * r + 39307.89580009271061
    below = below * r + 21213.794301586595867
    below = below * r + 5394.1960214247511077
    below = below * r + 687.1870074920579083
    below = below * r + 42.313330701600911252
    below = below * r + 1.0
    return q * above / below


@spread()
def same_along_rows(prior):
    """Whether every parameter was broadcast along the rows, so that a row has one of each."""
    mean, precision, lower, upper = prior
    return (
        mean.strides[1] == 0
        and precision.strides[1] == 0
        and lower.strides[1] == 0
        and upper.strides[1] == 0
    )


@spread()
def read_prior(prior, row, first, width, mean, precision, lower, upper):
    """Copy the parameters of `width` weights of a row, from `first` on, to contiguous arrays."""
    means, precisions, lowers, uppers = prior
    if same_along_rows(prior):
        mean[:width] = means[row, first]
        precision[:width] = precisions[row, first]
        lower[:width] = lowers[row, first]
        upper[:width] = uppers[row, first]
        return
    for column in range(width):
        mean[column] = means[row, first + column]
        precision[column] = precisions[row, first + column]
        lower[column] = lowers[row, first + column]
        upper[column] = uppers[row, first + column]


@spread()
def draw_row_from_prior(rng, row, weights, prior):
    """Draw every weight of a row from the prior, in place.

    If the prior is the same for the whole row, and its bounds cut off more than the tails, the
    draws are quantiles of uniform ones; else they are made one by one.
    """
    mean, precision, lower, upper = prior
    columns = weights.shape[1]
    if same_along_rows(prior) and columns > 0:
        center, low, high = mean[row, 0], lower[row, 0], upper[row, 0]
        root = math.sqrt(precision[row, 0])
        near, far = (low - center) * root, (high - center) * root
        if -_CENTRAL < near and far < _CENTRAL and far - near > _NARROW:
            below = 0.5 * math.erfc(-near * _SQRT_HALF)
            mass = 0.5 * math.erfc(-far * _SQRT_HALF) - below
            least, most = np.nextafter(low, high), np.nextafter(high, low)
            for column in range(columns):
                weights[row, column] = rng.random()
            for column in range(columns):
                drawn = center + central_quantile(below + mass * weights[row, column]) / root
                weights[row, column] = min(max(drawn, least), most)
            return
    for column in range(columns):
        weights[row, column] = draw_truncated_normal(
            rng, mean[row, column], precision[row, column], lower[row, column], upper[row, column]
        )
