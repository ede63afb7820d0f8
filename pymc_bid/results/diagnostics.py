"""Numbers that tell how well chains moved: ESS and R-hat, of the state vector too."""

from typing import Any

import arviz as az
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymc_bid.results.posterior import read_error, read_posterior, read_state, read_variable

try:
    from arviz import autocorr
except ImportError:
    # ArviZ 1 keeps it in one of its parts.
    from arviz_stats.base import array_stats

    autocorr = array_stats.autocorr


def r_hat(values: NDArray) -> float:
    """R-hat (rank-normalised, split) of draws (chain, draw).

    A series that is constant in every chain has none: nan if all chains hold the same value, inf if
    they do not. One chain, or fewer than four draws, also give nan.
    """
    values = np.asarray(values, dtype=np.float64)
    if (values == values[:, :1]).all():
        return np.nan if (values[:, 0] == values[0, 0]).all() else np.inf
    if values.shape[0] < 2 or values.shape[1] < 4:
        return np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(az.rhat(values))


def effective_size(values: NDArray) -> float:
    """Effective sample size of the mean of draws (chain, draw); nan if they are constant."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape[1] < 4 or np.ptp(values) == 0:
        return np.nan
    return float(az.ess(values, method="mean"))


def state_numbers(states: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """Inclusion, its MCSE, flips per draw, ESS and R-hat of each entry of state vectors."""
    inclusion = states.mean(axis=(0, 1))
    pairs = max(states.shape[0] * (states.shape[1] - 1), 1)
    series = np.moveaxis(states, 2, 0)
    sizes = np.array([effective_size(values) for values in series])
    return {
        "inclusion": inclusion,
        "mcse": np.sqrt(inclusion * (1 - inclusion) / sizes),
        "flips": (states[:, 1:] != states[:, :-1]).sum(axis=(0, 1)) / pairs,
        "ess": sizes,
        "r_hat": np.array([r_hat(values) for values in series]),
    }


def state_table(numbers: dict[str, NDArray[np.float64]], labels: NDArray) -> pd.DataFrame:
    """Table of `state_numbers`, with words where R-hat has no meaning."""
    table = pd.DataFrame(numbers, index=pd.Index(labels, name="column"))
    constant = (table["inclusion"] == 0) | (table["inclusion"] == 1)
    words = table["r_hat"].round(4).astype(object)
    words[constant] = "constant"
    words[np.isinf(table["r_hat"])] = "stuck apart"
    words[table["r_hat"].isna() & ~constant] = "one chain"
    return table.assign(r_hat=words)


def state_summary(idata: Any, *, state: str = "r") -> pd.DataFrame:
    """Table for the state vector, as `az.summary` makes for continuous variables.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
        What `pm.sample` returned.
    state : str
        Name of the state vector.

    Returns
    -------
    pandas.DataFrame
        One row for each column of the data: the probability of being chosen (`inclusion`), its
        Monte Carlo standard error (`mcse`), changes per draw (`flips`), `ess`, and `r_hat`. The
        latter is "constant" for a column that all draws agree on, whose R-hat and MCSE do not
        exist, and "stuck apart" for one that never moves and differs between chains.

    Examples
    --------
    >>> bid.state_summary(idata).columns.tolist()
    ['inclusion', 'mcse', 'flips', 'ess', 'r_hat']
    """
    states, labels = read_state(idata, state)
    return state_table(state_numbers(states), labels)


def ess_per_second(idata: Any, *, state: str = "r", noise: str = "sigma2") -> pd.DataFrame:
    """Effective draws per second of sampling, tuning included.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
    state, noise : str
        Names of the state vector and of the noise variance.

    Returns
    -------
    pandas.DataFrame
        Columns `ess` and `ess_per_second`; a row for the number of columns, the noise variance, the
        error, and the least and the median entry of the state vector among those that move.

    Examples
    --------
    >>> bid.ess_per_second(idata).columns.tolist()
    ['ess', 'ess_per_second']
    """
    seconds = read_posterior(idata).attrs.get("sampling_time")
    if seconds is None:
        raise ValueError("The posterior has no attribute sampling_time; pm.sample writes it.")
    states, _ = read_state(idata, state)
    sizes = quantity_table(idata, states, noise)["ess"].to_dict()
    moving = state_numbers(states)["ess"]
    moving = moving[np.isfinite(moving)]
    if moving.size:
        sizes |= {f"{state}, least": moving.min(), f"{state}, median": np.median(moving)}
    table = pd.DataFrame({"ess": sizes})
    return table.assign(ess_per_second=table["ess"] / float(seconds))


def quantity_table(idata: Any, states: NDArray[np.bool_], noise: str) -> pd.DataFrame:
    """ESS and R-hat of K, the noise variance and the error, and whether their draws are finite."""
    posterior, error = read_posterior(idata), read_error(idata)
    series: dict[str, NDArray] = {"K": states.sum(axis=2)}
    if noise in posterior:
        variance = np.asarray(read_variable(posterior, noise, "noise"), dtype=np.float64)
        # Columns with variances of their own have a geometric mean.
        series[noise] = variance if variance.ndim == 2 else np.exp(np.log(variance).mean(axis=2))
    if error is not None:
        series["error"] = error
    finite = {name: bool(np.isfinite(x).all()) for name, x in series.items()}
    return pd.DataFrame(
        {
            "ess": {
                name: effective_size(x) if finite[name] else np.nan for name, x in series.items()
            },
            "r_hat": {name: r_hat(x) if finite[name] else np.nan for name, x in series.items()},
            "finite": finite,
        }
    )


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
        Largest lag; the series returned is indexed by it, from 0.
    basis : list of labels, optional
        Candidate columns whose weights are averaged, such as the `columns` of a decomposition; all
        if not given.

    Examples
    --------
    >>> found = bid.autocorrelation(idata, lags=5, basis=result.columns)
    >>> round(float(found[0]), 6)
    1.0
    """
    variable = read_variable(read_posterior(idata), weights, "weights", 2)
    if basis is not None:
        variable = variable.sel({variable.dims[2]: list(basis)})
    chains, draws, rows, _ = variable.shape
    if lags >= draws or lags < 1:
        raise ValueError(f"lags must be between 1 and the {draws} draws less one, got {lags}.")
    total, number = np.zeros(lags + 1), 0
    # Not all at once: ArviZ takes Fourier transforms, complex and padded, four times the draws.
    for chain in range(chains):
        for row in range(rows):
            series = np.asarray(variable[chain, :, row], dtype=np.float64).T
            # A constant has no autocorrelation.
            series = series[np.ptp(series, axis=1) > 0]
            total += autocorr(series)[:, : lags + 1].sum(axis=0)
            number += len(series)
    if number == 0:
        raise ValueError(f"All entries of {weights} are constant; they have no autocorrelation.")
    return pd.Series(total / number, index=pd.RangeIndex(lags + 1, name="lag"))
