"""Least squares within bounds, against SciPy's own solver."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from examples.paper.errors import bounded_error, bounded_least_squares, unbounded_error


@pytest.mark.parametrize("rows", [30, 12, 8])
@pytest.mark.parametrize("copies", [1, 2])
def test_the_error_is_that_of_scipys_solver(rows, copies):
    rng = np.random.default_rng(rows)
    basis = np.tile(rng.normal(size=(rows, 10)), copies)
    target = basis @ rng.uniform(-2, 2, size=(10 * copies, 6)) + rng.normal(size=(rows, 6))
    weights = bounded_least_squares(basis, target)
    assert np.abs(weights).max() <= 1
    for column in range(6):
        best = 2 * lsq_linear(basis, target[:, column], (-1, 1), tol=1e-12).cost
        found = np.sum((target[:, column] - basis @ weights[:, column]) ** 2)
        assert found == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_without_active_bounds_both_errors_are_the_same():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, 5))
    assert bounded_error(data, [0, 3]) == pytest.approx(unbounded_error(data, [0, 3]))
    assert bounded_error(data, range(5)) == pytest.approx(0, abs=1e-20)


def test_a_bound_that_is_in_the_way_costs():
    column = np.arange(1.0, 5.0)
    data = np.column_stack([column, 3 * column])
    assert unbounded_error(data, [0]) == pytest.approx(0, abs=1e-20)
    assert bounded_error(data, [0]) == pytest.approx(np.sum((2 * column) ** 2) / 8)


def test_no_columns_explain_nothing():
    data = np.array([[1.0, 2.0], [3.0, 4.0]])
    nothing = np.array([], int)
    assert bounded_error(data, nothing) == unbounded_error(data, nothing) == 7.5
