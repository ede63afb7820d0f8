"""Summarising the weights W given the chosen columns."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.graph.decomposition import only_decomposition
from pymc_bid.results.draws import Draws
from pymc_bid.steps import NoiseStep, WeightStep

BURN_IN = 200
"""Iterations of the steps before weights given the chosen columns are kept."""


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
        values, noise = _draw_given(active, model, keep_draws, seed)
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


def _draw_given(
    active: NDArray[np.int64], model: Model, draws: int, seed: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw (Y[J, :], σ²) from their posterior given the chosen columns J.

    The model's own steps for weights and noise, with the state vector held at J: exact, and with
    whatever priors and bounds the model has. Arrays (draws, K, L) and (draws, 1), or (draws, L) if
    columns have noise of their own. TypeError if the model has other free variables, which would
    have to be drawn as well.
    """
    decomposition = only_decomposition(model, "weights given the columns can be drawn of")
    roles = decomposition.roles
    # Inclusion probabilities and the chosen columns' own variances say nothing about the weights.
    others = [v.name for v in model.free_RVs if v not in roles.variables]
    if others or roles.noise is None:
        lacking = f"free variables {', '.join(others)}" if others else "a noise prior of its own"
        raise TypeError(
            f"model has {lacking}; weights given the columns are drawn for models whose free "
            "variables are the state vector, the weights, their hyperparameters and an inverse "
            "gamma noise variance."
        )
    rng = np.random.default_rng(seed)
    # Weights first: the noise around a point that was not fitted yet is far off.
    steps = [
        WeightStep([roles.weights], model=model, rng=rng, nu=1),
        NoiseStep([roles.noise], model=model, rng=rng),
    ]
    point = model.initial_point(random_seed=int(rng.integers(2**31)))
    state = np.zeros_like(decomposition.state.read(point))
    state[active] = 1
    point = decomposition.joint.write_state(state, point)
    weights, noise = [], []
    for iteration in range(-BURN_IN, draws):
        for step in steps:
            point, _ = step.step(point)
        if iteration >= 0:
            weights.append(decomposition.weights.read(point)[active])
            noise.append(np.ravel(decomposition.noise.variance.read(point)))
    return np.array(weights), np.array(noise)


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
