"""The paper's preparation of its data, each step an option."""

import numpy as np
import pandas as pd

from pymc_bid.inputs import read_whole_number


def prepare(
    data: pd.DataFrame,
    *,
    uninitialised: bool = True,
    fewest_observed: int = 3,
    standardise: bool = True,
    fill: float | None = 0.0,
    duplicates: int = 0,
) -> pd.DataFrame:
    """Prepare a matrix as the paper does, step by step.

    The steps are taken in the order of the options. The defaults are the paper's; its drug
    sensitivities are in addition given every column twice, `duplicates=1`, its methylation data are
    not.

    Parameters
    ----------
    data : pandas.DataFrame
        Missing entries are NaN.
    uninitialised : bool
        Whether to keep entries that are not zero but smaller than any normal number. The published
        EC50 file has 426 of them, about 2e-314: memory that nobody had written to, for pairs that
        were never measured. The paper counted them as observed (0.632 of the entries); a careful
        user does not, and with False they are missing (0.598).
    fewest_observed : int
        Rows with fewer observed entries are dropped. With the default 502 of the 504 rows of EC50
        stay (501 with `uninitialised=False`) and all of IC50.
    standardise : bool
        Subtract the mean of all observed entries and divide by their standard deviation: one mean
        and one standard deviation for the whole matrix, not for each column.
    fill : float or None
        What missing entries become, after standardising; None leaves them missing.
    duplicates : int
        Exact copies added of every column, next to it; 1 gives every column twice.

    Examples
    --------
    >>> import pandas as pd
    >>> raw = pd.DataFrame({"x": [1.0, 3.0, None], "y": [1.0, 3.0, 3.0]})
    >>> prepare(raw, fewest_observed=2, duplicates=1)
         x  x (2)    y  y (2)
    0 -1.0   -1.0 -1.0   -1.0
    1  1.0    1.0  1.0    1.0
    """
    data = data.astype(float)
    if np.isinf(data.to_numpy()).any():
        raise ValueError("data has infinite entries; missing ones are written as NaN.")
    if not uninitialised:
        values = np.abs(data.to_numpy())
        data = data.mask((values > 0) & (values < np.finfo(float).tiny))
    data = data[data.notna().sum(axis=1) >= fewest_observed]
    if not data.notna().any(axis=None):
        raise ValueError(
            f"No row of data has at least fewest_observed = {fewest_observed} observed entries."
        )
    if standardise:
        observed = data.to_numpy()[data.notna().to_numpy()]
        if np.ptp(observed) == 0:
            raise ValueError(
                f"All observed entries are {observed[0]}; they can't be standardised. Use "
                "standardise=False."
            )
        data = (data - observed.mean()) / observed.std()
    if fill is not None:
        data = data.fillna(fill)
    return repeat_columns(data, duplicates)


def repeat_columns(data: pd.DataFrame, duplicates: int) -> pd.DataFrame:
    """Add exact copies of every column, next to it: "x", "x (2)", "x (3)" and so on."""
    times = read_whole_number(duplicates, "duplicates", least=0) + 1
    copies = data.iloc[:, np.repeat(np.arange(data.shape[1]), times)]
    names = [
        name if copy == 1 else f"{name} ({copy})"
        for name in data.columns
        for copy in range(1, times + 1)
    ]
    return copies.set_axis(pd.Index(names, name=data.columns.name), axis=1)
