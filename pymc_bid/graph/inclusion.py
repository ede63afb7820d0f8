"""A beta prior on the probability that a column is chosen."""

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV, BetaRV

from pymc_bid.graph.structure import as_function, is_rearrangement, only_parent, parameters_of
from pymc_bid.graph.values import Entry, Point, Quantities


def read_inclusion(state: Variable, model: Model) -> Variable | None:
    """Return the beta variable whose entries are the inclusion probabilities, None if none is.

    One for all columns, one for each, or one for each group of columns (`p=beta[group]`).
    """
    if state.owner is None or not isinstance(state.owner.op, BernoulliRV):
        return None
    (probability,) = parameters_of(state)
    beta = only_parent([probability], BetaRV, model)
    return beta if beta is not None and is_rearrangement(probability, [beta]) else None


class InclusionValues:
    """Values of the inclusion probabilities' beta prior at a sampler's point.

    Attributes
    ----------
    probability : Entry
        Entry of the beta variable in a sampler's point.
    """

    def __init__(self, variable: Variable, state: Variable, model: Model):
        self.probability = Entry(variable, model)
        self._dtype = variable.dtype
        self._prior = Quantities(parameters_of(variable), model)
        self._place = as_function([variable], parameters_of(state))

    def draw(
        self, rng: np.random.Generator, state: NDArray[np.int64], point: Point
    ) -> NDArray[np.float64]:
        """Draw the probabilities given the state.

        π_g | r ~ Beta(α + number of ones, β + number of zeros) among the columns of group g.
        """
        shape = self.probability.read(point).shape
        # Labels in place of probabilities tell which columns each one is for.
        labels = np.arange(np.prod(shape, dtype=int)).astype(self._dtype).reshape(shape)
        group = np.broadcast_to(self._place(labels)[0], state.shape).astype(np.int64)
        ones = np.bincount(group, weights=state, minlength=labels.size).reshape(shape)
        number = np.bincount(group, minlength=labels.size).reshape(shape)
        alpha, beta = self._prior.as_floats(point)
        drawn = rng.beta(alpha + ones, beta + number - ones, size=shape)
        # Strictly between 0 and 1, where a transform has finite values.
        return np.clip(drawn, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)
