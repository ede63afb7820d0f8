"""Predicting the entries that were missing."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymc_bid.results.draws import OWN_VARIANCE, Draws, read_draws
from pymc_bid.results.predict import mixture_quantile


def impute(
    idata: Any,
    A: Any,
    *,
    pool: Any = None,
    ci_prob: float = 0.94,
    keep_draws: int = 500,
    state: str = "r",
    weights: str = "Y",
    noise: str = "sigma2",
) -> pd.DataFrame:
    """Predict the missing entries of A, with intervals, averaged over all decompositions drawn.

    For models made with `missing="mask"`. The predictive distribution of an entry is the mixture,
    over the draws, of Normal(Σ_k r_k b_k y_kl, σ²), and of the column's own density where it is
    chosen: that of the model with the identity; in the paper's model, which has none, a normal with
    the mean and variance of what is observed in the column. Mean, sd and quantiles are those of the
    mixture: solved for, not simulated.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
        What `pm.sample` returned, Y included.
    A : array_like, pandas.DataFrame or xarray.DataArray
        The matrix that was modelled, with nan where entries are missing.
    pool, state, weights, noise
        As for `decompose`.
    ci_prob : float
        Probability of the equal-tailed intervals.
    keep_draws : int
        How many draws to average over, evenly spaced.

    Returns
    -------
    pandas.DataFrame
        A row for each missing entry: `row`, `column`, `mean`, `sd`, `lower`, `upper`.

    Examples
    --------
    >>> gaps = A.mask(A > 2)
    >>> with bid.gbt(gaps, identity=True, missing="mask"):
    ...     drawn = pm.sample(50, tune=50, chains=1, progressbar=False, random_seed=1)
    >>> bid.impute(drawn, gaps).columns.tolist()
    ['row', 'column', 'mean', 'sd', 'lower', 'upper']
    """
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must be between 0 and 1, got {ci_prob}.")
    draws = read_draws(idata, A, pool, state, weights, noise)
    if draws.target.observed is None:
        raise ValueError("A has no missing entries, or the model was not made with missing='mask'.")
    for name, values in ((weights, draws.weights), (noise, draws.noise)):
        if values is None:
            raise ValueError(f"Missing entries are predicted from {name!r}; it was not stored.")
    if draws.identity and draws.own_variance is None:
        raise ValueError(f"Missing entries are predicted from {OWN_VARIANCE!r}; it was not stored.")
    rows, columns = np.nonzero(~draws.target.observed)
    total = int(np.prod(draws.shape))
    step = max(1, total // keep_draws)
    centres, variances = [], []
    basis = draws.candidates[rows]
    own_mean, own_variance = _own_moments(draws)
    for number, (chain, draw, active, drawn) in enumerate(draws.each()):
        if number % step:
            continue
        centre = np.einsum("nk,kn->n", basis[:, active], drawn[active][:, columns])
        variance = np.broadcast_to(draws.noise[chain, draw], draws.columns.shape)[columns]
        if draws.pool is None:
            chosen = draws.state[chain, draw][columns]
            own = draws.own_variance[chain, draw] if draws.identity else own_variance
            centre = np.where(chosen, own_mean[columns], centre)
            variance = np.where(chosen, own[columns], variance)
        centres.append(centre)
        variances.append(variance)
    centres, variances = np.array(centres), np.array(variances)
    scale = np.sqrt(variances)
    tails = (0.5 - ci_prob / 2, 0.5 + ci_prob / 2)
    lower, upper = (mixture_quantile(tail, centres, scale) for tail in tails)
    return pd.DataFrame(
        {
            "row": np.asarray(draws.rows)[rows],
            "column": np.asarray(draws.columns)[columns],
            "mean": centres.mean(axis=0),
            "sd": np.sqrt(centres.var(axis=0) + variances.mean(axis=0)),
            "lower": lower,
            "upper": upper,
        }
    )


def _own_moments(draws: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean of the own density of each column, and the variance of what is observed in it."""
    observed = np.where(draws.target.observed, draws.target.values, np.nan)
    mean = np.nanmean(observed, axis=0)
    if draws.identity:
        mean = np.broadcast_to(draws.own_mean, mean.shape)
    return mean, np.nanvar(observed, axis=0)
