"""Pointwise log likelihoods for model comparison, without an array of draws × rows × columns."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_bid.inputs import read_whole_number
from pymc_bid.results.draws import Draws
from pymc_bid.results.posterior import read_posterior, with_groups

UNITS = ("row", "entry")


def log_likelihood(
    idata: Any,
    A: Any,
    *,
    by: str = "row",
    thin: int = 1,
    pool: Any = None,
    state: str = "r",
    weights: str = "Y",
    noise: str = "sigma2",
):
    """Log likelihood of each row or entry of A, ready for `az.loo` and `az.compare`.

    `pm.compute_log_likelihood` gives the same by entry, and holds draws × rows × columns numbers at
    once; `az.loo` then also estimates the effective size of every entry of Y. Here one draw is
    worked on at a time, and only small variables are handed on.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
        What `pm.sample` returned, Y included.
    A, pool, state, weights, noise
        As for `decompose`.
    by : {"row", "entry"}
        What is left out in leave-one-out comparison. Not a column: it has weights of its own, about
        which nothing else in the matrix tells.
    thin : int
        Take every `thin`-th draw.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        The type of `idata`, with a `log_likelihood` group (variable `A`), and a posterior without
        Y.

    Examples
    --------
    >>> with_likelihood = bid.log_likelihood(idata, A, thin=2)
    >>> with_likelihood["log_likelihood"]["A"].dims
    ('chain', 'draw', 'row')
    """
    if by not in UNITS:
        raise ValueError(f"by must be one of {', '.join(map(repr, UNITS))}, got {by!r}.")
    thin = read_whole_number(thin, "thin")
    draws = Draws(idata, A, pool, state, weights, noise)
    if draws.target.compressed:
        raise TypeError("A is compressed and has no rows to leave out; pass the matrix itself.")
    draws.require_stored("The log likelihood", weights, noise)
    posterior = read_posterior(idata)
    small = [name for name, value in posterior.data_vars.items() if value.ndim <= 3]
    kept = posterior[small].isel(draw=slice(None, None, thin))
    coords: dict[str, Any] = {"chain": kept["chain"], "draw": kept["draw"], "row": draws.rows}
    if by == "entry":
        coords["column"] = draws.columns
    values = np.empty([len(labels) for labels in coords.values()])
    for chain, draw, active, drawn in draws.each():
        if draw % thin == 0:
            density = _log_density(draws, chain, draw, active, drawn)
            values[chain, draw // thin] = density.sum(axis=1) if by == "row" else density
    likelihood = xr.DataArray(values, coords=coords, dims=list(coords), name="A").to_dataset()
    return with_groups(idata, {"posterior": kept, "log_likelihood": likelihood})


def _log_density(draws: Draws, chain, draw, active, weights):
    """Log density of each entry of A at one draw, (row, column)."""
    residual = draws.target.values - draws.candidates[:, active] @ weights[active]
    variance = np.array(np.broadcast_to(draws.noise[chain, draw], draws.columns.shape))
    if draws.identity:
        mean = np.broadcast_to(draws.own_mean, draws.columns.shape)
        residual[:, active] = draws.target.values[:, active] - mean[active]
        variance[active] = draws.own_variance[chain, draw, active]
    density = -0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)
    if draws.target.observed is not None:
        density[~draws.target.observed] = 0.0
    return density
