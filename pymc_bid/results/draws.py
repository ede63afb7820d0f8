"""The draws of a decomposition, checked against the data, with every mismatch named."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pymc_bid.inputs import OBSERVED, ROWS, Matrix, labels_or_numbers, read_matrix
from pymc_bid.regression import Regression, reduce_regression
from pymc_bid.results.posterior import read_group, read_posterior, read_state, read_variable
from pymc_bid.results.units import CENTER, CONSTANT, Units, select_columns

OWN_VARIANCE, OWN_MEAN = "omega2", "own_mean"
"""Variances (draws) and means (data) of the chosen columns, in models with the identity inside."""

# Draws of Y read at a time: enough to make reading from a file worthwhile, little to hold.
_CHUNK_BYTES = 2**25


class Draws:
    """Draws of a decomposition, checked against the data.

    Attributes
    ----------
    state : array (chain, draw, basis)
        State vectors.
    weights : xarray.DataArray (chain, draw, basis, column) or None
        Y, None if it was not stored.
    noise : array (chain, draw, 1) or (chain, draw, column), or None
        σ², of all columns or of each; None if it was not stored.
    identity : bool
        Whether W[:, J] = I holds inside the model: chosen columns have a density of their own.
    own_variance, own_mean : array
        ω² of that density, (chain, draw, basis), None if it was not stored; one mean or (basis,).
    target, pool : Matrix
        The data as the model was given them, and candidate columns, None if they are those of the
        target.
    units : Units
        What makes values in the units of the data of those that the model was given.
    places, width : array, int
        Where the candidate columns stand among the columns of the data, and how many those are.
    constants : xarray.DataArray or None
        Values of the constant columns that the model left out, by their labels.
    basis, columns, rows : array
        Labels of the candidate columns, of the target's columns and of its rows.
    """

    def __init__(self, idata: Any, A: Any, pool: Any, state: str, weights: str, noise: str):
        # In a model with a name, what `gbt` made has the prefix that the state vector has.
        prefix = state[: state.rfind("::") + 2] if "::" in state else ""
        own_variance, own_mean = prefix + OWN_VARIANCE, prefix + OWN_MEAN
        constants, posterior = read_group(idata, "constant_data"), read_posterior(idata)
        masked, standardised = (prefix + name in constants for name in (OBSERVED, CENTER))
        missing = "mask" if masked or standardised else None
        if missing is None and read_group(idata, "observed_data").data_vars:
            # Compared with what was observed below.
            missing = "zero"
        self.state, basis = read_state(idata, state)
        self.constants = constants.get(prefix + CONSTANT)
        self.places, self.width = np.arange(basis.size), basis.size
        if standardised or self.constants is not None:
            A, self.places, self.width = select_columns(A, basis, "A")
        self._given = read_matrix(A, "A", missing)
        if not masked:
            # A model that standardises may take the mean of a column for its missing entries.
            has_zeros = self._given.has_zeros or self._given.observed is not None
            self._given = self._given._replace(observed=None, has_zeros=has_zeros)
        self.units = Units.read(constants, prefix, self._given.values.shape[1])
        self.target = self.units.standardise(self._given)
        self.pool = None if pool is None else read_matrix(pool, "pool", missing)
        source, name = (self.target, "A") if self.pool is None else (self.pool, "pool")
        (height, length), size = self.target.values.shape, source.values.shape[1]
        if size != basis.size:
            hint = "; pass the candidate columns by `pool=`" if self.pool is None else ""
            raise ValueError(
                f"{name} has {size} columns, {state} has {basis.size}: idata is that of another "
                f"matrix{hint}."
            )
        if len(source.values) != height:
            raise ValueError(f"pool has {len(source.values)} rows, A has {height}.")
        self.basis = _agree(source.columns, basis, name)
        self.weights = None
        if weights in posterior:
            self.weights = read_variable(posterior, weights, "weights", 2)
            found = self.weights.shape[2:]
            if found != (size, length):
                raise ValueError(
                    f"{weights} is {found[0]} × {found[1]} in the posterior, but the data need "
                    f"{size} × {length}: idata is that of another matrix."
                )
        _check_observed(idata, self.target, prefix)
        self.rows = labels_or_numbers(self.target.rows, height)
        self.columns = self.target.columns
        if self.columns is None:
            self.columns = self.basis if self.pool is None else np.arange(length)
            if self.pool is not None and self.weights is not None:
                self.columns = self.weights.indexes.get(self.weights.dims[-1], self.columns)
            self.columns = np.asarray(self.columns)
        self.noise = _read_numbers(posterior, noise, "noise")
        if self.noise is not None:
            self.noise = self.noise.reshape(*self.shape, -1)
            entries = self.noise.shape[2]
            if entries not in (1, length):
                raise ValueError(f"{noise} has {entries} entries, A has {length} columns.")
        # Either mark will do: draws may have been stored without ω².
        self.identity = own_variance in posterior or own_mean in constants
        self.own_variance = _read_numbers(posterior, own_variance, "own variance")
        self.own_mean = np.asarray(constants.get(own_mean, 0.0), dtype=np.float64)

    @property
    def candidates(self) -> NDArray[np.float64]:
        """The candidate columns B."""
        return (self.target if self.pool is None else self.pool).values

    def chosen_columns(self, active: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return C, in the units of the data."""
        return (self._given if self.pool is None else self.pool).values[:, active]

    @property
    def centred_candidates(self) -> NDArray[np.float64]:
        """The candidate columns less their means."""
        source = self.target if self.pool is None else self.pool
        # The first row of a compressed matrix is the mean.
        return source.values[1:] if source.compressed else source.values - source.values.mean(0)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of chains and of draws in each."""
        return self.state.shape[:2]

    def each(self) -> Iterator[tuple[int, int, NDArray[np.int64], NDArray[np.float64]]]:
        """Chain, draw, chosen columns J and Y of each draw; Y is not to be written to.

        Draws come in chunks, so that a Y that lives in a file never is in memory as a whole.
        """
        chains, draws = self.shape
        size = max(1, _CHUNK_BYTES // max(1, int(np.prod(self.weights.shape[2:])) * 8))
        for chain in range(chains):
            for first in range(0, draws, size):
                part = self.weights.isel(chain=chain, draw=slice(first, first + size)).values
                for offset, weights in enumerate(part):
                    draw = first + offset
                    yield chain, draw, np.flatnonzero(self.state[chain, draw]), weights

    @cached_property
    def data(self) -> Regression:
        """The data without their rows, missing entries left out."""
        target = self.target
        observed = None if target.observed is None else target.observed.astype(np.float64)
        return reduce_regression(self.candidates, target.values, observed, target.number_of_rows)

    @cached_property
    def variation(self) -> NDArray[np.float64]:
        """Sum of squares of the observed entries of each column about their mean, (L,)."""
        values = self.target.values
        if self.target.compressed:
            # The first row is the mean.
            return np.sum(values[1:] ** 2, axis=0)
        if self.target.observed is not None:
            values = np.where(self.target.observed, values, np.nan)
        return np.nansum((values - np.nanmean(values, axis=0)) ** 2, axis=0)

    def squared_errors(self, active: NDArray[np.int64], W: NDArray) -> NDArray[np.float64]:
        """Sum of squares that C·W leaves of each column of the target; 0 of the chosen ones."""
        weights = np.zeros((self.basis.size, self.columns.size))
        weights[active] = W
        left = np.ones(self.columns.size)
        if self.pool is None:
            left[active] = 0.0
        return np.where(left, self.data.squared_errors(active, weights, left), 0.0)

    def weights_of(self, active: NDArray[np.int64], chosen: NDArray) -> NDArray[np.float64]:
        """W = Y[J, :], with W[:, J] the identity if the chosen columns are columns of the target.

        In models with the identity inside, entries Y[J, J] are prior draws without a meaning; in
        those of the paper this is the post-processing.
        """
        W = np.array(chosen, dtype=np.float64)
        if self.pool is None:
            W[:, active] = np.eye(active.size)
        return W

    def require_stored(self, purpose: str, weights: str, noise: str) -> None:
        """Raise ValueError if one of the variables, whose names these are, was not stored."""
        stored = {weights: self.weights, noise: self.noise}
        if self.identity:
            stored[OWN_VARIANCE] = self.own_variance
        for name, values in stored.items():
            if values is None:
                raise ValueError(f"{purpose} needs {name!r}, which is not in the posterior.")


def _read_numbers(posterior: xr.Dataset, name: str, argument: str) -> NDArray[np.float64] | None:
    if name not in posterior:
        return None
    return np.asarray(read_variable(posterior, name, argument), dtype=np.float64)


def _agree(labels: NDArray | None, drawn: NDArray, name: str) -> NDArray:
    """Return the labels of the data, or those of the draws if the data have none."""
    if labels is None:
        return drawn
    plain = drawn.dtype.kind in "iu" and np.array_equal(drawn, np.arange(drawn.size))
    differ = np.flatnonzero(labels.astype(str) != drawn.astype(str))
    if not plain and differ.size > 0:
        raise ValueError(
            f"The column labels of {name} and of idata differ, first {labels[differ[0]]!r} and "
            f"{drawn[differ[0]]!r}: idata is that of another matrix, or its columns were reordered."
        )
    return labels


def _check_observed(idata: Any, target: Matrix, prefix: str) -> None:
    """Raise ValueError if the model was given another matrix.

    If one of the two is compressed, they are compared by the inner products of their columns.
    """
    observed = read_group(idata, "observed_data").data_vars.values()
    matrices = [variable for variable in observed if variable.ndim == 2]
    if len(matrices) != 1:
        return
    modelled, given = np.asarray(matrices[0]), target.values
    rows = read_group(idata, "constant_data").get(prefix + ROWS)
    shape = (len(modelled) if rows is None else int(rows), modelled.shape[1])
    if shape != (target.number_of_rows, given.shape[1]):
        raise ValueError(
            f"A has shape {(target.number_of_rows, given.shape[1])}, the model was given data of "
            f"shape {shape}."
        )
    if target.compressed or rows is not None:
        products, expected = (values.T @ values for values in (given, modelled))
        norms = np.sqrt(np.diagonal(expected))
        same = bool((np.abs(products - expected) <= 1e-6 * np.outer(norms, norms)).all())
        how = "inner products of its columns differ"
    else:
        same = np.allclose(modelled, given, rtol=1e-6, atol=1e-9, equal_nan=True)
        how = f"they differ by up to {np.nanmax(np.abs(modelled - given)):.3g}"
    if not same:
        raise ValueError(
            f"A has the shape of the data that the model was given, but other entries: {how}. Pass "
            "what the model was made of, in the same order."
        )
