"""Tables in text: what separates the fields, whether the first line has names."""

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pymc_bid.command_line.main import Problem
from pymc_bid.command_line.terminal import plain

ENCODING = "utf-8-sig"
"""Spreadsheets begin a file with a mark that is no part of the first name."""


class Table(NamedTuple):
    """What was read, and what was guessed to read it."""

    values: pd.DataFrame
    notes: tuple[str, ...] = ()
    """Sentences about the guesses."""


def read_text(path: Path, header: bool | None) -> Table:
    """Read a table with or without a line of names; None finds out, and says so if it guessed."""
    with path.open(newline="", encoding=ENCODING) as stream:
        first = stream.readline()
    usual = "," if path.suffix.lower() == ".csv" else "\t"
    separator = max((usual, ",", ";", "\t", "|"), key=first.count)
    names, following = itertools.islice(itertools.chain(_lines(path, separator), [[], []]), 2)
    names = [plain(name).strip() for name in names]
    header, notes = (header, ()) if header is not None else _guess_header(path, names, following)
    if header:
        _check_names(path, names)
        # As pandas writes its row labels.
        unnamed = names[:1] == [""]
        names = [name or f"column {place}" for place, name in enumerate(names)]
    else:
        names = [f"column {place}" for place in range(len(names))]
    options: dict = {
        "sep": separator,
        "encoding": ENCODING,
        "skipinitialspace": True,
        "index_col": False,
        "header": 0 if header else None,
    }
    try:
        table = pd.read_csv(path, **options)
        # Bad columns may be numbers with decimal commas.
        if separator == ";" and text_columns(table):
            table = pd.read_csv(path, **options, decimal=",")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        _check_lines(path, separator)
        raise Problem(f"{path}: {error}") from None
    # Short lines are filled up silently.
    if table.shape[1] and table.iloc[:, -1].isna().any():
        _check_lines(path, separator)
    table.columns = pd.Index(names)
    if header and unnamed and table.shape[1] > 2 and table.iloc[:, 0].is_unique:
        if pd.api.types.is_numeric_dtype(table.iloc[:, 0]):
            notes += (f"The first column of {path.name} has no name and was taken for row names.",)
        table = table.set_index(names[0]).rename_axis(None)
    return Table(table, notes)


def text_columns(table: pd.DataFrame) -> list:
    """Return the names of columns that do not hold numbers."""
    return [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]


def _guess_header(
    path: Path, names: list[str], following: list[str]
) -> tuple[bool, tuple[str, ...]]:
    """Say whether the first line has names; numbers alone may be names (years) or data."""
    numbers = pd.to_numeric(pd.Series(names, dtype=object), errors="coerce")
    if not names or numbers.isna().any():
        return True, ()
    counts = _counts(names) and not _counts([field.strip() for field in following])
    taken, other, option = (
        ("names: whole numbers in order", "it is data", "--no-header")
        if counts
        else ("data", "these are names", "--header")
    )
    note = f"The first line of {path.name} holds numbers alone and was taken for {taken}"
    return counts, (f"{note}; if {other}, use {option}.",)


def _counts(fields: list[str]) -> bool:
    """Whether there are three whole numbers or more, each above the one before, or each below."""
    if len(fields) < 3 or not all(field.isdecimal() for field in fields):
        return False
    steps = [int(after) - int(before) for before, after in itertools.pairwise(fields)]
    return min(steps) > 0 or max(steps) < 0


def _check_names(path: Path, names: list[str]) -> None:
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            raise Problem(f"{path}: two columns are called {name}; give them different names.")
        seen.add(name)


def _check_lines(path: Path, separator: str) -> None:
    """Raise a Problem if a line has another number of fields than the first."""
    with path.open(newline="", encoding=ENCODING) as stream:
        lines = csv.reader(stream, delimiter=separator, skipinitialspace=True)
        expected = len(next(lines, []))
        for fields in lines:
            if fields and len(fields) != expected:
                raise Problem(
                    f"{path}: line {lines.line_num} has {len(fields)} fields, the first line has "
                    f"{expected}; every line must have as many."
                )


def _lines(path: Path, separator: str) -> Iterator[list[str]]:
    """Yield the fields of each line that has any, of which one may be several lines in quotes."""
    with path.open(newline="", encoding=ENCODING) as stream:
        lines = csv.reader(stream, delimiter=separator, skipinitialspace=True)
        yield from filter(None, lines)
