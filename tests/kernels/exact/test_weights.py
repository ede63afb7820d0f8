"""The sweep over the weights: its draws, and the errors and rows that it is asked for."""

import numpy as np
import pytest
from scipy import stats

from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.exact import weights as kernel
from pymc_bid.kernels.exact.weights import sweep_weights
from pymc_bid.regression import reduce_regression

ALPHA = 1e-5


def problem(rows=30, size=9, targets=7, seed=0):
    rng = np.random.default_rng(seed)
    pool, target = rng.normal(size=(rows, size)), rng.normal(size=(rows, targets))
    active = np.array([0, 2, 3, 5, 7, 8])
    prior = WeightPrior.of((size, targets), 0.1, 1.0, -1.0, 1.0)
    return rng, reduce_regression(pool, target), active, prior


def test_rows_that_are_off_wait_to_be_asked_for():
    rng, data, active, prior = problem()
    weights = np.zeros(data.shape)
    arguments = (rng, active, weights, data.products, np.ones(7), prior)
    sweep_weights(*arguments, False)
    assert not weights[[1, 4, 6]].any()
    assert weights[active].all()
    sweep_weights(*arguments, True)
    assert weights.all()


def test_columns_of_a_block_are_drawn_like_columns_alone():
    # The mean of a weight given the others, through the whole sweep, is what a block could mix up.
    rng, data, active, prior = problem()
    weights = rng.uniform(-1, 1, size=data.shape)
    draws = np.empty((3000, active.size, 7))
    for draw in draws:
        new = weights.copy()
        sweep_weights(rng, active, new, data.products, np.full(7, 0.5), prior, False)
        draw[:] = new[active]
    gram, cross = data.products.gram, data.products.cross
    for target in range(7):
        for i, row in enumerate(active):
            others = np.delete(np.arange(active.size), i)
            precision = 0.5 * gram[row, row] + 1.0
            # Those before it are new, those after it old.
            given = np.where(
                np.arange(active.size) < i, draws[:, :, target], weights[active, target]
            )
            linear = cross[row, target] - given[:, others] @ gram[row, active[others]]
            mean, sd = (0.5 * linear + 0.1) / precision, precision**-0.5
            low, high = (-1 - mean) / sd, (1 - mean) / sd
            rank = stats.truncnorm.cdf(draws[:, i, target], low, high, mean, sd)
            assert stats.kstest(rank, "uniform").pvalue > ALPHA


@pytest.mark.parametrize(
    ("mean", "precision", "lower", "upper"),
    [(0.0, 1.0, -1.0, 1.0), (0.4, 0.7, -1.0, 0.9), (0.0, 1.0, 0.0, np.inf), (3.0, 4.0, -1.0, 1.0)],
)
def test_rows_that_are_off_follow_the_prior(mean, precision, lower, upper):
    size, targets = 3, 1500
    data = reduce_regression(np.ones((2, size)), np.ones((2, targets)))
    prior = WeightPrior.of((size, targets), mean, precision, lower, upper)
    weights = np.zeros((size, targets))
    sweep_weights(
        *(np.random.default_rng(3), np.array([1]), weights, data.products, np.zeros(targets)),
        *(prior, True),
    )
    sd = precision**-0.5
    exact = stats.truncnorm((lower - mean) / sd, (upper - mean) / sd, mean, sd)
    assert stats.kstest(weights.ravel(), exact.cdf).pvalue > ALPHA
    assert (weights > lower).all() and (weights < upper).all()
    assert targets > kernel.BLOCK
