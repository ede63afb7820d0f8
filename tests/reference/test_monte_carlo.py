"""Assertions scaled by Monte Carlo error pass on equal means and fail on unequal ones."""

import numpy as np
import pytest
from scipy import signal

from tests.reference.monte_carlo import (
    assert_means_agree,
    assert_uniform_ranks,
    randomised_rank,
    standard_errors,
)


def autoregressive(rng, correlation, shape):
    noise = rng.normal(size=shape) * np.sqrt(1 - correlation**2)
    return signal.lfilter([1.0], [1.0, -correlation], noise, axis=0)


def test_standard_errors_allow_for_autocorrelation():
    rng = np.random.default_rng(1)
    draws, correlation = 20_000, 0.9
    errors = standard_errors(autoregressive(rng, correlation, (draws, 40)))
    expected = np.sqrt((1 + correlation) / (1 - correlation) / draws)
    assert errors.mean() == pytest.approx(expected, rel=0.1)


def test_equal_means_pass_and_unequal_means_fail():
    rng = np.random.default_rng(2)
    independent = rng.normal(size=(10_000, 30))
    chain = autoregressive(rng, 0.9, (20_000, 30))
    assert_means_agree(independent, chain)
    chain[:, 7] += 0.4
    with pytest.raises(AssertionError, match=r"moments.*column 7"):
        assert_means_agree(independent, chain, label="moments")


def test_constant_columns_must_be_equal():
    assert_means_agree(np.full(100, 0.1), np.full(200, 0.1))
    with pytest.raises(AssertionError):
        assert_means_agree(np.full(100, 0.1), np.full(200, 0.2))


def test_values_that_are_not_finite_fail():
    with pytest.raises(AssertionError, match="not finite"):
        assert_means_agree(np.full(100, np.nan), np.zeros(100))


@pytest.mark.parametrize("discrete", [False, True])
def test_ranks_of_the_prior_among_itself_are_uniform(discrete):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(400, 100, 3))
    if discrete:
        values = (values > 0.5).astype(int)
    ranks = np.array([randomised_rank(rng, draws[0], draws[1:]) for draws in values])
    assert_uniform_ranks(ranks, bins=20, rank_count=100)


def test_ranks_of_another_distribution_fail():
    rng = np.random.default_rng(4)
    draws = rng.normal(size=(400, 99))
    truth = rng.normal(scale=1.6, size=(400, 1))
    ranks = np.sum(draws < truth, axis=1)
    with pytest.raises(AssertionError, match=r"sigma2.*column 0"):
        assert_uniform_ranks(ranks, bins=20, rank_count=100, label="sigma2")


def test_ranks_that_cannot_be_binned_are_refused():
    with pytest.raises(ValueError, match="multiple"):
        assert_uniform_ranks(np.zeros(100, dtype=int), bins=7, rank_count=100)
    with pytest.raises(ValueError, match="simulations"):
        assert_uniform_ranks(np.zeros(10, dtype=int), bins=20)
