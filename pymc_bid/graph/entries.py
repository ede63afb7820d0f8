"""A likelihood of some entries of a matrix: `pm.Normal("A", mu[observed], …)`."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from pymc_bid.graph.structure import as_function, random_variables_in


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
