"""Moments of truncated normals against SciPy, and their range where SciPy fails."""

import numpy as np
import pytest
from scipy import special, stats

from pymc_bid.kernels.marginal.truncated_moments import truncated_moments


@pytest.mark.parametrize("center", [-40.0, -8.0, -1.0, 0.0, 0.3, 3.0, 12.0])
@pytest.mark.parametrize("width", [0.1, 1.0, 7.0, np.inf])
def test_moments_agree_with_scipy(center, width):
    lower, upper, precision = 0.5, 0.5 + width, 4.0
    log_mass, mean, variance = truncated_moments(center, precision, lower, upper)
    reference = stats.truncnorm((lower - center) * 2, (upper - center) * 2, center, 0.5)
    np.testing.assert_allclose(mean, reference.mean(), rtol=1e-3)
    np.testing.assert_allclose(variance, reference.var(), rtol=0.02)
    # A difference within the nearer tail, where it has digits.
    ends = np.sort(np.multiply(2, [lower - center, upper - center]) * (-1 if center < 0.5 else 1))
    exact = special.logsumexp(special.log_ndtr(ends), b=[-1, 1])
    np.testing.assert_allclose(log_mass, exact, rtol=1e-9)


def test_moments_stay_within_the_interval_at_any_distance():
    for center in (-1e9, -1e4, 0.0, 1e4, 1e9):
        for lower, upper in ((-1.0, 1.0), (0.2, 0.2 + 1e-9), (-np.inf, 1.0)):
            _, mean, variance = truncated_moments(center, 1e3, lower, upper)
            assert lower - 1e-6 <= mean <= upper + 1e-6
            assert 0 < variance <= 1e-3
