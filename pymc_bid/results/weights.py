"""Summarising the weights W given the chosen columns."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.results.conditional import draw_weights_given
from pymc_bid.results.draws import Draws, interpolated_columns, reduced_data, weights_of


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
    wanted = np.zeros(draws.basis.size, dtype=bool)
    wanted[active] = True
    holds = (draws.state == wanted).all(axis=2)
    visits = int(holds.sum()) if draws.weights is not None else 0
    if visits >= minimum_draws or (visits > 0 and model is None):
        if visits < minimum_draws:
            warnings.warn(
                f"Only {visits} of the draws have exactly these {active.size} columns, and W is "
                "summarised from them. Pass `model=` to have W drawn for these columns, or choose "
                "others.",
                UserWarning,
                stacklevel=3,
            )
        return _from_draws(draws, active, holds, ci_prob, keep_draws)
    if model is None:
        why = (
            "Y is not among the draws"
            if draws.weights is None
            else "these columns were never visited together"
        )
        raise ValueError(
            f"{why[0].upper()}{why[1:]}, so W has to be drawn given the columns: pass `model=`, or "
            "call decompose inside the model's context."
        )
    values, noise = draw_weights_given(active, model, keep_draws, seed)
    values = np.stack([_identity_in_place(draws, active, value) for value in values])
    return WeightSummary(
        values.mean(axis=0),
        values.std(axis=0),
        _interval(values, ci_prob),
        values,
        noise,
        "conditional",
        keep_draws,
    )


def _from_draws(draws: Draws, active, holds, ci_prob, keep_draws) -> WeightSummary:
    """Summarise W from the draws that hold exactly J, one pass and without keeping them all."""
    visits = int(holds.sum())
    keep = set(np.linspace(0, visits - 1, min(keep_draws, visits)).round().astype(int).tolist())
    kept = np.empty((len(keep), active.size, draws.columns.size))
    noise = np.full((len(keep), 1 if draws.noise is None else draws.noise.shape[2]), np.nan)
    count = position = 0
    centre = total = square = None
    for chain, draw, _, weights in draws.each():
        if not holds[chain, draw]:
            continue
        value = weights_of(draws, active, weights)
        if centre is None:
            # Deviations from the first draw: sums of squares that do not cancel.
            centre, total, square = value, np.zeros_like(value), np.zeros_like(value)
        deviation = value - centre
        total += deviation
        square += deviation**2
        if count in keep:
            kept[position] = value
            if draws.noise is not None:
                noise[position] = draws.noise[chain, draw]
            position += 1
        count += 1
    mean = total / visits
    variance = np.maximum(square / visits - mean**2, 0.0)
    return WeightSummary(
        centre + mean,
        np.sqrt(variance),
        _interval(kept, ci_prob),
        kept,
        noise,
        "draws",
        visits,
    )


def interpolation_noise(draws: Draws, active, kept) -> NDArray[np.float64]:
    """Noise variance of the interpolated columns alone, for each kept draw of W.

    The σ² of the paper's model is an average over all columns, and the chosen ones fit themselves:
    intervals for the others would be too narrow.
    """
    columns = interpolated_columns(draws, active)
    if columns.size == 0:
        return np.zeros((len(kept), 1))
    data = reduced_data(draws)
    full = np.zeros((draws.basis.size, draws.columns.size))
    squares = np.empty((len(kept), columns.size))
    for position, weights in enumerate(kept):
        full[active] = weights
        squares[position] = data.squared_errors(active, full)[columns]
    rows = data.products.rows[columns]
    if draws.noise is not None and draws.noise.shape[2] > 1:
        noise = np.zeros((len(kept), draws.columns.size))
        noise[:, columns] = squares / rows
        return noise
    return squares.sum(axis=1, keepdims=True) / rows.sum()


def _interval(values: NDArray[np.float64], ci_prob: float) -> NDArray[np.float64]:
    return np.quantile(values, [0.5 - ci_prob / 2, 0.5 + ci_prob / 2], axis=0)


def _identity_in_place(draws: Draws, active, rows: NDArray) -> NDArray[np.float64]:
    weights = np.zeros((draws.basis.size, rows.shape[1]))
    weights[active] = rows
    return weights_of(draws, active, weights)
