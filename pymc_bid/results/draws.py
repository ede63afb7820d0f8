"""Reading draws out of what `pm.sample` returned, with every mismatch named."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from pymc_bid.inputs import OBSERVED, ROWS, Matrix, read_matrix
from pymc_bid.regression import Regression, reduce_regression

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


def interpolated_columns(draws: Draws, active: NDArray[np.int64]) -> NDArray[np.int64]:
    """Columns of the target that need weights: all with a pool, else those that are not chosen."""
    columns = np.arange(draws.columns.size)
    return columns if draws.pool is not None else np.setdiff1d(columns, active)


def reduced_data(draws: Draws) -> Regression:
    """Return the data without their rows, missing entries left out."""
    target = draws.target
    observed = None if target.observed is None else target.observed.astype(np.float64)
    return reduce_regression(draws.candidates, target.values, observed, target.number_of_rows)


def weights_of(draws: Draws, active: NDArray[np.int64], weights: NDArray) -> NDArray[np.float64]:
    """W = Y[J, :], with W[:, J] the identity if the chosen columns are columns of the target.

    In models with the identity inside, entries Y[J, J] are prior draws without a meaning; in those
    of the paper this is the post-processing.
    """
    chosen = np.array(weights[active], dtype=np.float64)
    if draws.pool is None:
        chosen[:, active] = np.eye(active.size)
    return chosen


def read_group(idata: Any, name: str) -> xr.Dataset | None:
    """Return a group of an InferenceData, DataTree or mapping, None if there is none."""
    try:
        group = idata[name]
    except (KeyError, TypeError, IndexError):
        return None
    return group.to_dataset() if hasattr(group, "to_dataset") else group


def read_posterior(idata: Any) -> xr.Dataset:
    """Return the posterior group, which must have draws."""
    posterior = read_group(idata, "posterior")
    if posterior is None:
        raise ValueError(
            f"idata ({type(idata).__name__}) has no posterior group; pass what pm.sample returned."
        )
    sizes = [posterior.sizes.get(dim, 0) for dim in ("chain", "draw")]
    if min(sizes) == 0:
        raise ValueError(f"The posterior has no draws: {sizes[0]} chains of {sizes[1]} draws.")
    return posterior


def read_error(idata: Any) -> NDArray[np.float64] | None:
    """Return the draws' mean squared errors (chain, draw) as the sampler reported them.

    None if it did not, or if it did for several decompositions, whose names it does not tell.
    """
    statistics = read_group(idata, "sample_stats")
    if statistics is None or "bid_mse" not in statistics or statistics["bid_mse"].ndim != 2:
        return None
    return np.asarray(statistics["bid_mse"].transpose("chain", "draw"), dtype=np.float64)


class Ladder(NamedTuple):
    """What the ladder of replicas did in each chain, after tuning."""

    tried: NDArray[np.int64]
    """Exchanges with the chain that were tried, (chain,); 0 with the paper's scheme."""
    accepted: NDArray[np.int64]
    """Those that were accepted, (chain,)."""
    round_trips: NDArray[np.int64]
    """Sets that came from the reference all the way down to the chain's temperature, (chain,)."""


def read_ladder(idata: Any) -> Ladder | None:
    """Return what the sampler reported of its ladder, None if it did not.

    Of several decompositions, whose names it does not tell, the least in each chain.
    """
    statistics = read_group(idata, "sample_stats")
    names = ("bid_exchanges_tried", "bid_exchanges_accepted", "bid_round_trips")
    if statistics is None or not all(name in statistics for name in names):
        return None
    counts = [statistics[name].transpose("chain", "draw", ...) for name in names]
    totals = [np.asarray(count).sum(axis=1) for count in counts]
    return Ladder(*(total.reshape(len(total), -1).min(axis=1) for total in totals))


def read_variable(
    posterior: xr.Dataset, name: str, argument: str, dimensions: int | None
) -> xr.DataArray:
    """Return a variable with its chain and draw first; `dimensions` None for any number.

    Raises
    ------
    ValueError
        If there is none of that name and number of dimensions.
    """
    if name not in posterior:
        raise ValueError(
            f"There is no variable {name!r} in the posterior; it has "
            f"{', '.join(map(str, posterior.data_vars))}. Is idata that of another model? A "
            f"variable of another name is given by `{argument}=`."
        )
    variable = posterior[name].transpose("chain", "draw", ...)
    if dimensions is not None and variable.ndim != dimensions + 2:
        raise ValueError(
            f"{name} has {variable.ndim - 2} dimensions in the posterior, {argument} needs "
            f"{dimensions}."
        )
    return variable


def read_state(idata: Any, name: str) -> tuple[NDArray[np.bool_], NDArray]:
    """Return the state vectors (chain, draw, basis) and the labels of the columns."""
    variable = read_variable(read_posterior(idata), name, "state", 1)
    values = np.asarray(variable)
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"{name} is not a state vector: it has values other than 0 and 1.")
    dim = variable.dims[-1]
    labels = variable[dim].values if dim in variable.coords else np.arange(values.shape[2])
    return values.astype(bool), labels


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
    missing = "mask" if constants is not None and prefix + OBSERVED in constants else None
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
    # Either mark will do: draws may have been stored without ω².
    has_mean = constants is not None and own_mean in constants
    return Draws(
        state=states,
        weights=stored,
        noise=_read_noise(posterior, noise, shape[1]),
        identity=own_variance in posterior or has_mean,
        own_variance=_optional(posterior, own_variance, "own variance", 1),
        own_mean=np.asarray(constants[own_mean] if has_mean else 0.0, dtype=np.float64),
        target=target,
        pool=candidates,
        basis=basis,
        columns=columns,
        rows=np.arange(target.values.shape[0]) if target.rows is None else target.rows,
    )


def _read_noise(posterior: xr.Dataset, name: str, columns: int) -> NDArray[np.float64] | None:
    if name not in posterior:
        return None
    of_columns = posterior[name].ndim > 2
    noise = _optional(posterior, name, "noise", 1 if of_columns else 0)
    noise = noise if of_columns else noise[..., None]
    if noise.shape[2] not in (1, columns):
        raise ValueError(
            f"{name} has {noise.shape[2]} entries in the posterior, A {columns} columns."
        )
    return noise


def _optional(posterior, name, argument, dimensions):
    if name not in posterior:
        return None
    return np.asarray(read_variable(posterior, name, argument, dimensions), dtype=np.float64)


def _agree(labels: NDArray | None, drawn: NDArray, name: str) -> NDArray:
    """Return the labels of the data, or those of the draws if the data have none."""
    if labels is None:
        return drawn
    plain = drawn.dtype.kind in "iu" and np.array_equal(drawn, np.arange(drawn.size))
    if not plain and not np.array_equal(labels.astype(str), drawn.astype(str)):
        first = int(np.flatnonzero(labels.astype(str) != drawn.astype(str))[0])
        raise ValueError(
            f"The column labels of {name} and of idata differ, first {labels[first]!r} and "
            f"{drawn[first]!r}: idata is that of another matrix, or its columns were reordered."
        )
    return labels


def _check_observed(idata: Any, target: Matrix, prefix: str) -> None:
    observed = read_group(idata, "observed_data")
    if observed is None:
        return
    matrices = [value for value in observed.data_vars.values() if value.ndim == 2]
    if len(matrices) != 1:
        return
    values = np.asarray(matrices[0])
    constants = read_group(idata, "constant_data")
    rows = None if constants is None else constants.get(prefix + ROWS)
    if target.compressed or rows is not None:
        _check_products(values, len(values) if rows is None else int(rows), target)
        return
    if values.shape != target.values.shape:
        raise ValueError(
            f"A has shape {target.values.shape}, the model was given data of shape {values.shape}."
        )
    if not np.allclose(values, target.values, rtol=1e-6, atol=1e-9, equal_nan=True):
        raise ValueError(
            "A has the shape of the data that the model was given, but other entries: they differ "
            f"by up to {np.nanmax(np.abs(values - target.values)):.3g}. Pass the matrix as it was "
            "modelled (standardised, in the same order)."
        )


def _check_products(observed: NDArray[np.float64], rows: int, target: Matrix) -> None:
    """Compare matrices of which one is compressed at least, by the inner products of columns."""
    shapes = (rows, observed.shape[1]), (target.number_of_rows, target.values.shape[1])
    if shapes[0] != shapes[1]:
        raise ValueError(f"A has shape {shapes[1]}, the model was given data of shape {shapes[0]}.")
    products, expected = (values.T @ values for values in (target.values, observed))
    norms = np.sqrt(np.diagonal(expected))
    if not (np.abs(products - expected) <= 1e-6 * np.outer(norms, norms)).all():
        raise ValueError(
            "A has the shape of the data that the model was given, but other entries: inner "
            "products of its columns differ. Pass the matrix as it was modelled (standardised, in "
            "the same order)."
        )
