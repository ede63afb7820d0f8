"""The decompositions that share a state vector, side by side as one."""

from itertools import pairwise
from operator import is_
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.state_prior import StatePrior
from pymc_bid.graph.structure import parameters_of
from pymc_bid.graph.values import Point, Quantities, WeightPrior
from pymc_bid.regression import Products, Regression

if TYPE_CHECKING:
    from pymc_bid.graph.decomposition import Decomposition


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
        if not (self._data and all(map(is_, self._data, data))):
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

    def log_prior_sizes(self, point: Point) -> NDArray[np.float64]:
        """Return what the prior adds for each number of chosen columns, see `StatePrior`."""
        return self.state_prior.log_sizes(self._products.cross.shape[0], point)

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
