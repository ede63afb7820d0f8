"""Eigenvalues and eigenvectors against LAPACK's."""

import numba
import numpy as np
import pytest

from pymc_bid.kernels.marginal.eigen import spectrum_of_vector, symmetric_eigen


@numba.njit
def decompose(matrix):
    return symmetric_eigen(matrix)


@numba.njit
def products(matrix, vector):
    return spectrum_of_vector(matrix, vector)


def matrices():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(9, 4))
    yield "one entry", np.array([[2.5]])
    yield "zeros", np.zeros((4, 4))
    yield "diagonal", np.diag([3.0, 1.0, 2.0])
    yield "copies", np.hstack([base, base]).T @ np.hstack([base, base])
    yield "many copies", np.tile(base[:, :3], 10).T @ np.tile(base[:, :3], 10)
    yield "almost diagonal", np.diag([3.0, 1.0, 2.0]) + 1e-160
    yield "scales", np.outer([1e-8, 1.0, 1e8], [1e-8, 1.0, 1e8]) * np.cov(rng.normal(size=(3, 9)))
    for size in (2, 7, 30, 60):
        data = rng.normal(size=(size + 3, size))
        yield f"{size} columns", data.T @ data


@pytest.mark.parametrize(("name", "matrix"), list(matrices()), ids=lambda value: str(value)[:12])
def test_eigenvalues_and_vectors_are_those_of_lapack(name, matrix):
    values, rows = decompose(matrix)
    vectors = rows.T
    size = max(np.abs(matrix).max(), 1e-300)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-13 * len(matrix) * size)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, atol=1e-13 * size * 9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(matrix)), atol=1e-12)


@pytest.mark.parametrize(("name", "matrix"), list(matrices()), ids=lambda value: str(value)[:12])
def test_products_with_eigenvectors_are_found_without_them(name, matrix):
    size = max(np.abs(matrix).max(), 1e-300)
    for vector in (np.random.default_rng(1).normal(size=len(matrix)), matrix[0], 0 * matrix[0]):
        values, found = products(matrix, vector)
        expected = np.linalg.eigvalsh(matrix)
        np.testing.assert_allclose(values, expected, atol=1e-13 * len(matrix) * size)
        # Not one by one: eigenvectors of equal eigenvalues are any.
        shifted = np.linalg.solve(matrix + size * np.eye(len(matrix)), vector)
        explained = (found**2 / (values + size)).sum()
        assert explained == pytest.approx(vector @ shifted, rel=1e-10, abs=1e-300)
