"""The two branches of a likelihood: chosen columns with their own density, interpolated others.

In the model with the identity the mean and the scale of the likelihood are each a choice, made by
the state vector, between those of a column's own density and those of the regression.
"""

from typing import NamedTuple

import numpy as np
import pytensor.scalar as ps
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from scipy.special import gammaln

from pymc_bid.distributions.interpolation import CompressedNormalRV, InterpolationRV
from pymc_bid.graph.noise import read_noise
from pymc_bid.graph.structure import (
    as_function,
    dependent_nodes,
    parameters_of,
    random_variables_in,
    shape_of,
)
from pymc_bid.graph.values import LARGEST_VARIANCE, SMALLEST_VARIANCE, Entry, Point, Quantities


class OwnDensity(NamedTuple):
    """Normal density of the chosen columns."""

    mean: Variable
    """Free of random variables."""
    scale: Variable
    """One number, or one for each column; may depend on any variable but the state vector."""
    variance: Variable | None
    """ω², if it is a vector of inverse gamma variables and the scale is its square root."""


class Branches(NamedTuple):
    """What a likelihood is made of: the regression, and the density of chosen columns if any."""

    mean: Variable | None
    """B·diag(r)·Y as it stands in the graph; None in an `Interpolation`, where B is A itself."""
    scale: Variable
    """Standard deviation of the interpolated entries as it stands in the graph."""
    precision: Variable | None = None
    """Known precision of each entry besides, 0 for missing ones, of an `Interpolation`."""
    rows: Variable | None = None
    """Rows of the data, None if they are those of the observed matrix."""
    own: OwnDensity | None = None
    """Density of the chosen columns, in the model with the identity; else they are interpolated."""


def split_likelihood(likelihood: Variable, model: Model) -> Branches:
    """Tell the own density of the chosen columns from the regression of the others.

    A TypeError says that mean and scale are not split alike, or that the own mean is not data.
    """
    parameters = parameters_of(likelihood)
    if isinstance(likelihood.owner.op, InterpolationRV):
        _, _, scale, own_mean, own_scale, precision, rows = parameters
        own = _own_density(likelihood, own_mean, own_scale, model)
        return Branches(None, scale, precision, rows, own)
    mean, scale, *rows = parameters
    if isinstance(likelihood.owner.op, CompressedNormalRV):
        return Branches(mean, scale, rows=rows[0])
    of_mean, of_scale = _choice(mean, model), _choice(scale, model)
    if of_mean is None:
        return Branches(mean, scale)
    if of_scale is None or of_mean[0] is not of_scale[0]:
        raise TypeError(
            f"The mean of {likelihood.name} depends on whether a column is chosen, its scale does "
            "not in the same way; write `sigma=pt.where(r, omega, sigma)` along with "
            "`mu=pt.where(r, 0, (A * r) @ Y)`."
        )
    _, own_mean, mean = of_mean
    _, own_scale, scale = of_scale
    return Branches(mean, scale, own=_own_density(likelihood, own_mean, own_scale, model))


def _choice(expression: Variable, model: Model) -> tuple[Variable, Variable, Variable] | None:
    """Return a state vector and what stands for its ones and its zeros, None if nothing does."""
    node = expression.owner
    while node is not None and _only_adds_leading_dimensions(node):
        node = node.inputs[0].owner
    if node is None or not isinstance(getattr(node.op, "scalar_op", None), ps.Switch):
        return None
    condition, first, second = node.inputs
    parents = random_variables_in([condition], model)
    if len(parents) != 1 or parents[0].ndim != 1 or np.dtype(parents[0].dtype).kind not in "iub":
        return None
    (state,) = parents
    # Entry by entry, so that zeros and ones tell everything.
    if not all(
        isinstance(n.op, Elemwise | DimShuffle) for n in dependent_nodes(condition, parents)
    ):
        return None
    evaluate = as_function(parents, [condition])
    size = shape_of(state)
    zeros, ones = (evaluate(np.full(size, entry, dtype=state.dtype))[0] for entry in (0, 1))
    if zeros.shape not in {size, (1, *size)}:
        return None
    if not zeros.any() and ones.all():
        return state, first, second
    if zeros.all() and not ones.any():
        return state, second, first
    return None


def _only_adds_leading_dimensions(node: Apply) -> bool:
    if not isinstance(node.op, DimShuffle):
        return False
    kept = range(node.inputs[0].ndim)
    return list(node.op.new_order) == ["x"] * (node.outputs[0].ndim - len(kept)) + list(kept)


def _own_density(likelihood, mean, scale, model) -> OwnDensity:
    random = [v.name for v in random_variables_in([mean], model)]
    if random:
        raise TypeError(
            f"The mean of the chosen columns of {likelihood.name} depends on {', '.join(random)}; "
            "a decomposition needs it to be data."
        )
    variance = read_noise(scale, None, model)
    if variance is not None:
        unit = as_function([variance], [scale])(np.ones(shape_of(variance), variance.dtype))[0]
        if variance.ndim != 1 or unit.size != shape_of(variance)[0] or not np.allclose(unit, 1.0):
            variance = None
    return OwnDensity(mean, scale, variance)


class OwnColumns(NamedTuple):
    """What choosing a column does to the target that it is, see `pymc_bid.kernels.identity`."""

    targets: NDArray[np.int64]
    """(N, D): the targets that each column of the pool is, D = 0 without the identity."""
    log_densities: NDArray[np.float64]
    """(N,): log density of these targets on their own, but for -½ M log(2π) each."""

    @property
    def has_identity(self) -> bool:
        """Whether choosing a column frees targets."""
        return self.targets.shape[1] > 0

    @classmethod
    def none(cls, size: int) -> "OwnColumns":
        """Columns that are no targets, or that are interpolated like all others."""
        return cls(np.empty((size, 0), dtype=np.int64), np.zeros(size))


class OwnDensityValues:
    """The density a_j ~ Normal(m_j, ω_j²) of the chosen columns, with its data.

    Attributes
    ----------
    variance : Entry or None
        Entry of ω² in a sampler's point, if it can be integrated out.
    quantities : Quantities
        What the densities depend on beside the data: the prior of ω², or else ω.
    """

    def __init__(self, own: OwnDensity, model: Model):
        self._mean = Quantities([own.mean], model)
        if own.variance is None:
            self.variance, self.quantities = None, Quantities([own.scale], model)
        else:
            self.variance = Entry(own.variance, model)
            self.quantities = Quantities(parameters_of(own.variance), model)
        self._columns: OwnColumns | None = None

    def read_target(
        self,
        target: NDArray[np.float64],
        row_weights: NDArray[np.float64] | None,
        rows: NDArray[np.float64],
    ) -> None:
        """Take in a matrix (M, N), or its factor, of which only N sums of squares are kept.

        Row weights are those of the regression, see `pymc_bid.regression`; here they only tell
        which entries are missing. `rows` is the number of those of each column that are not.
        """
        self._rows = rows
        squares = (target - self._mean({})[0]) ** 2
        # The kernels take interpolated entries in units of their noise, and so these ones too.
        self._units = np.zeros(target.shape[1])
        if row_weights is not None:
            observed = row_weights > 0
            squares[~observed] = 0.0
            self._units = 0.5 * np.log(np.where(observed, row_weights, 1.0)).sum(axis=0)
        self._squares = squares.sum(axis=0)
        self._columns = None

    def columns(self, point: Point) -> OwnColumns:
        """Return the own densities at a point, with ω² integrated out if it can be."""
        if self._columns is not None:
            return self._columns
        rows, squares = self._rows, self._squares
        if self.variance is not None:
            shape, scale = self.quantities.as_floats(point)
            log_densities = (
                gammaln(shape + rows / 2)
                - gammaln(shape)
                + shape * np.log(scale)
                - (shape + rows / 2) * np.log(scale + squares / 2)
            )
        else:
            variance = np.ravel(self.quantities.as_floats(point)[0]) ** 2
            log_densities = -0.5 * (rows * np.log(variance) + squares / variance)
        columns = OwnColumns(np.arange(len(squares))[:, None], log_densities - self._units)
        if self.quantities.fixed:
            self._columns = columns
        return columns

    def draw_variance(
        self, rng: np.random.Generator, state: NDArray[np.int64], point: Point
    ) -> NDArray[np.float64]:
        """Draw ω² of every column given the state: from its prior where it is not chosen.

        ω_j² | r_j = 1 ~ InverseGamma(α_ω + M/2, β_ω + |a_j - m_j|²/2)
        """
        shape, scale = self.quantities.as_floats(point)
        chosen = np.asarray(state) == 1
        drawn = (scale + chosen * self._squares / 2) / rng.standard_gamma(
            shape + chosen * self._rows / 2
        )
        # A variance of zero or infinity has no likelihood.
        return np.minimum(np.maximum(drawn, SMALLEST_VARIANCE), LARGEST_VARIANCE)
