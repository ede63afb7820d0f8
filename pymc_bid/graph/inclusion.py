"""A beta prior on the probability that a column is chosen."""

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV, BetaRV

from pymc_bid.graph.structure import as_function, is_rearrangement, random_variables_in
from pymc_bid.graph.values import Entry, Point, Quantities


def read_inclusion(state: Variable, model: Model) -> Variable | None:
    """Return the beta variable whose entries are the inclusion probabilities, None if none is.

    One for all columns, one for each, or one for each group of columns (`p=beta[group]`).
    """
    if state.owner is None or not isinstance(state.owner.op, BernoulliRV):
        return None
    (probability,) = state.owner.op.dist_params(state.owner)
    parents = random_variables_in([probability], model)
    if len(parents) != 1 or not isinstance(parents[0].owner.op, BetaRV):
        return None
    if parents[0] not in model.free_RVs or not is_rearrangement(probability, parents):
        return None
    return parents[0]


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
        self._prior = Quantities(variable.owner.op.dist_params(variable.owner), model)
        self._place = as_function([variable], state.owner.op.dist_params(state.owner))

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
        alpha, beta = (np.asarray(value, dtype=np.float64) for value in self._prior(point))
        drawn = rng.beta(alpha + ones, beta + number - ones, size=shape)
        # Strictly between 0 and 1, where a transform has finite values.
        return np.clip(drawn, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)
