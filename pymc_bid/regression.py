"""The data as the samplers see them: cross products, and an orthogonal reduction of the rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Regression(NamedTuple):
    """A target A regressed on the columns of a pool B, without the rows of either.

    Every conditional of the model depends on the data only through BᵀB, BᵀA, the sum of squares
    of the residual and the number of entries. An orthogonal factor Q leaves all of them alone, so
    tall data are kept as the triangular factor R of [B, A] = QR.
    """

    basis: NDArray[np.float64]
    """Pool B (N columns), its rows reduced to at most N + L."""
    target: NDArray[np.float64]
    """Target A (L columns), reduced by the same orthogonal factor."""
    gram: NDArray[np.float64]
    """BᵀB, (N, N)."""
    cross: NDArray[np.float64]
    """BᵀA, (N, L)."""
    squares: NDArray[np.float64]
    """Sum of the squares of each column of the target, (L,)."""
    entries: int
    """Number of entries M·L of the target before the reduction."""


def reduce_regression(
    pool: NDArray[np.float64], target: NDArray[np.float64], rows: int | None = None
) -> Regression:
    """Reduce a pool (M, N) and a target (M, L) to what the samplers need.

    Both may be compressed already; `rows` is then the number that they had.

    Raises
    ------
    ValueError
        If the data have nan or infinite entries, or entries so large that their squares overflow.
    """
    for name, values in (("pool", pool), ("target", target)):
        if not np.isfinite(values).all():
            raise ValueError(
                f"The {name} has entries that are nan or infinite. Fill or drop them first."
            )
    entries = (len(target) if rows is None else rows) * target.shape[1]
    shared = pool is target or np.array_equal(pool, target)
    if shared:
        if pool.shape[0] > pool.shape[1]:
            pool = np.linalg.qr(pool, mode="r")
        basis = reduced_target = np.ascontiguousarray(pool)
    else:
        number = pool.shape[1]
        stacked = np.hstack([pool, target])
        if stacked.shape[0] > stacked.shape[1]:
            stacked = np.linalg.qr(stacked, mode="r")
        basis = np.ascontiguousarray(stacked[:, :number])
        reduced_target = np.ascontiguousarray(stacked[:, number:])
    with np.errstate(over="ignore", invalid="ignore"):
        gram = basis.T @ basis
        cross = basis.T @ reduced_target
        squares = np.einsum("ij,ij->j", reduced_target, reduced_target)
    if not all(np.isfinite(products).all() for products in (gram, cross, squares.sum())):
        raise ValueError(
            "The squares of the data overflow. Rescale the data, for example to unit variance."
        )
    return Regression(
        basis=basis,
        target=reduced_target,
        gram=np.ascontiguousarray(gram),
        cross=np.ascontiguousarray(cross),
        squares=squares,
        entries=entries,
    )
