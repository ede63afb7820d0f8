"""Densities of the noise variance: their integrals, and tables of them to draw from."""

import numba
import numpy as np
import pytest
from scipy import integrate, stats

from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    log_noise_density,
    log_noise_integral,
    log_table_density,
    tabulate_noise,
)
from pymc_bid.kernels.types import NoiseDensity


def one_block(shape, scale, targets, eigenvalues, explained):
    """A density of targets that share a Gram matrix."""
    eigenvalues, explained = np.atleast_2d(eigenvalues), np.atleast_2d(explained)
    return NoiseDensity(shape, scale, np.array([targets]), eigenvalues, explained)


DENSITIES = {
    "many entries": one_block(500.0, 80.0, 40.0, [30.0, 4.0], [90.0, 9.0]),
    "few entries": one_block(2.1, 1.2, 1.0, [3.0, 0.5], [2.0, 0.1]),
    "no columns": one_block(10.0, 4.0, 3.0, np.empty(0), np.empty(0)),
    "more columns than rows": one_block(2.6, 1e-3, 1.0, np.full(5, 2.0), np.full(5, 0.7)),
    "two modes": one_block(40.0, 0.02, 1.0, [1e4], [4e5]),
    "two blocks": NoiseDensity(
        *(90.0, 30.0, np.array([2.0, 5.0])),
        *(np.array([[30.0, 4.0], [11.0, 0.0]]), np.array([[9.0, 3.0], [20.0, 0.0]])),
    ),
}


@numba.njit(error_model="numpy")
def density_at(x, density):
    return log_noise_density(x, density)


@numba.njit
def evaluate(x, density):
    return log_noise_density(x, density), log_noise_integral(density)


@numba.njit
def table_densities(xs, density):
    table = tabulate_noise(density, np.empty((2, MOST_POINTS)))
    return np.array([log_table_density(x, table) for x in xs])


@numba.njit
def draw(rng, number, density):
    table = tabulate_noise(density, np.empty((2, MOST_POINTS)))
    return np.array([draw_from_table(rng, table) for _ in range(number)])


@pytest.mark.parametrize("x", [-700.0, 0.0, 712.0])
def test_without_targets_it_is_the_density_of_the_prior_wherever_it_is(x):
    density = one_block(0.001, 0.001, 0.0, [30.0, 4.0], [0.0, 0.0])
    with np.errstate(over="ignore"):
        assert density_at(x, density) == pytest.approx(-0.001 * x - 0.001 * np.exp(-x))


@pytest.mark.parametrize("name", DENSITIES)
def test_the_integral_and_the_table_are_those_of_the_density(name):
    density = DENSITIES[name]
    grid = np.linspace(-25, 25, 200_001)
    logs = np.array([evaluate(x, density)[0] for x in grid[::20]])
    highest = logs.max()
    total = integrate.simpson(np.exp(logs - highest), x=grid[::20])
    assert evaluate(0.0, density)[1] == pytest.approx(highest + np.log(total), abs=1e-4)
    tabled = np.exp(table_densities(grid, density))
    assert integrate.trapezoid(tabled, grid) == pytest.approx(1, abs=1e-3)
    # Close to the density where its mass is.
    massive = logs > highest - 5
    ratio = tabled[::20][massive] / (np.exp(logs[massive] - highest) / total)
    assert np.abs(ratio - 1).max() < 0.2


@pytest.mark.parametrize("name", ["many entries", "few entries"])
def test_draws_have_the_density_of_the_table(name):
    density = DENSITIES[name]
    drawn = draw(np.random.default_rng(1), 20_000, density)
    grid = np.linspace(drawn.min() - 2, drawn.max() + 2, 20_001)
    cumulated = np.cumsum(np.exp(table_densities(grid, density))) * (grid[1] - grid[0])
    assert stats.kstest(np.interp(drawn, grid, cumulated), "uniform").pvalue > 1e-5
