"""The data as the samplers see them: cross products, and an orthogonal reduction of the rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.residual import errors_from_products, squared_errors

LARGEST_OFFSET = 3e5
"""Of a column, in standard deviations. Beyond it inner products lose the digits in which its values
differ: 60×8, three columns planted, all lifted by the same number. Up to 3e5 standard deviations
the paper's model finds the noise variance and the columns that it finds at 3e4; at 1e6 it holds
seven columns instead of eight, and at 1e8 any number."""


class Products(NamedTuple):
    """What the kernels know of a target A regressed on the columns of a pool B.

    Each target l has a row weight for each of its entries: 1, or 0 for an entry that is missing,
    or a known precision. Targets with the same row weights D share a *pattern*, and with it BᵀDB.
    """

    gram: NDArray[np.float64]
    """Mean of BᵀDB over the targets, (N, N): tells which columns are alike."""
    grams: NDArray[np.float64]
    """BᵀDB of each pattern, (P, N, N)."""
    pattern: NDArray[np.int64]
    """The pattern of each target, (L,)."""
    cross: NDArray[np.float64]
    """b_k·D a_l, (N, L)."""
    squares: NDArray[np.float64]
    """a_l·D a_l, (L,)."""
    rows: NDArray[np.float64]
    """Number of entries of each target that are not missing, (L,)."""


class Block(NamedTuple):
    """The data of the targets of one pattern, their rows reduced by an orthogonal factor.

    Q leaves every product and every residual sum of squares alone, so that tall data are kept as
    the triangular factor R of D^½ [B, A] = QR.
    """

    basis: NDArray[np.float64]
    """Pool (N columns), at most N + L rows."""
    target: NDArray[np.float64]
    """Targets of this pattern, reduced by the same factor."""
    columns: NDArray[np.int64]
    """Which targets these are."""


class Regression(NamedTuple):
    """A target A regressed on the columns of a pool B, without the rows of either."""

    products: Products
    blocks: tuple[Block, ...]
    """One for each pattern."""
    shared: bool
    """Whether the pool is the target."""

    @property
    def shape(self) -> tuple[int, int]:
        """Columns of the pool and of the target, the shape of the weights."""
        return self.products.cross.shape

    def squared_errors(
        self,
        active: NDArray[np.int64],
        weights: NDArray[np.float64],
        interpolated: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Sum of the squares of the residual of each target, (L,), for columns J and Y, (N, L).

        Zeros in `interpolated`, (L,), are targets whose errors nobody asks for; those may be
        anything.
        """
        if interpolated is None:
            interpolated = np.ones(weights.shape[1])
        errors, lost = errors_from_products(active, weights, self.products, interpolated)
        if lost:
            # The residuals themselves, which are right to the last digits.
            for block in self.blocks:
                own = np.ascontiguousarray(weights[:, block.columns])
                errors[block.columns] = squared_errors(active, own, block.basis, block.target)
        return errors


def find_far_columns(values: NDArray[np.float64], compressed: bool = False) -> NDArray[np.int64]:
    """Return the columns that are not constant and lie further from 0 than `LARGEST_OFFSET`."""
    # In units in which no square overflows.
    with np.errstate(invalid="ignore"):
        values = values / np.abs(values).max(axis=0)
        # The first row of a compressed matrix is √M times the mean, and the others have none.
        mean = values[0] / np.sqrt(len(values)) if compressed else values.mean(axis=0)
        # Of a single row that was compressed nothing is left but its mean.
        deviations = values[1:] if compressed else values - mean
        spread = np.sqrt((deviations**2).sum(axis=0) / len(values))
        # What is left of a constant column, whose factor was computed.
        rounding = np.finfo(np.float64).eps * (16 * np.sqrt(len(values)) if compressed else 1)
    return np.flatnonzero(
        (spread > rounding * np.abs(mean)) & (spread * LARGEST_OFFSET < np.abs(mean))
    )


def reduce_regression(
    pool: NDArray[np.float64],
    target: NDArray[np.float64],
    row_weights: NDArray[np.float64] | None = None,
    number_of_rows: int | None = None,
) -> Regression:
    """Reduce a pool (M, N) and a target (M, L) to what the samplers need.

    Row weights are known precisions of the entries of the target, (M, L), 0 where one is missing;
    all 1 if not given. A compressed target had `number_of_rows`, by default those that it has.
    ValueError if there are nan or infinite entries, or ones so large that their squares overflow,
    or columns that are so far from 0 that their products say nothing of how they differ.
    """
    for name, values in (("pool", pool), ("target", target)):
        if not np.isfinite(values).all():
            raise ValueError(
                f"The {name} has entries that are nan or infinite. Fill or drop them first."
            )
        far = find_far_columns(values, number_of_rows not in (None, len(values)))
        if far.size > 0:
            raise ValueError(
                f"Column {far[0]} of the {name} lies further from 0 than {LARGEST_OFFSET:g} of its "
                "standard deviations; its products lose the digits in which its entries differ. "
                "Subtract the means of the columns first."
            )
    shared = pool is target or np.array_equal(pool, target)
    once = shared and row_weights is None
    number_of_rows = len(target) if number_of_rows is None else number_of_rows
    if row_weights is None:
        distinct, pattern = np.ones((len(target), 1)), np.zeros(target.shape[1], dtype=np.int64)
        rows = np.full(target.shape[1], float(number_of_rows))
    else:
        distinct, pattern = np.unique(row_weights, axis=1, return_inverse=True)
        pattern = np.ravel(pattern).astype(np.int64)
        rows = (row_weights > 0).sum(axis=0).astype(np.float64)
        if number_of_rows != len(target):
            if not np.all(row_weights == row_weights[:1]):
                raise ValueError(
                    "The target is compressed, and its entries differ in precision or are missing; "
                    "one or the other."
                )
            rows[:] = number_of_rows
    blocks = []
    for index, weight in enumerate(distinct.T):
        columns, kept = np.flatnonzero(pattern == index), weight > 0
        stacked = np.sqrt(weight[kept])[:, None] * pool[kept]
        if not once:
            # Side by side, so that one orthogonal factor reduces both.
            own = np.sqrt(weight[kept])[:, None] * target[np.ix_(kept, columns)]
            stacked = np.hstack([stacked, own])
        if stacked.shape[0] > stacked.shape[1]:
            stacked = np.linalg.qr(stacked, mode="r")
        basis = np.ascontiguousarray(stacked[:, : pool.shape[1]])
        reduced = basis if once else np.ascontiguousarray(stacked[:, pool.shape[1] :])
        blocks.append(Block(basis, reduced, columns))
    return Regression(_products(blocks, pattern, rows), tuple(blocks), shared)


def _products(blocks: list[Block], pattern, rows) -> Products:
    size, targets = blocks[0].basis.shape[1], pattern.size
    grams = np.empty((len(blocks), size, size))
    cross = np.empty((size, targets))
    squares = np.empty(targets)
    with np.errstate(over="ignore", invalid="ignore"):
        for gram, block in zip(grams, blocks, strict=True):
            gram[:] = block.basis.T @ block.basis
            cross[:, block.columns] = block.basis.T @ block.target
            squares[block.columns] = np.einsum("ij,ij->j", block.target, block.target)
        share = np.bincount(pattern, minlength=len(blocks)) / targets
        gram = grams[0] if len(blocks) == 1 else np.tensordot(share, grams, 1)
    if not all(np.isfinite(values).all() for values in (grams, cross, squares.sum())):
        raise ValueError(
            "The squares of the data overflow. Rescale the data, for example to unit variance."
        )
    return Products(gram, grams, pattern, cross, squares, rows)
