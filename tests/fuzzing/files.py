"""Command lines, and small tables in text to go with them."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from tests.fuzzing.strategies import SEEDS

FIELDS = st.one_of(
    st.floats(-1e3, 1e3).map("{:.4g}".format),
    st.floats(-1e3, 1e3).map("{:.4g}".format),
    st.sampled_from(("", "NA", "nan", "-", "inf", "1e400", "1,5", "low", '"', "'", " 7 ", "0x1f")),
    st.sampled_from(("2020-01-01", "True", "1_000", "½", "\x00", "\t", "$a$", "[b]", "<i>", "#")),
)
NAMES = st.one_of(
    st.sampled_from(("a", "b", "c", "d", "e")),
    st.sampled_from(
        ("", "a", "1990", "1991", " a ", "[mg/l]", "[/min]", r"$\bad$", "<b>", "\x1b[31m")
    ),
    st.text(max_size=4),
)
OPTIONS = {
    "--k": ("1", "2", "0", "-1", "9", "two", "1.5", "²", "", "99999999999999999999"),
    "--expected": ("1", "0", "-1", "nan", "inf", "100", "x"),
    "--include": ("a", "b", "a,b", "z", "", ","),
    "--exclude": ("a", "c", "b,c", "z", ""),
    "--drop": ("a", "d", "a,b,c,d,e", "z", ""),
    "--noise": ("column", "common", "none"),
    "--model": ("gbt", "gbtn", "other"),
    "--scale": ("columns", "none", "rows"),
    "--seed": ("1", "-1", "0", "1e3", "", "4294967296"),
    "--draws": ("5", "0", "-1", "1"),
    "--tune": ("5", "0", "x"),
    "--chains": ("1", "2", "0"),
    "--cores": ("1", "0", "-2"),
    "--out": ("out.nc", "data.csv", ".", "no/where.nc", "", "\x00", "x" * 300),
    "--report": ("out.html", "data.csv", "out.nc", "/"),
    "--score": ("lists.txt", "none.txt", ".", ""),
    "--checkpoint": ("run", "data.csv", "."),
}
FLAGS = ("--json", "--quiet", "--paper", "--header", "--no-header", "--resume", "--help", "--wrong")


class Command(NamedTuple):
    """What is typed after `pymc-bid fit`, and what is in the files."""

    name: str
    content: bytes
    lists: str
    arguments: tuple[str, ...]


@st.composite
def contents(draw) -> bytes:
    """Draw a table in text, or any bytes."""
    kind = draw(st.sampled_from(("usual", "usual", "usual", "text", "text", "bytes")))
    if kind == "bytes":
        return draw(st.binary(max_size=60))
    if kind == "usual":
        rows, columns = draw(st.integers(3, 6)), draw(st.integers(2, 5))
        values = np.random.default_rng(draw(SEEDS)).normal(size=(rows, columns))
        return pd.DataFrame(values, columns=list("abcde")[:columns]).to_csv(index=False).encode()
    separator = draw(st.sampled_from((",", ",", ";", "\t", "|", " ")))
    columns = draw(st.integers(1, 5))
    usual = draw(st.booleans())
    names = ["a", "b", "c", "d", "e"][:columns]
    lines = [separator.join(names if usual else [draw(NAMES) for _ in names])]
    numbers = st.floats(-1e3, 1e3).map("{:.4g}".format) if draw(st.booleans()) else FIELDS
    for _ in range(draw(st.integers(0, 7))):
        length = columns + (draw(st.sampled_from((0, 0, 0, 0, 0, -1, 1))) if not usual else 0)
        lines.append(separator.join(draw(numbers) for _ in range(length)))
    end = draw(st.sampled_from(("\n", "\n", "\r\n", "\r")))
    encoding = draw(st.sampled_from(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")))
    return (end.join(lines) + end).encode(encoding, errors="replace")


@st.composite
def commands(draw) -> Command:
    """Draw a command with its files."""
    arguments: list[str] = []
    for option in draw(st.lists(st.sampled_from(tuple(OPTIONS)), max_size=3)):
        arguments += [option, draw(st.sampled_from(OPTIONS[option]))]
    arguments += draw(st.one_of(st.just([]), st.lists(st.sampled_from(FLAGS), max_size=2)))
    ends = st.sampled_from((".csv", ".csv", ".csv", ".CSV", ".tsv", ".npy", ".parquet", ".txt", ""))
    return Command(
        name="data" + draw(ends),
        content=draw(contents()),
        lists=draw(
            st.sampled_from(("a\nb\n", "ours: a, b", "", "z", "# a", "a:b:c", ": a", "a,,b"))
        ),
        arguments=tuple(arguments),
    )
