"""Matrices with a known answer."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymc_bid.datasets.preparation import repeat_columns


class Planted(NamedTuple):
    """A matrix whose interpolative decomposition is known."""

    A: pd.DataFrame
    columns: list[str]
    """Names of the planted columns."""
    W: pd.DataFrame
    """Weights of all columns on the planted ones, |w| ≤ 1."""
    noise_variance: float


def make_planted(
    rows: int = 90,
    columns: int = 15,
    rank: int = 6,
    noise: float = 0.1,
    duplicates: int = 0,
    seed: int | None = 0,
) -> Planted:
    """Make a matrix in which `rank` columns explain all the others.

    The planted columns are standard normal; each other column is a combination of them with weights
    uniform on [-1, 1], plus normal noise.

    Parameters
    ----------
    rows, columns, rank : int
    noise : float
        Standard deviation of the noise on the columns that are not planted.
    duplicates : int
        Exact copies added of every column, next to it; 1 gives every column twice. The answer is
        then one among several: any copy of a planted column does as well.
    seed : int, optional

    Examples
    --------
    >>> planted = make_planted(rows=30, columns=8, rank=3)
    >>> planted.A.shape, len(planted.columns)
    ((30, 8), 3)
    """
    if not 0 < rank <= columns:
        raise ValueError(f"rank must be between 1 and columns = {columns}, got {rank}.")
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(columns, rank, replace=False))
    weights: NDArray = rng.uniform(-1.0, 1.0, size=(rank, columns))
    weights[:, chosen] = np.eye(rank)
    basis = rng.normal(size=(rows, rank))
    values = basis @ weights + noise * rng.normal(size=(rows, columns))
    values[:, chosen] = basis
    names = [f"c{index:02d}" for index in range(columns)]
    planted = [names[index] for index in chosen]
    return Planted(
        A=repeat_columns(pd.DataFrame(values, columns=names), duplicates),
        columns=planted,
        W=repeat_columns(pd.DataFrame(weights, index=planted, columns=names), duplicates),
        noise_variance=noise**2,
    )
