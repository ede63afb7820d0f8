"""The draws of a decomposition, checked against the data, with every mismatch named."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pymc_bid.inputs import OBSERVED, ROWS, Matrix, labels_or_numbers, read_matrix
from pymc_bid.regression import Regression, reduce_regression
from pymc_bid.results.posterior import read_group, read_posterior, read_state, read_variable

OWN_VARIANCE, OWN_MEAN = "omega2", "own_mean"
"""Variances (draws) and means (data) of the chosen columns, in models with the identity inside."""

# Draws of Y read at a time: enough to make reading from a file worthwhile, little to hold.
_CHUNK_BYTES = 2**25


@dataclass(frozen=True)
class Draws:
    """Draws of a decomposition, checked against the data."""

    state: NDArray[np.bool_]
    """State vectors, (chain, draw, basis)."""
    weights: xr.DataArray | None
    """Y, (chain, draw, basis, column), None if it was not stored."""
    noise: NDArray[np.float64] | None
    """σ², (chain, draw, 1), or (chain, draw, column) if columns have their own; None if it was not
    stored."""
    identity: bool
    """Whether W[:, J] = I holds inside the model: chosen columns have a density of their own."""
    own_variance: NDArray[np.float64] | None
    """ω² of that density, (chain, draw, basis), None if it was not stored."""
    own_mean: NDArray[np.float64]
    """Its mean, one number or (basis,)."""
    target: Matrix
    pool: Matrix | None
    """Candidate columns, None if they are those of the target."""
    basis: NDArray
    """Labels of the candidate columns."""
    columns: NDArray
    """Labels of the target's columns."""
    rows: NDArray

    @property
    def candidates(self) -> NDArray[np.float64]:
        """The candidate columns B."""
        return (self.target if self.pool is None else self.pool).values

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

    def squared_errors(self, active: NDArray[np.int64], W: NDArray) -> NDArray[np.float64]:
        """Sum of squares that C·W leaves of each column of the target."""
        weights = np.zeros((self.basis.size, self.columns.size))
        weights[active] = W
        return self.data.squared_errors(active, weights)

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


def read_draws(
    idata: Any,
    A: Any,
    pool: Any = None,
    state: str = "r",
    weights: str = "Y",
    noise: str = "sigma2",
) -> Draws:
    """Read the draws of a decomposition and check that they belong to the data."""
    # In a model with a name, what `gbt` made has the prefix that the state vector has.
    prefix = state[: state.rfind("::") + 2] if "::" in state else ""
    own_variance, own_mean = prefix + OWN_VARIANCE, prefix + OWN_MEAN
    constants = read_group(idata, "constant_data")
    missing = "mask" if prefix + OBSERVED in constants else None
    target = read_matrix(A, "A", missing)
    candidates = None if pool is None else read_matrix(pool, "pool", missing)
    posterior = read_posterior(idata)
    states, basis = read_state(idata, state)
    source, name = (target, "A") if candidates is None else (candidates, "pool")
    if source.values.shape[1] != basis.size:
        hint = "; pass the candidate columns by `pool=`" if candidates is None else ""
        raise ValueError(
            f"{name} has {source.values.shape[1]} columns, {state} has {basis.size}: idata is that "
            f"of another matrix{hint}."
        )
    if candidates is not None and candidates.values.shape[0] != target.values.shape[0]:
        raise ValueError(
            f"pool has {candidates.values.shape[0]} rows, A has {target.values.shape[0]}."
        )
    basis = _agree(source.columns, basis, name)
    stored = read_variable(posterior, weights, "weights", 2) if weights in posterior else None
    shape = (basis.size, target.values.shape[1])
    if stored is not None and stored.shape[2:] != shape:
        raise ValueError(
            f"{weights} is {stored.shape[2]} × {stored.shape[3]} in the posterior, but the data "
            f"need {shape[0]} × {shape[1]}: idata is that of another matrix."
        )
    _check_observed(idata, target, prefix)
    columns = target.columns
    if columns is None:
        columns = basis if candidates is None else np.arange(shape[1])
        if candidates is not None and stored is not None and stored.dims[-1] in stored.coords:
            columns = stored[stored.dims[-1]].values
    variances = _read_numbers(posterior, noise, "noise")
    if variances is not None:
        variances = variances.reshape(*states.shape[:2], -1)
        if variances.shape[2] not in (1, shape[1]):
            raise ValueError(
                f"{noise} has {variances.shape[2]} entries in the posterior, A {shape[1]} columns."
            )
    return Draws(
        state=states,
        weights=stored,
        noise=variances,
        # Either mark will do: draws may have been stored without ω².
        identity=own_variance in posterior or own_mean in constants,
        own_variance=_read_numbers(posterior, own_variance, "own variance"),
        own_mean=np.asarray(constants.get(own_mean, 0.0), dtype=np.float64),
        target=target,
        pool=candidates,
        basis=basis,
        columns=columns,
        rows=labels_or_numbers(target.rows, target.values.shape[0]),
    )


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
            "the matrix as it was modelled (standardised, in the same order)."
        )
