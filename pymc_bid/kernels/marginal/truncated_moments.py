"""Mean and variance of the general truncated normal, as expectation propagation needs them."""

import math

from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.truncated_normal import log_interval_mass

_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_FAR = 30.0  # distance of the mean, in standard deviations, from which the density is exponential
_NARROW = 0.01  # width, in standard deviations, below which it is so too


@kernel()
def truncated_moments(mean, precision, lower, upper):
    """Return the log mass, the mean and the variance of a normal truncated to an interval."""
    log_mass = log_interval_mass(mean, precision, lower, upper)
    root = math.sqrt(precision)
    near = (lower - mean) * root
    far = (upper - mean) * root
    reflected = near + far < 0.0
    if reflected:
        near, far = -far, -near
    # Not their difference, which vanishes when the mean is far away.
    width = (upper - lower) * root
    if near > _FAR or width < _NARROW:
        # The density falls at a constant rate, from the nearer end or around the middle.
        rate = max(near, 0.0) if width >= _NARROW else 0.5 * (near + far)
        fall = rate * width
        if fall < 1e-3:
            offset = 0.5 * width
            variance = width * width / 12.0
        elif fall > 500.0:
            offset = 1.0 / rate
            variance = offset * offset
        else:
            growth = math.expm1(fall)
            offset = 1.0 / rate - width / growth
            variance = 1.0 / (rate * rate) - width * width * (growth + 1.0) / (growth * growth)
        center = near + offset
    else:
        at_near = math.exp(-0.5 * near * near - _LOG_SQRT_TWO_PI - log_mass)
        at_far = math.exp(-0.5 * far * far - _LOG_SQRT_TWO_PI - log_mass)
        center = at_near - at_far
        variance = 1.0 - center * center
        # An infinite bound has no density.
        if at_near > 0.0:
            variance += near * at_near
        if at_far > 0.0:
            variance -= far * at_far
    largest = min(1.0, width * width / 12.0)
    variance = min(max(variance, 1e-8 * largest), largest)
    center = min(max(center, near), far)
    if reflected:
        center = -center
    return log_mass, mean + center / root, variance / precision
