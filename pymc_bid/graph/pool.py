"""What is read off the mean of a likelihood: its pool, and which entries of it are observed."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from pymc_bid.graph.structure import as_function, random_variables_in

EXPECTED = "write the mean as `(B * r) @ Y`, with r a 0/1 vector and Y a matrix of weights"


def indexed_matrix(vector: Variable, model: Model) -> Variable | None:
    """Return the matrix of which a vector holds some entries; None if it is not such a vector.

    The entries may be chosen by numbers, by a mask, or by data containers of either.
    """
    node = vector.owner
    if node is None or not isinstance(node.op, AdvancedSubtensor | Subtensor):
        return None
    matrix, *indices = node.inputs
    return None if matrix.ndim != 2 or random_variables_in(indices, model) else matrix


class ObservedEntries:
    """Puts the observed entries of a matrix back into their places."""

    def __init__(self, likelihood: Variable, vector: Variable, matrix: Variable):
        self._name = likelihood.name
        self._pick = as_function([matrix], [vector])

    def put_back(self, values: ArrayLike, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return the matrix, zero where there is no entry."""
        matrix = np.zeros(shape)
        matrix.flat[self.places(shape)] = values
        return matrix

    def places(self, shape: tuple[int, int]) -> NDArray[np.int64]:
        """Return where the entries are in the flattened matrix."""
        numbers = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
        places = self._pick(numbers)[0].astype(np.int64)
        if np.unique(places).size != places.size:
            raise TypeError(f"{self._name} has some entry of its mean twice; it needs each once.")
        return places


class PoolReader:
    """Reads the pool B off the mean, and proves the mean to be B·diag(r)·Y.

    The mean is a polynomial in (r, Y), which `read_roles` has seen to, so its coefficients can be
    read off at well-chosen points, and equality with B·diag(r)·Y at random points is equality
    everywhere. To be called again when the data have changed.
    """

    def __init__(self, likelihood: Variable, mean: Variable, state: Variable, weights: Variable):
        self._likelihood, self._state, self._weights = likelihood, state, weights
        self._mean = as_function([state, weights], [mean])
        self._shape_of_weights = as_function([], [weights.shape])

    def shape(self) -> tuple[int, int]:
        """Rows and columns of the mean."""
        size, columns = self._shape_of_weights()[0]
        everything = np.ones(size, dtype=self._state.dtype)
        return self._mean(everything, np.zeros((size, columns)))[0].shape

    def __call__(self, target: np.ndarray) -> np.ndarray:
        """Return B, (M, N), for a target (M, L)."""
        size, columns = self._shape_of_weights()[0][0], target.shape[1]
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
                    f"The mean of {self._likelihood.name} is not the product B·diag(r)·Y of "
                    f"a data matrix, {self._state.name} and {self._weights.name}; "
                    f"{EXPECTED}."
                )
        return pool

    def _evaluate(self, state, weights, shape) -> np.ndarray:
        try:
            value = self._mean(state.astype(self._state.dtype), weights)[0].astype(np.float64)
        except ValueError as error:
            raise TypeError(
                f"The mean of {self._likelihood.name} can't be computed from a "
                f"{self._weights.name} of shape {weights.shape}; {EXPECTED}."
            ) from error
        if value.shape != shape:
            raise TypeError(
                f"The mean of {self._likelihood.name} has shape {value.shape}, its data have "
                f"shape {shape}; a decomposition needs the same."
            )
        return value
