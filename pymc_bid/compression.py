"""Tall matrices as their triangular factor: the same posterior, without the rows.

The models depend on a matrix only through inner products of its columns, which an orthogonal factor
leaves alone. With [1, A] = QR the matrix QᵀA has at most one row more than A has columns, and Qᵀ1
has a single entry that is not zero, √M: sums over the rows survive as well, so that the mean of a
column can be subtracted afterwards. R is made by orthogonal transformations of blocks of rows,
never from AᵀA, whose rounding errors would drown a fit that is nearly perfect.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import xarray as xr
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

_BLOCK_BYTES = 2**25


@dataclass(frozen=True, repr=False, eq=False)
class CompressedMatrix:
    """A matrix without its rows, made by `pymc_bid.compress`; `gbt` and `gbtn` take it as A.

    Attributes
    ----------
    factor : array (min(M, N + 1), N)
        QᵀA for an orthogonal Q with Qᵀ1 = (√M, 0, …, 0): its inner products are those of A.
    number_of_rows : int
        Rows M of the matrix.
    columns : array (N,) or None
        Labels of its columns, if it had any.

    Examples
    --------
    >>> bid.compress(A).shape
    (30, 6)
    """

    factor: NDArray[np.float64]
    number_of_rows: int
    columns: NDArray | None = None

    def __post_init__(self):
        self.factor.setflags(write=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix that was compressed."""
        return self.number_of_rows, self.factor.shape[1]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of each column."""
        return self.factor[0] / np.sqrt(self.number_of_rows)

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance of each column around its mean."""
        return np.einsum("ij,ij->j", self.factor[1:], self.factor[1:]) / self.number_of_rows

    def standardise(self) -> "CompressedMatrix":
        """Return the matrix with mean 0 and variance 1 in each column; constant ones become 0."""
        factor = np.vstack([np.zeros_like(self.factor[:1]), self.factor[1:]])
        # What is left of a constant column are rounding errors, not to be blown up.
        rounding = np.finfo(np.float64).eps * np.sqrt(self.number_of_rows)
        varies = np.sqrt(self.variance) > rounding * np.abs(self.mean)
        scale = np.sqrt(self.variance, where=varies, out=np.ones(self.shape[1]))
        return replace(self, factor=np.where(varies, factor / scale, 0.0))

    def __repr__(self):
        rows, columns = self.shape
        return f"CompressedMatrix({rows} × {columns}, kept as {len(self.factor)} × {columns})"


def compress(A: Any) -> CompressedMatrix:
    """Reduce a tall matrix to its triangular factor, for models with exactly the same posterior.

    `gbt`, `gbtn` and `decompose` take the result in place of A. One pass over the rows, in blocks;
    memory holds a few blocks and N² numbers.

    Parameters
    ----------
    A : array, memory map, scipy.sparse, pandas.DataFrame, xarray.DataArray or dask array
        Or anything else with a shape whose rows can be sliced, such as an array of zarr or HDF5. A
        sparse matrix is never dense but for one block of rows. A dask array is worked on by
        `dask.array.linalg.tsqr` and the scheduler in charge, such as a cluster's, chunk by chunk:
        chunks of rows should be as tall as memory allows.

    Examples
    --------
    >>> import numpy as np, pymc_bid as bid
    >>> bid.compress(np.random.default_rng(0).normal(size=(100_000, 5)))
    CompressedMatrix(100000 × 5, kept as 6 × 5)
    """
    if isinstance(A, CompressedMatrix):
        raise TypeError("A is compressed already.")
    _, columns = labels_of(A)
    require_unique(columns, "A")
    values = numbers_of_table(A, "A")
    if isinstance(values, xr.DataArray):
        values = values.data
    if not hasattr(values, "shape"):
        values = np.asarray(values)
    is_dask = hasattr(values, "__dask_graph__")
    if is_dask and np.isnan(values.shape).any():
        values = values.compute_chunk_sizes()
    require_real_matrix(values, "A", columns)
    if is_dask:
        factor = _factor_of_dask(values)
    else:
        factor = np.empty((0, values.shape[1] + 1))
        for block in _blocks(values):
            factor = np.linalg.qr(np.vstack([factor, block]), mode="r")
    # Without the column of ones, and with signs that make the diagonal of R nonnegative.
    signs = np.where(np.diagonal(factor) < 0, -1.0, 1.0)
    factor = np.ascontiguousarray(signs[:, None] * factor[:, 1:])
    with np.errstate(over="ignore", invalid="ignore"):
        usable = np.isfinite(np.vdot(factor, factor))
    if not usable:
        raise ValueError(
            "A has entries that are nan or infinite, or so large that their squares overflow. Fill "
            "or drop them, or rescale A, first."
        )
    return CompressedMatrix(factor, int(values.shape[0]), columns)


def require_real_matrix(values: Any, name: str, columns: NDArray | None = None) -> None:
    """Raise an error unless this is a matrix of real numbers, read or not.

    It names the first column with something else by its label, or its position.
    """
    if len(values.shape) != 2:
        raise ValueError(f"{name} must be a matrix, but has {len(values.shape)} dimensions.")
    if 0 in values.shape:
        raise ValueError(f"{name} is empty, its shape is {values.shape}.")
    if np.dtype(values.dtype).kind not in "biuf":
        found = f"its type is {values.dtype}"
        for position, row in np.argwhere(_are_no_numbers(values).T)[:1]:
            label = position if columns is None else columns[position]
            value = values[row, position]
            found = f"column {label} has {str(value)!r} ({type(value).__name__}) in row {row}"
        raise TypeError(f"{name} must hold real numbers, but {found}.")


def _are_no_numbers(values: Any) -> NDArray[np.bool_]:
    """Whether entries are neither real numbers nor missing, of an array in memory."""
    if not isinstance(values, np.ndarray):
        return np.zeros((0, 0), dtype=np.bool_)
    entries = values.astype(object)
    return ~np.vectorize(_is_number, otypes=[bool])(entries) & ~pd.isna(entries)


def _is_number(entry: Any) -> bool:
    # One complex column of a table makes all of them complex.
    is_real = isinstance(entry, complex) and entry.imag == 0.0
    return is_real or isinstance(entry, Real | np.bool_)


def numbers_of_table(data: Any, name: str) -> Any:
    """Return a table of pandas or polars as an array of doubles, and anything else as it is.

    Missing numbers become nan. A TypeError names the first column that does not hold numbers.
    """
    if not isinstance(data, pd.DataFrame) and not is_polars(data):
        return data
    for label, kind in zip(data.columns, data.dtypes, strict=True):
        if not _holds_numbers(kind):
            raise TypeError(
                f"{name} must hold real numbers, but its column {label} is of type {kind}; drop or "
                "convert it."
            )
    if isinstance(data, pd.DataFrame):
        return data.to_numpy(dtype=np.float64, na_value=np.nan)
    # Of no columns there is nothing to put side by side.
    values = [column.cast(float).to_numpy() for column in data.get_columns()]
    return np.column_stack(values) if values else np.empty(data.shape)


def is_polars(data: Any) -> bool:
    """Whether this is a table of polars, which need not be installed."""
    return hasattr(data, "get_columns") and type(data).__module__.startswith("polars")


def _holds_numbers(kind: Any) -> bool:
    """Whether a type of pandas or polars is one of real numbers, or of true and false."""
    if hasattr(kind, "is_numeric"):
        return kind.is_numeric() or str(kind) == "Boolean"
    return is_bool_dtype(kind) or (is_numeric_dtype(kind) and getattr(kind, "kind", "f") != "c")


def require_unique(labels: NDArray | None, name: str) -> None:
    """Raise an error if columns have the same label, by which they could not be told apart."""
    if labels is None:
        return
    index = pd.Index(labels.astype(str))
    if index.has_duplicates:
        twice = list(dict.fromkeys(index[index.duplicated()]))
        raise ValueError(
            f"{name} has several columns that are called {', '.join(twice[:6])}; rename them, so "
            "that each has a name of its own."
        )


def labels_of(data: Any) -> list[NDArray | None]:
    """Return the labels of rows and columns, None where there are none.

    Those of several levels become one string each, as do dates that are labels of columns: not
    every format that results are kept in would return them as they were.
    """
    if is_polars(data):
        return [None, np.array(data.columns, dtype=object)]
    indices: list[pd.Index | None] = [None, None]
    if isinstance(data, pd.DataFrame):
        indices = [data.index, data.columns]
    elif isinstance(data, xr.DataArray) and data.ndim == 2:
        indices = [data.indexes.get(dim) for dim in data.dims]
    for axis, index in enumerate(indices):
        if isinstance(index, pd.MultiIndex):
            indices[axis] = index.map(lambda label: "/".join(map(_as_text, label)))
        elif axis == 1 and isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
            indices[axis] = pd.Index([_as_text(label) for label in index], dtype=object)
    return [None if index is None else np.asarray(index) for index in indices]


def _as_text(label: Any) -> str:
    """Return a label as text, a day without its time."""
    return str(label).removesuffix(" 00:00:00")


def _blocks(values: Any) -> Iterator[NDArray[np.float64]]:
    """Return [1, A] in blocks of rows, tall enough for the factor not to be most of the work."""
    columns = values.shape[1]
    height = max(_BLOCK_BYTES // (8 * (columns + 1)), 2 * (columns + 1))
    sparse = scipy.sparse.issparse(values)
    if sparse:
        # Rows of zeros are taken as one: n rows (1, 0, …, 0) have the inner products of (√n, 0, …).
        values = values.tocsr()
        filled = np.flatnonzero(np.diff(values.indptr))
        if filled.size < values.shape[0]:
            yield np.sqrt(values.shape[0] - filled.size) * np.eye(1, columns + 1)
        values = values[filled]
    for first in range(0, values.shape[0], height):
        part = values[first : first + height]
        part = np.asarray(part.toarray() if sparse else part, dtype=np.float64)
        yield np.hstack([np.ones((len(part), 1)), part])


def _factor_of_dask(values: Any) -> NDArray[np.float64]:
    """Return R of [1, A] = QR for a dask array, by its own tall-and-skinny QR."""
    import dask.array

    values = values.astype(np.float64).rechunk({1: -1})
    ones = dask.array.ones((values.shape[0], 1), chunks=(values.chunks[0], 1))
    augmented = dask.array.concatenate([ones, values], axis=1).rechunk({1: -1})
    _, factor = dask.array.linalg.tsqr(augmented)
    return np.asarray(factor.compute())
