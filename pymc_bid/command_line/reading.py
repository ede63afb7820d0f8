"""From a file to a matrix that the models take, every way that can go wrong said in one line."""

import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymc_bid.command_line.main import Problem
from pymc_bid.command_line.terminal import plain
from pymc_bid.command_line.text_files import Table, read_text, text_columns
from pymc_bid.compression import require_real_matrix
from pymc_bid.inputs import read_matrix
from pymc_bid.memory import free_memory
from pymc_bid.results.convergence import some
from pymc_bid.standardising import mean_and_spread

ENDINGS = ".csv, .tsv, .parquet, .npy, .zarr"
MOSTLY = 0.5
"""Share of numbers from which a column holds numbers, whatever else is in it."""
WORKING_COPIES = 4
"""How many times the size of the matrix has to fit into memory."""
REASONS: dict[type, str] = {
    PermissionError: "no permission to read it; change that (chmod +r) first.",
    MemoryError: "not enough memory to read it; keep fewer rows or columns.",
    UnicodeDecodeError: "not a text file in UTF-8; save it as UTF-8.",
}


class Prepared(NamedTuple):
    """A matrix to be decomposed, and how to get back to the numbers in the file."""

    A: pd.DataFrame
    centre: NDArray[np.float64]
    """What was subtracted from each column."""
    scale: NDArray[np.float64]
    """By what it was divided after that."""


def read_file(path: Path, header: bool | None = None) -> Table:
    """Return what is in a file with the names of its columns; a Problem says why it can't be.

    Whether a text file has a line of names may be said by `header`.
    """
    ending = path.suffix.lower()
    if ending not in TEXT and ending not in READERS:
        raise Problem(f"{path}: unknown ending {ending!r}; it must be one of {ENDINGS}.")
    if not path.exists():
        raise Problem(f"{path}: no such file.")
    try:
        if path.is_dir():
            if ending != ".zarr":
                raise Problem(f"{path}: a folder, not a file.")
        elif path.stat().st_size == 0:
            raise Problem(f"{path}: the file is empty.")
        if ending in READERS:
            if header is not None:
                raise Problem(f"{path}: --header and --no-header are for text files.")
            return Table(READERS[ending](path))
        # Numbers take about as many letters as bytes in memory.
        check_memory(path, path.stat().st_size)
        return read_text(path, header)
    except Problem:
        raise
    # Readers raise errors of their own kinds for damaged files.
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        reason = next(
            (text for kind, text in REASONS.items() if isinstance(error, kind)),
            f"can't be read as {ending[1:]}: {first}",
        )
        raise Problem(f"{path}: {reason}") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow.parquet
    except ImportError:
        raise Problem("Parquet files need pyarrow: python -m pip install pyarrow") from None
    described = pyarrow.parquet.ParquetFile(path).metadata
    check_memory(path, described.num_rows * described.num_columns * 8)
    return pd.read_parquet(path)


def _read_npy(path: Path) -> pd.DataFrame:
    try:
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error) and "object" not in str(error).lower():
            raise
        raise Problem(
            f"{path}: holds pickled Python objects, which are not read because they may run code; "
            "save an array of numbers by np.save(..., allow_pickle=False)."
        ) from None
    return _from_array(path, stored)


def _read_zarr(path: Path) -> pd.DataFrame:
    try:
        import zarr
    except ImportError:
        raise Problem('zarr files need zarr: python -m pip install "pymc-bid[dask]"') from None
    stored = zarr.open(str(path), mode="r")
    if not hasattr(stored, "shape"):
        matrices = [name for name, array in stored.arrays() if array.ndim == 2]
        if len(matrices) != 1:
            raise Problem(
                f"{path}: holds {len(matrices)} matrices; pass the folder of one of them"
                + (f": {', '.join(matrices[:5])}." if matrices else ".")
            )
        stored = stored[matrices[0]]
    return _from_array(path, stored)


def _from_array(path: Path, stored) -> pd.DataFrame:
    require_real_matrix(stored, "the array")
    check_memory(path, int(np.prod(stored.shape, dtype=float)) * 8)
    values = np.asarray(stored[:], dtype=np.float64)
    return pd.DataFrame(values, columns=[f"column {n}" for n in range(values.shape[1])])


TEXT = (".csv", ".tsv", ".tab")
READERS = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".npy": _read_npy,
    ".zarr": _read_zarr,
}


def check_memory(path: Path, size: int) -> None:
    """Raise a Problem if a matrix of `size` bytes does not fit into memory several times."""
    available = free_memory()
    if size * WORKING_COPIES > available:
        raise Problem(
            f"{path}: about {size / 1e9:.1f} GB, of which {WORKING_COPIES} copies are needed while "
            f"{available / 1e9:.1f} GB of memory are free; keep fewer rows (a random tenth of them "
            "often says which columns) or fewer columns."
        )


def name_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Use a first column of text, all different, as names of the rows."""
    if table.shape[1] < 2 or table.empty or pd.api.types.is_numeric_dtype(table.iloc[:, 0]):
        return table
    first = table.iloc[:, 0]
    if first.isna().any() or first.duplicated().any():
        return table
    # Numbers with a "-" among them for a missing one are no names.
    if pd.to_numeric(first, errors="coerce").notna().mean() > MOSTLY:
        return table
    return table.iloc[:, 1:].set_index(pd.Index(first.map(plain), name=first.name))


def pick_names(asked: list[str], known: pd.Index, option: str, path: Path) -> list[str]:
    """Return the names of columns that an option was given, each alone or several with commas."""
    names: list[str] = []
    for text in asked:
        # A name may have a comma of its own.
        names += [text] if text in known else [name.strip() for name in text.split(",")]
    if not all(names):
        raise Problem(f"{option}: a list without a name of a column in it.")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Problem(f"{option}: {path} has no column {', '.join(unknown)}.")
    return list(dict.fromkeys(names))


def check_numbers(table: pd.DataFrame, path: Path, drop: list[str]) -> pd.DataFrame:
    """Leave out columns by name and return a table of numbers, some of them missing.

    A Problem says what else is found.
    """
    table = table.rename(columns=plain)
    table = table.drop(columns=pick_names(drop, table.columns, "--drop", path))
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
    """Centre and scale each column, or nothing."""
    columns = table.shape[1]
    centre, spread = np.zeros(columns), np.ones(columns)
    if scale != "none":
        centre, spread = mean_and_spread(read_matrix(table, "A", "mask"))
        # A constant column has nothing to be divided by.
        spread = np.where(spread > 0, spread, 1.0)
    return Prepared((table - centre) / spread, centre, spread)


def _about_text(table: pd.DataFrame, path: Path, text: list[str]) -> str:
    column = table[text[0]]
    numbers = pd.to_numeric(column, errors="coerce")
    bad = (numbers.isna() & column.notna()).to_numpy()
    found = f", such as {str(column[bad].iloc[0])[:40]!r}" if bad.any() else ""
    drop = " ".join(f"--drop {shlex.quote(name)}" for name in text[:5])
    return (
        f"{path}: text in {_columns(text)}{found}; only numbers can be used. Mend that, or leave "
        f"columns out by {drop}{' …' * (len(text) > 5)}"
    )


def _columns(names) -> str:
    return f"column{'s' * (len(names) != 1)} {some(names, 5)}"
