"""Predicting entries: those of new rows, and those that were missing."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_root
from scipy.special import ndtr, ndtri

from pymc_bid.results.draws import Draws
from pymc_bid.results.units import Units

_BLOCK_BYTES = 2**26


class Prediction(NamedTuple):
    """Predictive distribution of each entry."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def in_units(self, units: Units) -> "Prediction":
        """Return it in the units of the data, for entries of all columns, (…, column)."""
        mean, lower, upper = (units.restore(values) for values in (self.mean, *self[2:]))
        return Prediction(mean, self.sd * units.scale, lower, upper)


def predict_rows(
    chosen: NDArray[np.float64],
    weights: NDArray[np.float64],
    noise: NDArray[np.float64],
    probability: float,
) -> Prediction:
    """Predict a_l = c·w_l + noise for rows c of the chosen columns, (rows, L).

    The predictive distribution of an entry is the mixture of Normal(c·w_l, σ²) over the draws of
    (W, σ²), given as arrays (draws, K, L) and (draws, 1) or (draws, L).
    """
    draws, _, columns = weights.shape
    result = Prediction(*np.empty((4, len(chosen), columns)))
    block = max(1, _BLOCK_BYTES // (8 * draws * columns))
    for first in range(0, len(chosen), block):
        rows = slice(first, first + block)
        found = summarise_mixture(chosen[rows] @ weights, noise[:, None, :], probability)
        for values, of_rows in zip(result, found, strict=True):
            values[rows] = of_rows
    return result


def summarise_mixture(centres, variances, probability: float) -> Prediction:
    """Summarise equal mixtures of normals along the first axis, with equal-tailed intervals.

    Quantiles are those of the mixture: they are solved for, not simulated, and need no seed.
    """
    mean, sd = centres.mean(axis=0), np.sqrt(centres.var(axis=0) + variances.mean(axis=0))
    scale = np.broadcast_to(np.sqrt(variances), centres.shape)
    tails = (0.5 - probability / 2, 0.5 + probability / 2)
    return Prediction(mean, sd, *(_quantile(tail, centres, scale) for tail in tails))


def _quantile(probability, centres, scale):
    """Quantile of each mixture, which lies between the quantiles of its components."""
    shape = centres.shape[1:]
    centres, scale = (values.reshape(len(values), -1) for values in (centres, scale))

    def excess(value, mixture):
        standard = (value - centres[:, mixture]) / scale[:, mixture]
        return ndtr(standard).mean(axis=0) - probability

    components = centres + ndtri(probability) * scale
    low, high = components.min(axis=0), components.max(axis=0)
    found = find_root(excess, (low, high), args=(np.arange(low.size),))
    # There is nothing to search where all components are the same.
    return np.where(found.success, found.x, low).reshape(shape)


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

    For models made with `missing="mask"`. The predictive distribution of an entry is a mixture of
    normals over the draws. An entry of an interpolated column is predicted from the chosen columns
    in its row. An entry of a chosen column has the own density of that column for a prior (in the
    paper's model, which has none, the mean and variance of what is observed in it), and the
    interpolated columns that are observed in its row tell what it must have been. Mean, sd and
    quantiles are those of the mixture: solved for, not simulated.

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
    draws = Draws(idata, A, pool, state, weights, noise)
    if draws.target.observed is None:
        raise ValueError("A has no missing entries, or the model was not made with missing='mask'.")
    draws.require_stored("impute", weights, noise)
    rows, columns = np.nonzero(~draws.target.observed)
    step = max(1, int(np.prod(draws.shape)) // keep_draws)
    known = np.where(draws.target.observed, draws.target.values, np.nan)
    own_mean, own_variance = np.nanmean(known, axis=0), np.nanvar(known, axis=0)
    if draws.identity:
        own_mean = np.broadcast_to(draws.own_mean, own_mean.shape)
    drawn_centres, drawn_variances = [], []
    for number, (chain, draw, active, drawn) in enumerate(draws.each()):
        if number % step:
            continue
        noise_variance = np.broadcast_to(draws.noise[chain, draw], draws.columns.shape)
        if draws.identity:
            own_variance = draws.own_variance[chain, draw]
        chosen = drawn[active]
        centre = np.einsum("nk,kn->n", draws.candidates[rows][:, active], chosen[:, columns])
        variance = noise_variance[columns].copy()
        if draws.pool is None:
            own = own_mean[active], own_variance[active]
            _fill_rows(draws, active, chosen, noise_variance, own, rows, columns, centre, variance)
        drawn_centres.append(centre)
        drawn_variances.append(variance)
    found = summarise_mixture(np.array(drawn_centres), np.array(drawn_variances), ci_prob)
    found = found.in_units(Units(*(values[columns] for values in draws.units)))
    labels = {"row": np.asarray(draws.rows)[rows], "column": np.asarray(draws.columns)[columns]}
    return pd.DataFrame(labels | found._asdict())


def _fill_rows(
    draws: Draws, active, weights, noise_variance, own, rows, columns, centre, variance
) -> None:
    """Replace predictions in rows where entries of chosen columns are missing, in place.

    With x the missing entries of the chosen columns S in a row, and O the interpolated columns that
    are observed there,

        x ~ Normal(m, ω²),    a_O ~ Normal(Y_Sᵀ x + Y_restᵀ a_rest, σ²)

    is a regression, whose x is normal, and so is what it gives for the others.
    """
    values, observed = draws.target.values, draws.target.observed
    own_mean, own_variance = own
    is_chosen = np.zeros(draws.columns.size, dtype=bool)
    is_chosen[active] = True
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for first, last in zip(starts, [*starts[1:], len(rows)], strict=True):
        row, entries = rows[first], columns[first:last]
        gap = ~observed[row, active]
        if not gap.any():
            continue
        told = observed[row] & ~is_chosen
        known = np.where(gap, 0.0, values[row, active])
        slopes = weights[gap][:, told] / noise_variance[told]
        residual = values[row, told] - known @ weights[:, told]
        precision = np.diag(1 / own_variance[gap]) + slopes @ weights[gap][:, told].T
        covariance = np.linalg.inv(precision)
        known[gap] = covariance @ (own_mean[gap] / own_variance[gap] + slopes @ residual)
        spread = weights[gap][:, entries]
        part = slice(first, last)
        centre[part] = known @ weights[:, entries]
        variance[part] = noise_variance[entries] + np.sum(spread * (covariance @ spread), axis=0)
        chosen = is_chosen[entries]
        place = np.searchsorted(active, entries[chosen])
        within = np.cumsum(gap)[place] - 1
        centre[part][chosen] = known[place]
        variance[part][chosen] = np.diag(covariance)[within]
