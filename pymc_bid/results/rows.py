"""Rows that a set of columns explains: those of the model, or others that were held out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from scipy.special import ndtr

from pymc_bid.evidence import SetsOfModel
from pymc_bid.inputs import ROWS
from pymc_bid.regression import Regression, reduce_regression
from pymc_bid.results.explained import shares_of_draws
from pymc_bid.results.units import CENTER, SCALE, Units, floats_with_gaps, select_columns

Numbers = NDArray[np.float64]
_BLOCK_BYTES = 2**26


class _HeldOut(NamedTuple):
    """Rows that are not the model's, in its units, without gaps."""

    values: Numbers
    observed: NDArray[np.bool_]
    data: Regression
    variation: Numbers
    """Sum of squares of what is observed of each column about its mean in the model's rows."""


class Rows:
    """Rows that a set of columns is to explain, in the units of the model.

    Attributes
    ----------
    units : Units
    columns : array
        Labels of the columns, those of the model.
    """

    def __init__(self, sets: SetsOfModel, model: Model, table: Any = None):
        """Take rows from a table in the units of the data, or the model's own."""
        decomposition = sets.decomposition
        target, data = decomposition.target(), decomposition.regression()
        if len(decomposition.joint.parts) > 1:
            raise TypeError("The state vector is in several likelihoods; there is no one R² then.")
        dims = model.named_vars_to_dims.get(decomposition.roles.likelihood.name)
        size = target.shape[1]
        self.columns = np.asarray(model.coords[dims[1]] if dims else np.arange(size))
        known = {
            name: model[sets.prefix + name].get_value()
            for name in (CENTER, SCALE)
            if sets.prefix + name in model.named_vars
        }
        self.units, self.shared = Units.read(known, "", size), data.shared
        # Chosen columns of the paper's model fit themselves.
        self._fit_themselves = data.shared and decomposition.own is None
        self._noise_of_each = decomposition.roles.noise is None or decomposition.roles.noise.ndim
        weights = decomposition.noise.read_row_weights(target.shape)
        rows = data.products.rows
        if sets.prefix + ROWS in model.named_vars:
            # Compressed, with the mean in the first row.
            self._mean, self._variation = target[0] / np.sqrt(rows), np.sum(target[1:] ** 2, axis=0)
        else:
            weights = np.ones_like(target) if weights is None else weights
            self._mean = np.average(target, axis=0, weights=weights)
            self._variation = np.sum(weights * (target - self._mean) ** 2, axis=0)
        self._data = data
        self._held_out = None if table is None else self._read(table)

    def _read(self, table: Any) -> "_HeldOut":
        """Read held-out rows; missing entries are the mean of their column in the model's rows.

        Missing entries of the model's own chosen columns are that too. Those of the columns that
        are explained do not count.
        """
        if not self.shared:
            raise TypeError(
                "rows are for matrices decomposed by their own columns, without a pool."
            )
        if len(np.shape(table)) != 2:
            raise TypeError(
                f"rows must be a table with the columns of the model, got {type(table).__name__}."
            )
        selected, _, _ = select_columns(table, self.columns, "rows")
        values = floats_with_gaps(selected, "rows")
        if np.isinf(values).any() or not np.isfinite(values).any():
            raise ValueError("rows has infinite entries, or none that is a number.")
        observed = np.isfinite(values)
        values = np.where(observed, self.units.standardise_values(values), self._mean)
        known = None if observed.all() else observed.astype(np.float64)
        variation = np.sum((values - self._mean) ** 2, axis=0)
        return _HeldOut(values, observed, reduce_regression(values, values, known), variation)

    @property
    def are_held_out(self) -> bool:
        """Whether they are others than the model's."""
        return self._held_out is not None

    def shares(self, active: NDArray[np.int64], weights: Numbers) -> Numbers:
        """Return R² of each column and draw; of held-out rows about the mean in the model's."""
        if self._held_out is None:
            return shares_of_draws(self._data, self._variation, active, weights)
        return shares_of_draws(self._held_out.data, self._held_out.variation, active, weights)

    def errors(self, active: NDArray[np.int64], weights: Numbers) -> Numbers:
        """Return the mean square of what C·W leaves of each column, W the mean of the draws."""
        mean = weights.mean(axis=0)[None]
        if self._held_out is None:
            left = 1 - shares_of_draws(self._data, self._variation, active, mean)[0]
            return left * self._variation / self._data.products.rows
        values, observed = self._held_out[:2]
        squares = observed * (values - values[:, active] @ mean[0]) ** 2
        number = observed.sum(axis=0)
        with np.errstate(invalid="ignore"):
            errors = squares.sum(axis=0) / number
        errors[active] = np.nan
        return errors

    def coverage(
        self, active: NDArray[np.int64], weights: Numbers, noise: Numbers, probability: float
    ) -> Numbers:
        """Return the share of entries of each column within their predictive intervals.

        An entry is inside if its rank in the predictive distribution, a mixture of normals over the
        draws, is: no quantile is asked for.
        """
        if active.size == len(self.columns):
            return np.full(active.size, np.nan)
        assert self._held_out is not None
        values, observed = self._held_out[:2]
        if self._fit_themselves:
            noise = self._noise_of_others(active, weights)
        inside, deviation = np.zeros(values.shape, dtype=bool), np.sqrt(noise)[:, None]
        block = max(1, _BLOCK_BYTES // (8 * len(weights) * values.shape[1]))
        for first in range(0, len(values), block):
            rows = slice(first, first + block)
            residual = values[rows] - values[rows][:, active] @ weights
            rank = ndtr(residual / deviation).mean(axis=0)
            inside[rows] = np.abs(rank - 0.5) <= probability / 2
        with np.errstate(invalid="ignore"):
            covered = np.sum(inside & observed, axis=0) / observed.sum(axis=0)
        covered[active] = np.nan
        return covered

    def _noise_of_others(self, active: NDArray[np.int64], weights: Numbers) -> Numbers:
        """Return the noise variance of the columns that are not chosen, for each draw.

        σ² of the paper's model is a mean over all columns, and smaller.
        """
        shares = shares_of_draws(self._data, self._variation, active, weights)
        squares, rows = (1 - shares) * self._variation, self._data.products.rows
        if self._noise_of_each:
            return squares / rows
        others = np.isfinite(shares).all(axis=0)
        return squares[:, others].sum(axis=1, keepdims=True) / rows[others].sum()
