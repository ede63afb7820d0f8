"""The reduction of the rows leaves everything that the posterior depends on."""

import numpy as np
import pytest

from pymc_bid.compression import compress
from pymc_bid.regression import find_far_columns, reduce_regression


@pytest.mark.parametrize("rows", [1, 5, 6, 40])
@pytest.mark.parametrize("shared", [True, False])
def test_products_and_residuals_survive_the_reduction(rows, shared):
    rng = np.random.default_rng(rows)
    pool = rng.normal(size=(rows, 3))
    target = pool if shared else rng.normal(size=(rows, 2))
    data = reduce_regression(pool, target)
    weights = rng.normal(size=(3, target.shape[1]))
    np.testing.assert_allclose(data.products.gram, pool.T @ pool, atol=1e-12)
    np.testing.assert_allclose(data.products.cross, pool.T @ target, atol=1e-12)
    np.testing.assert_allclose(
        data.squared_errors(np.array([0, 2]), weights),
        np.sum((target - pool[:, [0, 2]] @ weights[[0, 2]]) ** 2, axis=0),
        rtol=1e-10,
    )
    assert data.products.rows.tolist() == [rows] * target.shape[1]
    (block,) = data.blocks
    assert block.basis.shape[0] <= pool.shape[1] + (0 if shared else target.shape[1])


def test_targets_with_the_same_missing_entries_share_their_products():
    rng = np.random.default_rng(1)
    pool, target = rng.normal(size=(30, 3)), rng.normal(size=(30, 5))
    row_weights = np.ones((30, 5))
    row_weights[:4, 1] = row_weights[:4, 3] = 0
    row_weights[:, 4] = rng.gamma(2.0, size=30)
    data = reduce_regression(pool, target, row_weights)
    products = data.products
    assert len(data.blocks) == len(products.grams) == 3
    assert products.pattern[1] == products.pattern[3]
    assert products.rows.tolist() == [30, 26, 30, 26, 30]
    weights = rng.normal(size=(3, 5))
    residual = target - pool[:, :2] @ weights[:2]
    errors = data.squared_errors(np.array([0, 1]), weights)
    np.testing.assert_allclose(errors, np.sum(row_weights * residual**2, axis=0), rtol=1e-10)
    for column in range(5):
        weighted = row_weights[:, column, None] * pool
        gram = products.grams[products.pattern[column]]
        np.testing.assert_allclose(gram, pool.T @ weighted, atol=1e-12)
        np.testing.assert_allclose(
            products.cross[:, column], weighted.T @ target[:, column], atol=1e-12
        )
    squares = np.sum(row_weights * target**2, axis=0)
    np.testing.assert_allclose(products.squares, squares, rtol=1e-12)


def test_overflow_and_nan_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        reduce_regression(np.full((2, 2), 1e200), np.ones((2, 1)))
    with pytest.raises(ValueError, match="target has entries"):
        reduce_regression(np.ones((2, 2)), np.full((2, 1), np.nan))


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_columns_are_refused_where_products_do_not_tell_their_entries_apart(scale):
    rng = np.random.default_rng(2)
    columns = [rng.normal(size=20) + offset for offset in (0.0, 1e5, -1e6, 1e12)]
    data = scale * np.column_stack([*columns, np.zeros(20), np.full(20, 0.1)])
    # A constant column has nothing to lose.
    assert find_far_columns(data).tolist() == [2, 3]
    assert find_far_columns(compress(data / scale).factor, True).tolist() == [2, 3]
    with pytest.raises(ValueError, match="Column 2 of the pool lies further from 0 than 300000"):
        reduce_regression(data / scale, data / scale)
    reduce_regression(data[:, :2] / scale, data[:, :2] / scale)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("compressed", [False, True])
def test_a_single_row_has_columns_that_do_not_vary(compressed):
    assert find_far_columns(np.array([[1e9, -2.0, 0.5]]), compressed).size == 0
