"""The paper's state updates against the odds computed from the full residual."""

import numpy as np
import pytest

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.kernels.exact.paper import flip_sweep, swap_once
from pymc_bid.regression import reduce_regression
from tests.reference.monte_carlo import assert_means_agree

NO_OWN = OwnColumns.none(4)
EVERY_OWN = OwnColumns(np.arange(4)[:, None], np.array([-5.9, -4.4, -6.9, -5.3]))


def problem(seed, identity=False):
    rng = np.random.default_rng(seed)
    pool = rng.normal(size=(7, 4))
    target = pool if identity else rng.normal(size=(7, 3))
    weights = rng.uniform(-1, 1, size=(4, target.shape[1]))
    return rng, pool, target, weights


def log_likelihood(state, pool, target, weights, noise_variance, own):
    squares = np.sum((target - (pool * state) @ weights) ** 2, axis=0)
    if own is NO_OWN:
        return -squares.sum() / (2 * noise_variance)
    interpolated = -squares / (2 * noise_variance) - 3.5 * np.log(noise_variance)
    return np.where(state, own.log_densities, interpolated).sum()


def run(move, state, pool, target, weights, draws):
    visited = np.empty((draws, len(state)))
    products = reduce_regression(pool, target).products
    for draw in range(draws):
        residual_cross = pool.T @ (target - (pool * state) @ weights)
        move(state, weights, residual_cross, products)
        visited[draw] = state
    return visited


def exact_draws(rng, states, pool, target, weights, noise_variance, own, draws):
    logs = np.array([log_likelihood(s, pool, target, weights, noise_variance, own) for s in states])
    probabilities = np.exp(logs - logs.max())
    return states[rng.choice(len(states), size=draws, p=probabilities / probabilities.sum())]


ALL_STATES = np.array(list(np.ndindex(2, 2, 2, 2)))


@pytest.mark.parametrize("own", [NO_OWN, EVERY_OWN], ids=["paper", "identity"])
@pytest.mark.parametrize("fixed", [False, True])
def test_states_with_fixed_weights_are_drawn_from_their_posterior(fixed, own):
    rng, pool, target, weights = problem(1, identity=own is EVERY_OWN)
    states = ALL_STATES[ALL_STATES.sum(axis=1) == 2] if fixed else ALL_STATES

    def move(*arrays):
        if fixed:
            swap_once(rng, *arrays, np.full(len(arrays[1].T), 4.0), own)
        else:
            flip_sweep(rng, *arrays, np.full(len(arrays[1].T), 4.0), own, np.zeros(4))

    visited = run(move, states[0].copy(), pool, target, weights, 20_000)
    exact = exact_draws(rng, states, pool, target, weights, 4.0, own, 20_000)
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]

    def moments(draws):
        return np.column_stack([draws, *[draws[:, a] * draws[:, b] for a, b in pairs]])

    assert_means_agree(moments(visited), moments(exact), label="paper")


def test_residual_products_follow_the_flips():
    rng, pool, target, weights = problem(2)
    state = np.array([1, 0, 1, 0])
    products = reduce_regression(pool, target).products
    residual_cross = pool.T @ (target - (pool * state) @ weights)
    accepted = 0
    for _ in range(200):
        arrays = (state, weights, residual_cross, products)
        accepted += flip_sweep(rng, *arrays, np.full(3, 10.0), NO_OWN, np.zeros(4))[1]
    assert accepted > 100
    expected = pool.T @ (target - (pool * state) @ weights)
    np.testing.assert_allclose(residual_cross, expected, atol=1e-10)


def test_columns_forced_in_or_out_stay_there():
    rng, pool, target, weights = problem(3)
    state = np.array([1, 0, 1, 0])
    odds = np.array([np.inf, -np.inf, 0.0, 0.0])
    visited = run(
        lambda *arrays: flip_sweep(rng, *arrays, np.full(3, 10.0), NO_OWN, odds),
        state,
        pool,
        target,
        weights,
        200,
    )
    assert (visited[:, 0] == 1).all()
    assert (visited[:, 1] == 0).all()
