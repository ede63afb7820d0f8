"""Tables for people, made of the dataset of a decomposition."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray


def r2_table(data: xr.Dataset) -> pd.DataFrame:
    """Return R² of each column that is not chosen: mean of the draws, and interval."""
    shares = data["r2_draws"].values
    columns = np.arange(shares.shape[1])
    if not data.attrs["pool"]:
        columns = np.setdiff1d(columns, data["position"].values)
    index = pd.Index(data["column"].values[columns], name="column")
    return pd.DataFrame(_summarise(shares[:, columns], data), index=index)


def mean_r2(data: xr.Dataset) -> pd.Series:
    """Return the mean of R² over the columns that have one, with the interval of that mean."""
    shares = data["r2_draws"].values
    explained = shares[:, np.isfinite(shares).any(axis=0)]
    if explained.shape[1] == 0:
        return pd.Series(np.nan, index=["r2", "lower", "upper"], name="mean R²")
    return pd.Series(_summarise(explained.mean(axis=1), data), name="mean R²")


def _summarise(draws: NDArray[np.float64], data: xr.Dataset) -> dict[str, Any]:
    tail = 0.5 - float(data.attrs["ci_prob"]) / 2
    lower, upper = np.quantile(draws, [tail, 1 - tail], axis=0)
    return {"r2": draws.mean(axis=0), "lower": lower, "upper": upper}


def set_table(data: xr.Dataset) -> pd.DataFrame:
    """Return the sets visited, the most frequent first."""
    labels, states = data["basis"].values, data["set_state"].values.astype(bool)
    return pd.DataFrame(
        {
            "frequency": data["set_visits"].values / data["K"].size,
            "visits": data["set_visits"].values,
            "size": states.sum(axis=1),
            "error": data["set_error"].values,
            "columns": [labels[state].tolist() for state in states],
        },
        index=pd.RangeIndex(len(states), name="set"),
    )


def group_table(data: xr.Dataset) -> pd.DataFrame:
    """Return the groups of columns that stand for each other."""
    labels, members = data["basis"].values, data["group_member"].values.astype(bool)
    members = members[members.any(axis=1)]
    numbers = {
        name: data[f"group_{key}"].values[: len(members)]
        for name, key in (
            ("probability", "probability"),
            ("expected", "expected"),
            ("least_correlation", "correlation"),
        )
    }
    columns = [labels[member].tolist() for member in members]
    index = pd.RangeIndex(len(members), name="group")
    return pd.DataFrame({**numbers, "columns": columns}, index=index)
