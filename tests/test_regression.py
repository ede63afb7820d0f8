"""The reduction of the rows leaves everything that the posterior depends on."""

import numpy as np
import pytest

from pymc_bid.regression import reduce_regression


@pytest.mark.parametrize("rows", [1, 5, 6, 40])
@pytest.mark.parametrize("shared", [True, False])
def test_products_and_residuals_survive_the_reduction(rows, shared):
    rng = np.random.default_rng(rows)
    pool = rng.normal(size=(rows, 3))
    target = pool if shared else rng.normal(size=(rows, 2))
    data = reduce_regression(pool, target)
    weights = rng.normal(size=(3, target.shape[1]))
    np.testing.assert_allclose(data.gram, pool.T @ pool, atol=1e-12)
    np.testing.assert_allclose(data.cross, pool.T @ target, atol=1e-12)
    np.testing.assert_allclose(
        np.sum((data.target - data.basis @ weights) ** 2),
        np.sum((target - pool @ weights) ** 2),
        rtol=1e-10,
    )
    assert data.entries == target.size
    assert data.basis.shape[0] <= pool.shape[1] + (0 if shared else target.shape[1])


def test_overflow_and_nan_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        reduce_regression(np.full((2, 2), 1e200), np.ones((2, 1)))
    with pytest.raises(ValueError, match="target has entries"):
        reduce_regression(np.ones((2, 2)), np.full((2, 1), np.nan))
