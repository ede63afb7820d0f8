"""Tables, arguments, starts and files: some that fit, and some that do not.

Examples are recipes that are read off when they fail, and are made from their seeds.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import xarray as xr
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**16)
MOST_COLUMNS = 6
POWERS = st.one_of(st.just(0), st.integers(-6, 6), st.integers(-160, 160))
SPOILT = ("nan", "scattered nan", "nan column", "nan row", "inf", "minus inf")
CHANGES = ("copy", "negated copy", "near copy", "constant", "zero", "sum", "index", "far column")
DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint8", "bool", "object", "longdouble")
EXTENSIONS = ("Float64", "Int64", "boolean", "float64[pyarrow]", "int32[pyarrow]", "bool[pyarrow]")
UNUSABLE = ("complex128", "str", "datetime64[ns]", "timedelta64[ns]", "category", "bytes")
ORDERS = ("C", "F", "strided", "reversed", "read only", "foreign bytes")
LABELS = ("none", "text", "dates", "levels", "numbers", "duplicates", "mixed", "nan", "empty text")
KINDS = ("array", "pandas", "polars", "xarray", "masked", "list")


class Table(NamedTuple):
    """A recipe of a table."""

    seed: int
    rows: int
    columns: int
    rank: int
    scale: int
    """Power of ten of all entries."""
    scales: tuple[int, ...]
    """Of single columns."""
    offset: int | None
    changes: tuple[str, ...]
    spoilt: tuple[str, ...]
    dtype: str
    order: str
    labels: str
    kind: str

    def values(self) -> np.ndarray:
        """Numbers, before they have a type."""
        rng = np.random.default_rng(self.seed)
        shape = (self.rows, self.columns)
        values = rng.normal(size=(self.rows, self.rank)) @ rng.normal(size=(self.rank, shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            values = values * 10.0**self.scale
            for column, power in zip(rng.permutation(self.columns), self.scales, strict=False):
                values[:, column] *= 10.0**power
            if self.offset is not None:
                values = values + 10.0**self.offset
            for change in self.changes:
                _change(values, change, rng)
        for what in self.spoilt:
            _spoil(values, what, rng)
        return values

    def build(self):
        """Return what a user would pass."""
        rng, values = np.random.default_rng(self.seed + 1), self.values()
        typed = self.kind == "pandas" and self.dtype in EXTENSIONS
        known = (*DTYPES, *UNUSABLE)
        # Polars has no numbers of more than double precision.
        too_long = self.kind == "polars" and self.dtype == "longdouble"
        dtype = self.dtype if self.dtype in known and not too_long else "float64"
        array = _typed(values, "float64" if typed else dtype, frame=self.kind == "pandas")
        if self.kind == "list":
            return array.tolist()
        if self.kind == "masked":
            return np.ma.masked_array(array, rng.random(array.shape) < 0.1)
        # pandas itself makes no categories of numbers in another machine's order.
        if not (dtype == "category" and self.order == "foreign bytes"):
            array = _ordered(array, self.order)
        names = make_labels(self.labels, self.columns)
        if self.kind == "pandas":
            frame = pd.DataFrame(array)
            if typed:
                frame = frame.map(_narrow(self.dtype)).astype(self.dtype)
            elif dtype == "category":
                frame = frame.astype("category")
            if names is not None:
                frame.columns = names
            return frame
        if self.kind == "polars":
            return pl.DataFrame(
                {
                    f"c{place}": pl.Series(column.tolist(), strict=False)
                    for place, column in enumerate(np.asarray(array).T)
                }
            )
        if self.kind == "xarray":
            coords = {} if names is None or self.labels == "levels" else {"sensor": list(names)}
            return xr.DataArray(np.asarray(array), dims=("time", "sensor"), coords=coords)
        return array


def make_labels(kind: str, number: int):
    """Return labels of so many columns, None for no labels."""
    text = [f"c{place}" for place in range(number)]
    return {
        "none": None,
        "text": pd.Index(text),
        "dates": pd.date_range("2020-01-31", periods=number, freq="ME"),
        "levels": pd.MultiIndex.from_product([["a"], range(number)]),
        "numbers": pd.Index(np.arange(number)[::-1] * 10),
        "duplicates": pd.Index(["twice"] * min(number, 2) + text[2:]),
        "mixed": pd.Index([0, "0", *text[2:]][:number], dtype=object),
        "nan": pd.Index([np.nan, *text[1:]][:number], dtype=object),
        "empty text": pd.Index(["", *text[1:]][:number]),
    }[kind]


def _change(values, change, rng) -> None:
    rows, columns = values.shape
    if columns < 2 or rows == 0:
        return
    first, second = rng.choice(columns, 2, replace=False)
    values[:, second] = {
        "copy": values[:, first],
        "negated copy": -values[:, first],
        "near copy": values[:, first] * (1 + 1e-9 * rng.normal(size=rows)),
        "constant": 3.25,
        "zero": 0.0,
        "sum": values.sum(axis=1),
        "index": np.arange(rows),
        "far column": values[:, second] + 1e7,
    }[change]


def _spoil(values, what, rng) -> None:
    if values.size == 0:
        return
    row, column = rng.integers(values.shape[0]), rng.integers(values.shape[1])
    place: tuple = (row, column)
    if what == "scattered nan":
        place = (rng.random(values.shape) < 0.2,)
    elif what in ("nan column", "nan row"):
        place = (slice(None), column) if what == "nan column" else (row,)
    values[place] = {"inf": np.inf, "minus inf": -np.inf}.get(what, np.nan)


def _typed(values, dtype: str, *, frame: bool):
    if dtype == "category":
        # A type of pandas alone.
        return values if frame else values.astype(str)
    if dtype in ("datetime64[ns]", "timedelta64[ns]"):
        return np.nan_to_num(values).clip(-1e6, 1e6).astype("int64").astype(dtype)
    if np.dtype(dtype).kind in "iub":
        # Beyond its range a conversion has no meaning.
        values = np.nan_to_num(values).clip(0, 100)
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def _narrow(dtype: str):
    """Return what brings a number into the range of a type, and nan to its missing entry."""
    if "loat" in dtype:
        return lambda number: number
    least, most = (0, 1) if "bool" in dtype else (-1000, 1000)
    return lambda number: pd.NA if np.isnan(number) else int(min(max(number, least), most))


def _ordered(array, order: str):
    if order == "F":
        return np.asfortranarray(array)
    if order == "strided":
        wide = np.empty((2 * array.shape[0], 3 * array.shape[1]), array.dtype)
        wide[::2, ::3] = array
        return wide[::2, ::3]
    if order == "reversed":
        return array[::-1, ::-1]
    if order == "foreign bytes" and array.dtype.kind in "fiu":
        return array.astype(array.dtype.newbyteorder())
    if order == "read only":
        array.setflags(write=False)
    return array


def _some(values, most: int):
    return st.lists(st.sampled_from(values), max_size=most).map(tuple)


def mostly(usual, others):
    """Draw what is usual, and one time in three something else."""
    return st.one_of(st.just(usual), st.just(usual), st.sampled_from(others))


@st.composite
def tables(draw) -> Table:
    """Draw a table, most of them with one or two oddities."""
    rows = draw(st.one_of(st.integers(2, 12), st.sampled_from((0, 1, 2, 40))))
    columns = draw(st.one_of(st.integers(2, MOST_COLUMNS), st.sampled_from((0, 2))))
    return Table(
        seed=draw(SEEDS),
        rows=rows,
        columns=columns,
        rank=draw(mostly(max(columns, 1), (1, 2))),
        scale=draw(POWERS),
        scales=draw(st.one_of(st.just(()), st.lists(POWERS, max_size=3).map(tuple))),
        offset=draw(st.one_of(st.none(), st.none(), st.integers(-3, 14))),
        changes=draw(_some(CHANGES, 2)),
        spoilt=draw(st.one_of(st.just(()), st.just(()), _some(SPOILT, 2))),
        dtype=draw(mostly("float64", (*DTYPES, *EXTENSIONS, *UNUSABLE))),
        order=draw(st.sampled_from(ORDERS)),
        labels=draw(mostly("none", LABELS)),
        kind=draw(st.sampled_from(KINDS)),
    )


VARIABLE = object()
"""Stands for a PyMC variable, of which there are none before there is a model."""
SHAPES = ((), (4,), (1,), (4, 4), (1, 4), (4, 1), (3,), (2, 2, 2), (0,))
ODD = (
    *(None, True, "word", "", b"bytes", 1j, np.nan, np.inf, -np.inf, -1, 0, 1, 2.5, [], {}, ()),
    *(np.datetime64("2020"), [1, "a"], [[1], [1, 2]], object, np.ma.masked, 10**400, "0.5"),
)
SIZES = st.sampled_from((0.3, 1.0, 2.0, 1e-8, 1e8, 1e-300, 1e300, 5e-324, 1.7e308))


@st.composite
def numbers(draw, low: float | None = 0.0):
    """Draw a number or an array, for an argument that is to be above `low`."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(ODD))
    size = draw(SIZES) * (1 if low == 0.0 else draw(st.sampled_from((-1.0, 1.0))))
    if draw(st.booleans()):
        return size
    array = np.full(draw(st.sampled_from(SHAPES)), size)
    if array.size and draw(st.integers(0, 4)) == 0:
        array.flat[-1] = draw(st.sampled_from((np.nan, np.inf, -1.0, 0.0)))
    return array


LISTS = st.one_of(
    st.lists(st.sampled_from(("a", "b", "c", "d")), max_size=3),
    st.sampled_from(
        (["e"], "a", 1, None, ["a", "a"], [["a"]], [np.nan], {"a"}, ("b",), [0], [None])
    ),
)
ONE_BOUND = st.sampled_from((None, -1.0, 0.0, 1.0, -1e-300, 1e300, -1e-8, 5.0, np.nan, np.inf))
BOUNDS = st.one_of(
    st.sampled_from(((-1.0, 1.0), (0.0, 1.0), (-1e-3, 1e-3), (0.0, None), None, (5.0, 5.1))),
    st.tuples(ONE_BOUND, ONE_BOUND),
    st.tuples(numbers(None), numbers(None)),
    st.sampled_from(ODD),
)
COMMON = {
    "k": st.one_of(st.integers(-1, 5), st.sampled_from((np.int64(2), 2.0, *ODD))),
    "bounds": BOUNDS,
    "alpha_sigma": numbers(),
    "beta_sigma": numbers(),
    "inclusion": st.one_of(st.floats(0, 1), numbers()),
    "include": LISTS,
    "exclude": LISTS,
    "missing": st.sampled_from((None, "zero", "mask", "masks", 0, True, ["mask"])),
    "noise": st.sampled_from(("column", "common", "columns", None, 1, ["common"])),
    "alpha_omega": numbers(),
    "beta_omega": numbers(),
    "own_mean": numbers(None),
}
WEIGHT_PRIOR = {"mu": numbers(None), "tau": numbers()}
HYPERPRIOR = {
    "mu_mu": numbers(None),
    "tau_mu": numbers(),
    "alpha_t": numbers(),
    "beta_t": numbers(),
}
FLAGS = st.sampled_from((False, True))
OWN = {
    "gbt": WEIGHT_PRIOR | {"identity": FLAGS},
    "gbtn": HYPERPRIOR | {"identity": FLAGS},
    "column_selection": WEIGHT_PRIOR
    | HYPERPRIOR
    | {"standardize": FLAGS, "hierarchical": FLAGS, "expected": numbers()},
}


@st.composite
def calls(draw) -> tuple[str, dict]:
    """Draw a constructor's name and up to four arguments."""
    name = draw(st.sampled_from(tuple(OWN)))
    known = COMMON | OWN[name]
    chosen = draw(st.lists(st.sampled_from(tuple(known)), max_size=4, unique=True))
    return name, {argument: draw(known[argument]) for argument in chosen}


VALUES = (0.0, 0.5, 1.0, -1.0, 2.0, 1e-300, 1e300, -1e-12, 1.0000001, np.nan, np.inf, -np.inf)
START_TYPES = ("float64", "int64", "bool", "float32", "object", "complex128", "str", "int8")


class Start(NamedTuple):
    """A value to be put into a point."""

    name: str
    shape: tuple[int, ...] | None
    """None for the one that fits."""
    values: tuple[float, ...]
    """Repeated until they fill it."""
    dtype: str
    order: str

    def build(self, fits: tuple[int, ...]):
        shape = fits if self.shape is None else self.shape
        values = np.resize(np.array(self.values), shape)
        with np.errstate(invalid="ignore", over="ignore"):
            values = values.astype(self.dtype)
        return _ordered(values, self.order) if values.ndim == 2 else values


@st.composite
def starts(draw, names=("r", "sigma2", "omega2", "mu_tau", "Y")) -> list[Start]:
    """Draw values for one or two variables."""
    shape = st.lists(st.integers(0, 9), max_size=4).map(tuple)
    start = st.builds(
        Start,
        name=st.sampled_from(names),
        shape=st.one_of(st.none(), st.none(), shape),
        values=st.one_of(
            st.lists(st.sampled_from((0.0, 1.0)), min_size=1, max_size=5),
            st.lists(st.sampled_from(VALUES), min_size=1, max_size=5),
            st.lists(st.floats(), min_size=1, max_size=5),
        ).map(tuple),
        dtype=mostly("float64", START_TYPES),
        order=st.sampled_from(ORDERS),
    )
    return draw(st.lists(start, min_size=1, max_size=2))
