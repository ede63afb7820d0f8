"""Autocorrelation of the weights, averaged over their entries."""

from typing import Any

import numpy as np
import pandas as pd

from pymc_bid.results.posterior import read_posterior, read_variable

try:
    from arviz import autocorr
except ImportError:
    # ArviZ 1 keeps it in one of its parts.
    from arviz_stats.base import array_stats

    autocorr = array_stats.autocorr

_BLOCK_BYTES = 2**25


def autocorrelation(
    idata: Any, *, weights: str = "Y", lags: int = 40, basis: Any = None
) -> pd.Series:
    """Autocorrelation of the weights y_kl, averaged over their entries and over chains.

    Weights of columns that are off are fresh draws from the prior at each iteration, with no
    autocorrelation; `basis` leaves them out.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
    weights : str
        Name of the weights.
    lags : int
        Largest lag.
    basis : list of labels, optional
        Candidate columns whose weights are averaged, such as the `columns` of a decomposition; all
        if not given.

    Returns
    -------
    pandas.Series
        Indexed by the lag, from 0.

    Examples
    --------
    >>> found = bid.autocorrelation(idata, lags=5, basis=result.columns)
    >>> round(float(found[0]), 6)
    1.0
    """
    variable = read_variable(read_posterior(idata), weights, "weights", 2)
    if basis is not None:
        variable = variable.sel({variable.dims[2]: list(basis)})
    chains, draws, rows, columns = variable.shape
    if lags >= draws or lags < 1:
        raise ValueError(f"lags must be between 1 and the {draws} draws less one, got {lags}.")
    # ArviZ takes Fourier transforms, complex and padded: four times the draws.
    block = max(1, _BLOCK_BYTES // (columns * draws * 4 * 8))
    total, number = np.zeros(lags + 1), 0
    for chain in range(chains):
        for first in range(0, rows, block):
            part = variable.isel({"chain": chain, variable.dims[2]: slice(first, first + block)})
            series = np.asarray(part, dtype=np.float64).reshape(draws, -1).T
            # A constant has no autocorrelation.
            series = series[np.ptp(series, axis=1) > 0]
            total += autocorr(series)[:, : lags + 1].sum(axis=0)
            number += len(series)
    if number == 0:
        raise ValueError(f"All entries of {weights} are constant; they have no autocorrelation.")
    return pd.Series(total / number, index=pd.RangeIndex(lags + 1, name="lag"))
