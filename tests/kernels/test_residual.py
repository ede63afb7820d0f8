"""Residual kernels against NumPy."""

import numpy as np
import pytest

from pymc_bid.kernels.residual import (
    errors_from_products,
    residual_cross_products,
    squared_errors,
)
from pymc_bid.regression import reduce_regression


@pytest.mark.parametrize("number", [0, 1, 3, 4, 7, 9])
def test_residual_kernels_agree_with_numpy(number):
    rng = np.random.default_rng(number)
    basis, target = rng.normal(size=(6, 9)), rng.normal(size=(6, 5))
    weights = rng.normal(size=(9, 5))
    active = np.sort(rng.choice(9, number, replace=False))
    residual = target - basis[:, active] @ weights[active]
    np.testing.assert_allclose(
        squared_errors(active, weights, basis, target), np.sum(residual**2, axis=0), rtol=1e-12
    )
    for row_weights in (None, rng.uniform(size=(6, 5))):
        products = reduce_regression(basis, target, row_weights).products
        np.testing.assert_allclose(
            residual_cross_products(active, weights, products),
            basis.T @ (residual if row_weights is None else row_weights * residual),
            atol=1e-12,
        )
        errors, _ = errors_from_products(active, weights, products, np.ones(5))
        squares = residual**2 if row_weights is None else row_weights * residual**2
        np.testing.assert_allclose(errors, squares.sum(axis=0), rtol=1e-10)


def test_a_nearly_perfect_fit_does_not_cancel():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(20, 4))
    weights = rng.uniform(-1, 1, size=(4, 3))
    error = 1e-12 * rng.normal(size=(20, 3))
    target = basis @ weights + error
    data = reduce_regression(basis, target)
    assert errors_from_products(np.arange(4), weights, data.products, np.ones(3))[1]
    found = data.squared_errors(np.arange(4), weights)
    np.testing.assert_allclose(found, np.sum(error**2, axis=0), rtol=1e-2)
