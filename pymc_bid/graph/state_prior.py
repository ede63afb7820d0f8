"""The prior of the state vector, and of the probabilities that columns are chosen."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV, BetaRV
from scipy.special import betaln

from pymc_bid.distributions.subset import ChoiceRV, RandomSizeRV
from pymc_bid.graph.structure import (
    as_function,
    children,
    is_polynomial,
    is_rearrangement,
    only_parent,
    parameters_of,
)
from pymc_bid.graph.values import Entry, Point, Quantities


class StatePrior:
    """What speaks for and against a column before the data.

    Beside the Bernoulli or subset distribution of r these are *further terms*: potentials, and the
    densities of other variables whose parameters depend on r.

    Attributes
    ----------
    further : list of variables
        Further terms.
    linear : bool
        Whether they all are potentials and linear in r, so that the odds of a column do not depend
        on the other ones.
    knows_size : bool
        Whether the number of chosen columns has a prior of its own.
    """

    def __init__(self, state: Variable, likelihoods: list[Variable], model: Model):
        self.further = [v for v in children(state, model) if v not in likelihoods]
        self.linear = all(
            v in model.potentials and is_polynomial(v, [state], affine=True) for v in self.further
        )
        self._model = model
        self._entry = Entry(state, model)
        op = state.owner.op
        parameters = parameters_of(state) if isinstance(op, BernoulliRV | ChoiceRV) else []
        self._probability = Quantities(parameters if isinstance(op, BernoulliRV) else [], model)
        forced = Quantities(parameters[-2:] if isinstance(op, ChoiceRV) else [], model)({})
        self._forced = [np.ravel(columns) for columns in forced]
        self.knows_size = isinstance(op, RandomSizeRV)
        self._size = Quantities(parameters[:2] if self.knows_size else [], model)
        self._fixed_slopes = np.empty(0)

    @property
    def odds_are_fixed(self) -> bool:
        """Whether the prior of the state vector depends on no other variable."""
        return all(known.fixed for known in (self._probability, self._size)) and (
            not self.further or not self.linear or self._further_is_fixed
        )

    @property
    def _further_is_fixed(self) -> bool:
        return self._further.names <= {self._entry.name} and not self._further.reads_data

    @cached_property
    def _further(self) -> Quantities:
        # Not before it is asked for: a term may be one that the state vector can't be moved with.
        return Quantities([self._model.logp(vars=self.further)], self._model)

    def log_odds(self, size: int, point: Point) -> NDArray[np.float64]:
        """Return the log odds of each of `size` columns, less further terms that are not linear."""
        odds = np.zeros(size)
        for probability in self._probability.as_floats(point):
            with np.errstate(divide="ignore", invalid="ignore"):
                odds += np.log(probability) - np.log1p(-probability)
        for columns, sign in zip(self._forced, (1, -1), strict=False):
            odds[columns] = sign * np.inf
        return odds + self._slopes(size, point) if self.further and self.linear else odds

    def log_sizes(self, size: int, point: Point) -> NDArray[np.float64]:
        """Return what the prior adds for each number of chosen columns, from 0 to `size`.

        log B(α + k', β + n' - k') - log B(α, β), where n' columns are not forced, k' of them
        chosen; 0 for numbers that there can't be.
        """
        found = np.zeros(size + 1)
        if self.knows_size:
            alpha, beta = (float(value) for value in self._size(point))
            included, excluded = map(len, self._forced)
            free = size - included - excluded
            number = np.arange(free + 1)
            log_probability = betaln(alpha + number, beta + free - number) - betaln(alpha, beta)
            found[included : included + free + 1] = log_probability
        return found

    @property
    def names(self) -> str:
        """What the odds of columns come from, in words, but for a plain `pm.Bernoulli`."""
        found = ["alpha, beta"] if self.knows_size else []
        found += ["include, exclude"] if any(map(len, self._forced)) else []
        return ", ".join(found + [v.name for v in self.further])

    def _slopes(self, size: int, point: Point) -> NDArray[np.float64]:
        if self._fixed_slopes.size == size:
            return self._fixed_slopes
        nothing = self.log_further(np.zeros(size), point)
        slopes = np.array([self.log_further(one, point) - nothing for one in np.eye(size)])
        if self._further_is_fixed:
            self._fixed_slopes = slopes
        return slopes

    def log_further(self, state: NDArray, point: Point) -> float:
        """Return the sum of the further terms at another state."""
        return float(self._further(self._entry.write(state, point))[0])


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
