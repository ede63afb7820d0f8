"""Copies of columns, with names of their own."""

import numpy as np
import pandas as pd


def repeat_columns(data: pd.DataFrame, duplicates: int) -> pd.DataFrame:
    """Add exact copies of every column, next to it: "x", "x (2)", "x (3)" and so on."""
    if isinstance(duplicates, bool) or int(duplicates) != duplicates or duplicates < 0:
        raise ValueError(f"duplicates must be 0 or a positive integer, got {duplicates!r}.")
    if duplicates == 0:
        return data
    times = int(duplicates) + 1
    names = [
        name if copy == 1 else f"{name} ({copy})"
        for name in data.columns
        for copy in range(1, times + 1)
    ]
    return pd.DataFrame(
        np.repeat(data.to_numpy(), times, axis=1),
        index=data.index,
        columns=pd.Index(names, name=data.columns.name),
    )
