"""A Gibbs sampler around the collapsed kernels, small enough to be checked by reading it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.collapsed_flip import collapsed_flips
from pymc_bid.kernels.informed_moves import informed_moves
from pymc_bid.kernels.random_numbers import generator_at, stream_of
from pymc_bid.kernels.truncated_normal import draw_truncated_normal
from pymc_bid.regression import Products
from pymc_bid.steps.likeness import likeness
from tests.reference.enumeration import total_variation
from tests.reference.monte_carlo import assert_means_agree


@dataclass
class Problem:
    """Data, prior and known noise variance; every field of the prior may be a scalar.

    The noise variance may differ between the targets, and every entry of a target may have a row
    weight, zero if it is missing.
    """

    pool: np.ndarray
    target: np.ndarray
    noise_variance: np.ndarray | float = 1.0
    mean: np.ndarray | float = 0.0
    precision: np.ndarray | float = 1.0
    lower: np.ndarray | float = -1.0
    upper: np.ndarray | float = 1.0
    log_prior_odds: np.ndarray | float = 0.0
    own_log_density: np.ndarray | None = None
    row_weights: np.ndarray | None = None

    @property
    def shape(self):
        return self.pool.shape[1], self.target.shape[1]

    @property
    def prior(self):
        """As the steps pass it."""
        return WeightPrior.of(self.shape, self.mean, self.precision, self.lower, self.upper)

    @property
    def own(self):
        """Which targets have a density of their own when chosen: all, or none."""
        size = self.shape[0]
        if self.own_log_density is None:
            return OwnColumns.none(size)
        constant = 0.5 * self.products.rows * np.log(2 * np.pi)
        return OwnColumns(np.arange(size)[:, None], self.own_log_density + constant)

    @property
    def products(self):
        """Cross products by their definition, a pattern for every target if there are weights."""
        pool, target = self.pool, self.target
        if self.row_weights is None:
            gram = pool.T @ pool
            pattern, rows = np.zeros(target.shape[1], np.int64), np.full(target.shape[1], len(pool))
            squares = np.sum(target**2, axis=0)
            return Products(gram, gram[None], pattern, pool.T @ target, squares, rows.astype(float))
        weights = self.row_weights
        grams = np.array([pool.T @ (weight[:, None] * pool) for weight in weights.T])
        return Products(
            grams.mean(axis=0),
            grams,
            np.arange(target.shape[1]),
            pool.T @ (weights * target),
            np.sum(weights * target**2, axis=0),
            np.sum(weights > 0, axis=0).astype(float),
        )

    @property
    def variances(self):
        """Noise variance of every target."""
        return np.array(np.broadcast_to(np.asarray(self.noise_variance, float), self.shape[1:]))

    @property
    def moments(self):
        """What the search of warm-up knows of the data and the prior."""
        return self.products, self.prior, self.own

    @property
    def likeness(self):
        """The model without bounds that proposes and searches."""
        return likeness(self.products, self.variances, self.prior, self.own).model

    def interpolated(self, state):
        """Which targets are not chosen columns with a density of their own."""
        if self.own_log_density is None:
            return np.ones(self.shape[1], bool)
        return np.asarray(state) == 0

    @property
    def odds(self):
        return np.array(np.broadcast_to(np.asarray(self.log_prior_odds, float), self.shape[:1]))

    def residual_cross(self, state, weights):
        residual = self.target - (self.pool * state) @ weights
        return self.pool.T @ (residual if self.row_weights is None else self.row_weights * residual)

    def draw_weights(self, rng):
        return _draw_prior(rng, *self.prior)


POWERS = np.array([0.0, 0.5, 1.0])
SWAPS_ONLY = ((0.0, 0.0), 0)
"""Limits and number of visits of `informed_moves` without flips."""

flip, swap = collapsed_flips.compiled, informed_moves.compiled


@njit
def _draw_prior(rng, mean, precision, lower, upper):
    weights = np.empty(mean.shape)
    for row in range(mean.shape[0]):
        for target in range(mean.shape[1]):
            weights[row, target] = draw_truncated_normal(
                rng,
                mean[row, target],
                precision[row, target],
                lower[row, target],
                upper[row, target],
            )
    return weights


@njit
def _weight_sweep(rng, state, weights, residual_cross, products, noise_variance, prior, own):
    """Draw every weight of the active rows given all others: the formula of the model."""
    mean, precision, lower, upper = prior
    has_identity = own.targets.shape[1] > 0
    for row in range(weights.shape[0]):
        if state[row] == 0:
            continue
        for target in range(weights.shape[1]):
            gram = products.grams[products.pattern[target]]
            before = weights[row, target]
            information = 1.0 / noise_variance[target]
            if has_identity and state[target] == 1:
                information = 0.0
            total = gram[row, row] * information + precision[row, target]
            linear = (residual_cross[row, target] + gram[row, row] * before) * information
            linear += precision[row, target] * mean[row, target]
            after = draw_truncated_normal(
                rng, linear / total, total, lower[row, target], upper[row, target]
            )
            weights[row, target] = after
            residual_cross[:, target] -= gram[:, row] * (after - before)


@njit
def _chain(
    stream,
    state,
    weights,
    products,
    noise_variance,
    prior,
    own,
    log_prior_odds,
    likeness,
    powers,
    iterations,
    flips,
    number_of_swaps,
    weight_sweeps,
    companion_sizes,
):
    rng = generator_at(stream)
    states = np.empty((iterations, state.shape[0]), np.int64)
    trace = np.empty((iterations, *weights.shape))
    accepted = 0
    for iteration in range(iterations):
        residual_cross = np.empty(weights.shape)
        for column in range(weights.shape[1]):
            gram = products.grams[products.pattern[column]]
            fitted = gram @ (state * weights[:, column])
            residual_cross[:, column] = products.cross[:, column] - fitted
        if flips:
            accepted += flip(
                stream,
                state,
                weights,
                residual_cross,
                products,
                noise_variance,
                prior,
                own,
                log_prior_odds,
                companion_sizes,
                np.arange(state.shape[0]),
            )[1]
        if number_of_swaps > 0:
            accepted += swap(
                stream,
                state,
                weights,
                residual_cross,
                products,
                noise_variance,
                prior,
                own,
                log_prior_odds,
                companion_sizes,
                likeness,
                *SWAPS_ONLY,
                powers,
                number_of_swaps,
            )[1][1]
        for _ in range(weight_sweeps):
            _weight_sweep(rng, state, weights, residual_cross, products, noise_variance, prior, own)
        states[iteration] = state
        trace[iteration] = weights
    return states, trace, accepted


def run_chain(
    problem,
    seed,
    iterations,
    *,
    state=None,
    flips=True,
    number_of_swaps=0,
    weight_sweeps=1,
    companion_sizes=(0, 1, 3),
    likeness=None,
    powers=POWERS,
):
    """Run flips and swaps, then sweeps over the active weights; no burn-in is thrown away.

    Returns
    -------
    states : (iterations, N) array
    weights : (iterations, N, L) array
    accepted : int
    """
    rng = np.random.default_rng(seed)
    if state is None:
        state = rng.integers(0, 2, problem.shape[0])
    return _chain(
        stream_of(rng),
        np.array(state, np.int64),
        problem.draw_weights(rng),
        problem.products,
        problem.variances,
        problem.prior,
        problem.own,
        problem.odds,
        problem.likeness if likeness is None else likeness,
        np.array(powers, np.float64),
        iterations,
        flips,
        number_of_swaps,
        weight_sweeps,
        np.array(companion_sizes, np.int64),
    )


def assert_visits_agree(exact, states, label=""):
    """Fail unless visit frequencies are the exact probabilities: in total, and state by state."""
    listed = np.array(list(exact))
    visited = np.all(states[:, None, :] == listed, axis=2)
    assert np.all(visited.any(axis=1)), f"{label}: a state of probability zero was visited"
    probability = np.array(list(exact.values()))
    # Batch means of a state that is hardly ever visited are no normal numbers.
    common = probability > 2e-3
    assert_means_agree(
        visited[:, common], np.tile(probability[common], (50, 1)), alpha=1e-5, label=label
    )
    assert total_variation(exact, states) <= 0.01, label


def awkward_problems():
    """Problems on which rounding has every chance to break a constraint; all of them bounded."""
    rng = np.random.default_rng(7)
    base = rng.normal(size=(9, 3))
    signed_copies = np.hstack([base, -base, base])
    nearly_singular = np.hstack([base, base @ rng.normal(size=(3, 5)) + 1e-9])
    with_zeros = np.hstack([base, np.zeros((9, 2))])
    problems = {}
    for name, pool in {
        "signed copies": signed_copies,
        "nearly singular": nearly_singular,
        "zero columns": with_zeros,
        "one column": base[:, :1],
        "huge entries": 1e6 * base,
    }.items():
        for noise_variance in (1.0, 1e-6, 1e-12):
            problems[f"{name}, noise variance {noise_variance}"] = Problem(
                pool, pool if pool.shape[1] > 1 else base, noise_variance
            )
    problems["bounds without zero"] = Problem(base, base.copy(), 1e-3, lower=0.25, upper=2.0)
    problems["bounds at the mean"] = Problem(base, base.copy(), 1e-3, mean=5.0, precision=1e4)
    return problems


def assert_sound(problem, state, weights, residual_cross, label=""):
    """Fail if a weight is out of bounds or the residual as tracked is not the residual."""
    _, _, lower, upper = problem.prior
    assert np.all(np.isfinite(weights)), label
    assert np.all((lower <= weights) & (weights <= upper)), label
    assert np.all((state == 0) | (state == 1)), label
    expected = problem.residual_cross(state, weights)
    scale = np.abs(problem.pool.T @ problem.target).max()
    followed = problem.interpolated(state)
    np.testing.assert_allclose(
        residual_cross[:, followed],
        expected[:, followed],
        rtol=0,
        atol=1e-8 * scale,
        err_msg=label,
    )
