"""The state vector: its prior, and the decompositions that share it, side by side as one."""

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV, BetaRV

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.structure import (
    as_function,
    children,
    is_polynomial,
    is_rearrangement,
    only_parent,
    parameters_of,
)
from pymc_bid.graph.values import Entry, Point, Quantities, WeightPrior
from pymc_bid.regression import Products, Regression

if TYPE_CHECKING:
    from pymc_bid.graph.decomposition import Decomposition


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
    """

    def __init__(self, state: Variable, likelihoods: list[Variable], model: Model):
        self.further = [v for v in children(state, model) if v not in likelihoods]
        self.linear = all(
            v in model.potentials and is_polynomial(v, [state], affine=True) for v in self.further
        )
        self._model = model
        self._entry = Entry(state, model)
        # A subset distribution has even odds.
        is_bernoulli = isinstance(state.owner.op, BernoulliRV)
        self._probability = Quantities(parameters_of(state) if is_bernoulli else [], model)
        self._fixed_slopes = np.empty(0)

    @property
    def odds_are_fixed(self) -> bool:
        """Whether the log odds of the columns depend on no other variable."""
        return self._probability.fixed and (
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
            with np.errstate(divide="ignore"):
                odds += np.log(probability) - np.log1p(-probability)
        return odds + self._slopes(size, point) if self.further and self.linear else odds

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


class Joint:
    """What the steps of a state vector need of all the likelihoods that it is in.

    The targets of the parts stand side by side: those of the second one, with weights, noise and
    pool of their own, follow those of the first. Mostly there is one part.

    Attributes
    ----------
    parts : list of Decomposition
    state : Entry
    state_prior : StatePrior or None
        The prior of the state vector, if that is sampled.
    """

    def __init__(self, parts: "list[Decomposition]", model: Model):
        self.parts = parts
        self.state = parts[0].state
        self.state_prior = None
        if self.state.sampled:
            likelihoods = [part.roles.likelihood for part in parts]
            self.state_prior = StatePrior(parts[0].roles.state, likelihoods, model)
        self._size = None
        if parts[0].roles.fixed_size:
            self._size = Quantities(parameters_of(parts[0].roles.state)[:1], model)
        self._data: list[Regression] = []
        self.refresh()

    def refresh(self) -> None:
        """Read the data again if they are new."""
        for part in self.parts:
            part.refresh()
        data = [part.regression() for part in self.parts]
        if not self._data or any(a is not b for a, b in zip(self._data, data, strict=True)):
            self._data, self._products = data, _side_by_side([part.products for part in data])
            ends = np.cumsum([part.shape[1] for part in data])
            # Which targets are those of each part.
            self._columns = [slice(*ends_of_part) for ends_of_part in pairwise([0, *ends])]

    def size(self, point: Point) -> int | None:
        """Return the number of ones that the state vector has, None if it is free."""
        return None if self._size is None else int(self._size(point)[0])

    def products(self) -> Products:
        """Return what the kernels know of the data."""
        return self._products

    def log_prior_odds(self, point: Point) -> NDArray[np.float64]:
        """Return the log odds of each column being chosen, before the data, see `StatePrior`."""
        return self.state_prior.log_odds(self._products.cross.shape[0], point)

    def weights(self, point: Point) -> NDArray[np.float64]:
        """Return a copy of the weights, (N, L)."""
        weights = [np.array(part.weights.read(point), order="C") for part in self.parts]
        return np.concatenate(weights, axis=1) if len(weights) > 1 else weights[0]

    def write_weights(self, weights: NDArray[np.float64], point: Point) -> Point:
        """Return a new point with these weights."""
        for part, columns in zip(self.parts, self._columns, strict=True):
            point = part.weights.write(weights[:, columns], point)
        return point

    def write_state(self, state: NDArray[np.int64], point: Point) -> Point:
        """Return a new point with this state vector, which has to be one that is sampled."""
        if not self.state.sampled:
            raise TypeError(f"{self.state.name} is not sampled.")
        return self.state.write(state, point)

    def noise_variance(self, point: Point) -> NDArray[np.float64]:
        """Return σ² of each target, (L,)."""
        return np.concatenate([part.noise_variance(point) for part in self.parts])

    def write_noise(self, variance: NDArray[np.float64], point: Point) -> Point:
        """Return a new point with these noise variances."""
        for part, columns in zip(self.parts, self._columns, strict=True):
            own = variance[columns]
            point = part.noise.variance.write(own[0] if part.roles.noise.ndim == 0 else own, point)
        return point

    def weight_prior(self, point: Point) -> WeightPrior:
        """Return the parameters of the prior of the weights at a point."""
        return _side_by_side_priors([part.weight_prior(point) for part in self.parts])

    def proposal_prior(self, point: Point) -> WeightPrior:
        """Return the truncated normal prior that weights are proposed with, see the parts."""
        return _side_by_side_priors([part.proposal_prior(point) for part in self.parts])

    def hyperpriors(self, point: Point) -> list[tuple]:
        """Return each part with a hierarchical prior, what stands for it, it, and its targets."""
        return [
            (part, part.proposal_prior(point), part.hyperprior(point), columns)
            for part, columns in zip(self.parts, self._columns, strict=True)
            if part.hyperparameters is not None
        ]

    def own_columns(self, point: Point) -> OwnColumns:
        """Return the own densities of the columns at a point."""
        owns = [part.own_columns(point) for part in self.parts]
        if len(owns) == 1:
            return owns[0]
        targets = [
            own.targets + columns.start for own, columns in zip(owns, self._columns, strict=True)
        ]
        return OwnColumns(
            np.concatenate(targets, axis=1), np.sum([own.log_densities for own in owns], axis=0)
        )

    def draw_own_variances(
        self, rng: np.random.Generator, state: NDArray[np.int64], point: Point
    ) -> Point:
        """Return a new point with the variances of the chosen columns drawn given the state."""
        for part in self.parts:
            if part.own is not None and part.own.variance is not None:
                variance = part.own.draw_variance(rng, state, point)
                point = part.own.variance.write(variance, point)
        return point


def _side_by_side_priors(priors: list[WeightPrior]) -> WeightPrior:
    if len(priors) == 1:
        return priors[0]
    fields = [np.concatenate(field, axis=1) for field in zip(*priors, strict=True)]
    return WeightPrior.of(fields[0].shape, *fields)


def _side_by_side(parts: list[Products]) -> Products:
    if len(parts) == 1:
        return parts[0]
    share = np.array([part.pattern.size for part in parts], dtype=np.float64)
    before = np.cumsum([0, *(len(part.grams) for part in parts[:-1])])
    return Products(
        gram=np.tensordot(share / share.sum(), [part.gram for part in parts], 1),
        grams=np.concatenate([part.grams for part in parts]),
        pattern=np.concatenate(
            [part.pattern + number for part, number in zip(parts, before, strict=True)]
        ),
        cross=np.concatenate([part.cross for part in parts], axis=1),
        squares=np.concatenate([part.squares for part in parts]),
        rows=np.concatenate([part.rows for part in parts]),
    )
