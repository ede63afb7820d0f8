"""The matrix with the identity: density, forward draws, shapes and errors."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_bid as bid
from tests.reference.monte_carlo import assert_means_agree

STATE = np.array([1, 0, 1, 0])
RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(-1, 1, size=(4, 4))
MEAN = RNG.normal(size=(5, 4))
OMEGA = np.array([0.5, 1.0, 2.0, 1.5])
SIGMA = 0.3


def simulate(rng, rows, mean):
    """Chosen columns first, the others given them, written out."""
    drawn = mean + OMEGA * rng.normal(size=(rows, 4))
    for column in (1, 3):
        fit = drawn[:, 0] * WEIGHTS[0, column] + drawn[:, 2] * WEIGHTS[2, column]
        drawn[:, column] = fit + SIGMA * rng.normal(size=rows)
    return drawn


@pytest.mark.usefixtures("interpreted")
def test_density_is_that_of_the_formula():
    value = np.random.default_rng(1).normal(size=(5, 4))
    expected = np.empty((5, 4))
    for column in range(4):
        if STATE[column]:
            expected[:, column] = stats.norm.logpdf(
                value[:, column], MEAN[:, column], OMEGA[column]
            )
        else:
            fit = value[:, [0, 2]] @ WEIGHTS[[0, 2], column]
            expected[:, column] = stats.norm.logpdf(value[:, column], fit, SIGMA)
    variable = bid.Interpolation.dist(STATE, WEIGHTS, SIGMA, OMEGA, MEAN)
    np.testing.assert_allclose(pm.logp(variable, value).eval(), expected, rtol=1e-10)


@pytest.mark.usefixtures("interpreted")
def test_forward_draws_have_the_moments_of_the_formula():
    variable = bid.Interpolation.dist(STATE, WEIGHTS, SIGMA, OMEGA, 0.7, shape=(6, 4))
    drawn = pm.draw(variable, draws=2000, random_seed=2).reshape(-1, 4)
    exact = simulate(np.random.default_rng(3), 12_000, 0.7)

    def moments(draws):
        products = draws[:, :, None] * draws[:, None, :]
        return np.hstack([draws, products[:, *np.triu_indices(4)]])

    assert_means_agree(moments(drawn), moments(exact), alpha=1e-5)


def test_compiled_and_plain_draws_are_the_same_numbers():
    variable = bid.Interpolation.dist(STATE, WEIGHTS, SIGMA, OMEGA, MEAN)
    plain = pm.draw(variable, random_seed=4, mode="FAST_COMPILE")
    np.testing.assert_allclose(pm.draw(variable, random_seed=4), plain, rtol=1e-12)


@pytest.mark.usefixtures("interpreted")
def test_rows_come_from_data_dims_or_mean():
    assert bid.Interpolation.dist(STATE, WEIGHTS, 1.0, 1.0, shape=(7, 4)).eval().shape == (7, 4)
    assert bid.Interpolation.dist(STATE, WEIGHTS, 1.0, 1.0, MEAN).eval().shape == (5, 4)
    with pm.Model():
        observed = bid.Interpolation("A", STATE, WEIGHTS, 1.0, 1.0, observed=MEAN)
    assert observed.eval().shape == (5, 4)
    with pytest.raises(ValueError, match="number of rows"):
        bid.Interpolation.dist(STATE, WEIGHTS, 1.0, 1.0)


def test_a_state_that_is_no_state_is_refused():
    with pytest.raises(ValueError, match="state must be a vector of 0 and 1"):
        bid.Interpolation.dist(STATE * 1.0, WEIGHTS, 1.0, 1.0, MEAN)


@pytest.mark.usefixtures("interpreted")
def test_scales_that_are_not_positive_are_refused():
    variable = bid.Interpolation.dist(STATE, WEIGHTS, -1.0, OMEGA, MEAN)
    with pytest.raises(Exception, match="sigma"):
        pm.logp(variable, MEAN).eval()
