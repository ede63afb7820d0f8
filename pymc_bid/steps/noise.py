"""The step for the noise variance σ²."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.graph.decomposition import Decomposition
from pymc_bid.graph.roles import require_only_child
from pymc_bid.graph.structure import children
from pymc_bid.graph.values import LARGEST_VARIANCE, SMALLEST_VARIANCE, Point
from pymc_bid.steps.base import DecompositionStep


class NoiseStep(DecompositionStep):
    """Draw the noise variance from its inverse gamma conditional.

        σ² | · ~ InverseGamma(α_σ + ML/2, β_σ + SSE/2)

    with L and SSE of the interpolated columns, or for each column by itself. Serves
    `pm.InverseGamma` variances whose square root, times data, is the likelihood's scale.

    Examples
    --------
    >>> with bid.gbt(A, k=2) as model:
    ...     step = bid.NoiseStep([model["sigma2"]])
    >>> point, _ = step.step(model.initial_point())
    >>> bool(point["sigma2"] > 0)
    True
    """

    name = "bid_noise"
    statistics: ClassVar = {}

    @classmethod
    def claimed(cls, decomposition, model):
        """σ²."""
        roles = decomposition.roles
        if roles.noise is None:
            raise TypeError(
                f"The scale of {roles.likelihood.name} is not the square root of a pm.InverseGamma "
                "variance; give its variables one of PyMC's samplers by `step=`."
            )
        require_only_child(roles.noise, roles.likelihood, model)
        return [roles.noise]

    def update(self, point):
        """Draw σ² once."""
        decomposition = self.decomposition
        state = decomposition.state.read(point)
        weights = decomposition.weights.read(point)
        return draw_noise(self.rng, decomposition, state, weights, point), self.report()


def can_draw_noise(decomposition: Decomposition, model: Model) -> bool:
    """Whether `sample_noise` is exact: σ² enters nothing but the likelihood."""
    roles = decomposition.roles
    return roles.noise is not None and children(roles.noise, model) == [roles.likelihood]


def draw_noise(
    rng: np.random.Generator,
    decomposition: Decomposition,
    state: NDArray[np.int64],
    weights: NDArray[np.float64],
    point: Point,
) -> Point:
    """Return a new point with σ² drawn given everything else."""
    drawn = sample_noise(rng, decomposition, state, weights, point)
    return decomposition.noise.variance.write(drawn, point)


def sample_noise(
    rng: np.random.Generator,
    decomposition: Decomposition,
    state: NDArray[np.int64],
    weights: NDArray[np.float64],
    point: Point,
) -> NDArray[np.float64]:
    """Draw σ² given a state, weights and, of the point, the parameters of its prior."""
    interpolated = decomposition.interpolated(state)
    errors = decomposition.squared_errors(state, weights)
    squares = interpolated * errors
    entries = interpolated * decomposition.regression().products.rows
    if decomposition.roles.noise.ndim == 0:
        squares, entries = np.asarray(squares.sum()), np.asarray(entries.sum())
    shape, scale = decomposition.noise.prior(point)
    drawn = (scale + squares / 2) / rng.standard_gamma(shape + entries / 2)
    # A variance of zero or infinity has no likelihood.
    return np.minimum(np.maximum(drawn, SMALLEST_VARIANCE), LARGEST_VARIANCE)
