"""Weights drawn for a set of columns that the draws do not tell enough about."""

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.graph.decomposition import only_decomposition
from pymc_bid.steps import NoiseStep, WeightStep

BURN_IN = 200


def draw_weights_given(
    active: NDArray[np.int64], model: Model, draws: int, seed: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw (Y[J, :], σ²) from their posterior given the chosen columns J.

    The model's own steps for weights and noise, with the state vector held at J: exact, and with
    whatever priors and bounds the model has. Arrays (draws, K, L) and (draws, 1), or (draws, L) if
    columns have noise of their own.

    Raises
    ------
    TypeError
        If the model has other free variables, which would have to be drawn as well.
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
    # A known state has no step, and no draws that would lead here.
    point = decomposition.state.write(state, point)  # type: ignore[union-attr]
    columns = decomposition.weights.read(point).shape[1]
    weights = np.empty((draws, active.size, columns))
    noise = np.empty((draws, np.size(decomposition.noise.variance.read(point))))
    for iteration in range(-BURN_IN, draws):
        for step in steps:
            point, _ = step.step(point)
        if iteration >= 0:
            weights[iteration] = decomposition.weights.read(point)[active]
            noise[iteration] = decomposition.noise.variance.read(point)
    return weights, noise
