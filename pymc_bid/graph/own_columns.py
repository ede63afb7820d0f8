"""Values of the chosen columns' own density at a sampler's point."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from scipy.special import gammaln

from pymc_bid.graph.own_density import OwnDensity
from pymc_bid.graph.structure import parameters_of
from pymc_bid.graph.values import LARGEST_VARIANCE, SMALLEST_VARIANCE, Entry, Point, Quantities


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
        return np.clip(drawn, SMALLEST_VARIANCE, LARGEST_VARIANCE)
