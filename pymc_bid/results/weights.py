"""Summarising the weights W given the chosen columns."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.results.conditional import draw_weights_given
from pymc_bid.results.draws import Draws


class WeightSummary(NamedTuple):
    """What is known about W given the chosen columns."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    interval: NDArray[np.float64]
    kept: NDArray[np.float64]
    noise: NDArray[np.float64]
    """σ² of each kept draw, (sample, 1) or (sample, column)."""
    source: str
    """"draws" or "conditional"."""
    used: int


def summarise_weights(
    draws: Draws, active, model, ci_prob, minimum_draws, keep_draws, seed
) -> WeightSummary:
    """Posterior of W given exactly the columns J."""
    wanted = np.isin(np.arange(draws.basis.size), active)
    holds = (draws.state == wanted).all(axis=2)
    visits = int(holds.sum()) if draws.weights is not None else 0
    if visits < minimum_draws and model is None:
        if visits == 0:
            why = (
                "Y is not among the draws"
                if draws.weights is None
                else "These columns were never visited together"
            )
            raise ValueError(
                f"{why}, so W has to be drawn given the columns: pass `model=`, or call decompose "
                "inside the model's context."
            )
        warnings.warn(
            f"Only {visits} of the draws have exactly these {active.size} columns, and W is "
            "summarised from them. Pass `model=` to have W drawn for these columns, or choose "
            "others.",
            UserWarning,
            stacklevel=3,
        )
    if visits >= minimum_draws or model is None:
        mean, sd, kept, noise = _from_draws(draws, active, holds, keep_draws)
        source, used = "draws", visits
    else:
        values, noise = draw_weights_given(active, model, keep_draws, seed)
        kept = np.stack([draws.weights_of(active, value) for value in values])
        mean, sd = kept.mean(axis=0), kept.std(axis=0)
        source, used = "conditional", keep_draws
    interval = np.quantile(kept, [0.5 - ci_prob / 2, 0.5 + ci_prob / 2], axis=0)
    return WeightSummary(mean, sd, interval, kept, noise, source, used)


def _from_draws(draws: Draws, active, holds, keep_draws):
    """Mean and sd of W over the draws that hold exactly J, and some of them with their noise.

    One pass, without keeping them all.
    """
    visits = int(holds.sum())
    keep = np.unique(np.linspace(0, visits - 1, min(keep_draws, visits)).round().astype(int))
    mean, squares = np.zeros((2, active.size, draws.columns.size))
    kept, number = [], 0
    for chain, draw, _, weights in draws.each():
        if not holds[chain, draw]:
            continue
        value = draws.weights_of(active, weights[active])
        if number in keep:
            kept.append(value)
        # Welford's updates, whose sums of squares do not cancel.
        number += 1
        deviation = value - mean
        mean += deviation / number
        squares += (1 - 1 / number) * deviation**2
    noise = np.full((keep.size, 1), np.nan) if draws.noise is None else draws.noise[holds][keep]
    return mean, np.sqrt(squares / visits), np.array(kept), noise


def interpolation_noise(draws: Draws, active, kept) -> NDArray[np.float64]:
    """Noise variance of the interpolated columns alone, for each kept draw of W.

    The σ² of the paper's model is an average over all columns, and the chosen ones fit themselves:
    intervals for the others would be too narrow.
    """
    columns = np.setdiff1d(np.arange(draws.columns.size), active)
    if columns.size == 0:
        return np.zeros((len(kept), 1))
    squares = np.array([draws.squared_errors(active, W)[columns] for W in kept])
    rows = draws.data.products.rows[columns]
    if draws.noise is not None and draws.noise.shape[2] > 1:
        noise = np.zeros((len(kept), draws.columns.size))
        noise[:, columns] = squares / rows
        return noise
    return squares.sum(axis=1, keepdims=True) / rows.sum()
