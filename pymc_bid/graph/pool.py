"""The pool of columns that a likelihood chooses from, read off its mean."""

import numpy as np

from pymc_bid.graph.roles import EXPECTED, Roles
from pymc_bid.graph.structure import as_function, shape_of


class PoolReader:
    """Reads the pool B off the mean, and proves the mean to be B·diag(r)·Y.

    The mean is a polynomial in (r, Y), see `read_roles`, so its coefficients can be read off at
    well-chosen points, and equality with B·diag(r)·Y at random points is equality everywhere. To be
    called again when the data have changed.
    """

    def __init__(self, roles: Roles):
        self._roles = roles
        self._mean = as_function([roles.state, roles.weights], [roles.mean])

    def shape(self) -> tuple[int, int]:
        """Rows and columns of the mean."""
        size, columns = shape_of(self._roles.weights)
        everything = np.ones(size, dtype=self._roles.state.dtype)
        return self._mean(everything, np.zeros((size, columns)))[0].shape

    def __call__(self, target: np.ndarray) -> np.ndarray:
        """Return B, (M, N), for a target (M, L)."""
        size, columns = shape_of(self._roles.weights)[0], target.shape[1]
        everything = np.ones(size)
        pieces = []
        for start in range(0, size, columns):
            width = min(columns, size - start)
            unit = np.zeros((size, columns))
            unit[np.arange(start, start + width), np.arange(width)] = 1.0
            pieces.append(self._evaluate(everything, unit, target.shape)[:, :width])
        pool = np.concatenate(pieces, axis=1)
        rng = np.random.default_rng(0)
        for _ in range(2):
            state = rng.integers(-3, 10, size)
            weights = rng.normal(size=(size, columns))
            found = self._evaluate(state, weights, target.shape)
            tolerance = 1e-9 * (np.abs(pool * state) @ np.abs(weights))
            if not (np.abs(found - (pool * state) @ weights) <= tolerance).all():
                raise TypeError(
                    f"The mean of {self._roles.likelihood.name} is not the product B·diag(r)·Y of "
                    f"a data matrix, {self._roles.state.name} and {self._roles.weights.name}; "
                    f"{EXPECTED}."
                )
        return pool

    def _evaluate(self, state, weights, shape) -> np.ndarray:
        try:
            value = self._mean(state.astype(self._roles.state.dtype), weights)[0].astype(np.float64)
        except ValueError as error:
            raise TypeError(
                f"The mean of {self._roles.likelihood.name} can't be computed from a "
                f"{self._roles.weights.name} of shape {weights.shape}; {EXPECTED}."
            ) from error
        if value.shape != shape:
            raise TypeError(
                f"The mean of {self._roles.likelihood.name} has shape {value.shape}, its data have "
                f"shape {shape}; a decomposition needs the same."
            )
        return value
