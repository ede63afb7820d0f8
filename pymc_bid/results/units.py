"""The units of the data, where a model was given standardised columns, and the columns it has."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pymc_bid.compression import (
    CompressedMatrix,
    is_polars,
    labels_of,
    numbers_of_table,
    require_unique,
)
from pymc_bid.inputs import Matrix, labels_or_numbers, read_matrix

CENTER, SCALE = "center", "scale"
"""Names of the data that say what was subtracted from each column and what it was divided by."""
CONSTANT = "constant_value"
"""Name of the data that say what is in the columns that the model left out."""


class Units(NamedTuple):
    """Each column of the data is center + scale · what the model was given of it."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def read(cls, constants: Any, prefix: str, size: int) -> "Units":
        """Read them from the data of a model; 0 and 1 where it took the columns as they are."""
        found = (constants.get(prefix + name) for name in (CENTER, SCALE))
        numbers = (
            np.full(size, default) if values is None else np.asarray(values, dtype=np.float64)
            for values, default in zip(found, (0.0, 1.0), strict=True)
        )
        return cls(*numbers)

    def standardise(self, matrix: Matrix) -> Matrix:
        """Return what the model was given."""
        if not matrix.compressed:
            return matrix._replace(values=self.standardise_values(matrix.values))
        # What compression makes of a column of ones has one entry that is not zero.
        ones = np.eye(len(matrix.values), 1) * np.sqrt(matrix.number_of_rows)
        return matrix._replace(values=(matrix.values - ones * self.center) / self.scale)

    def standardise_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows, (…, column), as the model would be given them."""
        return (values - self.center) / self.scale

    def restore(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values, (…, column), in the units of the data."""
        return self.center + self.scale * values


def select_columns(data: Any, wanted: NDArray, name: str) -> tuple[Any, NDArray[np.int64], int]:
    """Return the columns with these labels, where they stand in the data, and how many there are.

    Labels are positions where the data have none. Errors call the data by `name`, and name labels
    that are there twice, or not at all.
    """
    labels = column_labels(data)
    if labels is None:
        labels = np.arange(np.shape(data)[1])
    require_unique(labels, name)
    place_of = {str(label): place for place, label in enumerate(labels)}
    missing = [str(label) for label in wanted if str(label) not in place_of]
    if missing:
        raise ValueError(
            f"{name} lacks columns that the model has: {', '.join(missing[:10])}. Pass the table "
            "that the model was made of."
        )
    places = np.array([place_of[str(label)] for label in wanted], dtype=np.int64)
    if isinstance(data, pd.DataFrame):
        data = data.iloc[:, places]
    elif is_polars(data):
        data = data[:, places.tolist()]
    elif isinstance(data, CompressedMatrix):
        data = replace(data, factor=data.factor[:, places], columns=labels[places])
    else:
        data = (data if hasattr(data, "shape") else np.asanyarray(data))[:, places]
    return data, places, len(labels)


def read_chosen_entries(
    new_rows: Any, chosen: list, places: NDArray[np.int64], width: int, filling: NDArray | None
) -> tuple[NDArray[np.float64], NDArray]:
    """Return the entries of the chosen columns in new rows, and the labels of the rows.

    Columns are found by their labels, or at their `places` among `width` ones without labels.
    Missing entries are those of `filling`, or an error without it.
    """
    if isinstance(new_rows, xr.DataArray) and new_rows.ndim == 2:
        new_rows = new_rows.to_pandas()
    rows, labels = labels_of(new_rows)
    if labels is not None:
        wanted, names = [str(name) for name in chosen], labels.astype(str)
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(f"new_rows lacks the chosen columns {', '.join(missing)}.")
        require_unique(names[np.isin(names, wanted)], "new_rows")
        places = pd.Index(names).get_indexer_for(wanted)
        new_rows = new_rows[:, places.tolist()] if is_polars(new_rows) else new_rows.iloc[:, places]
    else:
        shape = np.shape(new_rows)
        if len(shape) != 2 or shape[1] != width:
            raise ValueError(
                f"new_rows must be a matrix with the {width} columns of the data, its shape is "
                f"{shape}. A DataFrame may have the chosen columns alone."
            )
        # Of a masked array the mask as well.
        new_rows = np.asanyarray(new_rows)[:, places]
    rows = labels_or_numbers(rows, len(new_rows))
    if not chosen:
        return np.empty((len(new_rows), 0)), rows
    values = floats_with_gaps(new_rows, "new_rows")
    if filling is not None:
        values = np.where(np.isnan(values), filling, values)
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"new_rows has {bad.sum()} entries that are nan or infinite in chosen columns, which "
            f"the others are predicted from, the first at row {rows[row]}, column "
            f"{chosen[column]}. Fill them in, or drop their rows. bid.impute predicts missing "
            "entries of rows that the model was made of, those of chosen columns too."
        )
    return read_matrix(new_rows if filling is None else values, "new_rows").values, rows


def floats_with_gaps(data: Any, name: str) -> NDArray[np.float64]:
    """Return a table as doubles, nan where an entry is missing or masked."""
    values = numbers_of_table(data, name)
    try:
        return np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers alone.") from error


def column_labels(data: Any) -> NDArray | None:
    """Return the labels of the columns, None if there are none."""
    return data.columns if isinstance(data, CompressedMatrix) else labels_of(data)[1]
