"""From what was in the file to a matrix that the models can take."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymc_bid.command_line.problems import Problem
from pymc_bid.command_line.reading import text_columns
from pymc_bid.results.convergence import some


class Prepared(NamedTuple):
    """A matrix to be decomposed, and how to get back to the numbers in the file."""

    A: pd.DataFrame
    centre: NDArray[np.float64]
    """What was subtracted from each column."""
    scale: NDArray[np.float64]
    """By what it was divided after that."""


def name_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Use a first column of text, all different, as names of the rows."""
    if table.shape[1] < 2 or table.empty or pd.api.types.is_numeric_dtype(table.iloc[:, 0]):
        return table
    first = table.iloc[:, 0]
    if first.isna().any() or first.duplicated().any():
        return table
    return table.iloc[:, 1:].set_index(pd.Index(first.astype(str), name=first.name))


def check_numbers(table: pd.DataFrame, path: Path, drop: list[str]) -> pd.DataFrame:
    """Leave out columns by name and return a table of numbers, some of them missing.

    A Problem says what else is found.
    """
    table = table.rename(columns=str)
    unknown = [name for name in drop if name not in table.columns]
    if unknown:
        raise Problem(f"--drop: {path} has no column {', '.join(unknown)}.")
    table = table.drop(columns=drop)
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise Problem(f"{path}: two columns are called {repeated[0]}; give them different names.")
    # Columns without any entry have no type of their own.
    bare = table.columns[table.isna().all()]
    text = text_columns(table.drop(columns=bare))
    if text:
        raise Problem(_about_text(table, path, text))
    rows, columns = table.shape
    if rows < 2 or columns < 2:
        raise Problem(
            f"{path}: {rows} row{'s' * (rows != 1)} and {columns} column{'s' * (columns != 1)} of "
            "numbers; a decomposition needs two of each or more."
        )
    values = table.apply(pd.to_numeric).to_numpy(dtype=np.float64)
    if np.isnan(values).all():
        raise Problem(f"{path}: all entries are missing.")
    if len(bare):
        raise Problem(f"{path}: all entries of {_columns(bare)} are missing; --drop them.")
    if np.isinf(values).any():
        where = table.columns[np.isinf(values).any(axis=0)]
        raise Problem(f"{path}: infinite entries in {_columns(where)}; mend or --drop them.")
    return pd.DataFrame(values, index=table.index, columns=table.columns)


def standardise(table: pd.DataFrame, scale: str) -> Prepared:
    """Centre and scale each column, the matrix as a whole, or nothing."""
    values, columns = table.to_numpy(), table.shape[1]
    centre, spread = np.zeros(columns), np.ones(columns)
    if scale != "none":
        axis = 0 if scale == "columns" else None
        centre, spread = (np.full(columns, f(values, axis)) for f in (np.nanmean, np.nanstd))
    # A constant column has nothing to be divided by.
    spread = np.where(spread > 0, spread, 1.0)
    return Prepared((table - centre) / spread, centre, spread)


def _about_text(table: pd.DataFrame, path: Path, text: list[str]) -> str:
    column = table[text[0]]
    numbers = pd.to_numeric(column, errors="coerce")
    bad = (numbers.isna() & column.notna()).to_numpy()
    found = f", such as {str(column[bad].iloc[0])[:40]!r}" if bad.any() else ""
    names = " ".join(f'"{name}"' if " " in name else name for name in text[:5])
    return (
        f"{path}: text in {_columns(text)}{found}; only numbers can be used. Leave these "
        f"columns out by --drop {names}{' …' * (len(text) > 5)}"
    )


def _columns(names) -> str:
    return f"column{'s' * (len(names) != 1)} {some(names, 5)}"
