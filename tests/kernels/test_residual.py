"""Residual kernels against NumPy."""

import numpy as np
import pytest

from pymc_bid.kernels.residual import residual_cross_products, residual_sum_of_squares


@pytest.mark.parametrize("number", [0, 1, 3, 4, 7, 9])
def test_residual_kernels_agree_with_numpy(number):
    rng = np.random.default_rng(number)
    basis, target = rng.normal(size=(6, 9)), rng.normal(size=(6, 5))
    weights = rng.normal(size=(9, 5))
    active = np.sort(rng.choice(9, number, replace=False))
    residual = target - basis[:, active] @ weights[active]
    interpolated = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(
        residual_sum_of_squares(active, weights, basis, target, interpolated),
        np.sum(residual[:, interpolated == 1] ** 2),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        residual_cross_products(active, weights, basis.T @ basis, basis.T @ target),
        basis.T @ residual,
        atol=1e-12,
    )


def test_a_nearly_perfect_fit_does_not_cancel():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(20, 4))
    weights = rng.uniform(-1, 1, size=(4, 3))
    error = 1e-12 * rng.normal(size=(20, 3))
    target = basis @ weights + error
    found = residual_sum_of_squares(np.arange(4), weights, basis, target, np.ones(3))
    np.testing.assert_allclose(found, np.sum(error**2), rtol=1e-2)
