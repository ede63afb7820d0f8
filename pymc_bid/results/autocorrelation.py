"""Autocorrelation of the weights, averaged over their entries."""

from typing import Any

import numpy as np
import pandas as pd

from pymc_bid.results.draws import read_posterior, read_variable

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
    length = 1 << (2 * draws - 1).bit_length()
    # Transforms are complex and padded: four times the draws and more.
    block = max(1, _BLOCK_BYTES // (columns * length * 16))
    total, number = np.zeros(lags + 1), 0
    for chain in range(chains):
        for first in range(0, rows, block):
            part = variable.isel({"chain": chain, variable.dims[2]: slice(first, first + block)})
            series = np.asarray(part, dtype=np.float64).reshape(draws, -1).T
            series = series - series.mean(axis=1, keepdims=True)
            variance = np.einsum("ij,ij->i", series, series)
            # A constant has no autocorrelation; what rounding leaves of it is not to be read.
            series, variance = series[variance > 1e-20 * draws], variance[variance > 1e-20 * draws]
            power = np.abs(np.fft.rfft(series, length)) ** 2
            covariance = np.fft.irfft(power, length)[:, : lags + 1]
            total += (covariance / variance[:, None]).sum(axis=0)
            number += variance.size
    if number == 0:
        raise ValueError(f"All entries of {weights} are constant; they have no autocorrelation.")
    return pd.Series(total / number, index=pd.RangeIndex(lags + 1, name="lag"))
