"""How many exact copies are chosen along with a column, against a closed form.

Columns that are linearly independent, each there twice, and next to no noise: every column is
chosen, alone, as its copy, or with it. A pair of copies splits each weight w of the column, which
changes the evidence by ∫ p(u) p(w - u) du / p(w), with p the prior density of a weight. Weights are
0, and 1 in the column itself and its copy, where the bound cuts off half of the likelihood of a
single weight and nothing of a sum.
"""

import numpy as np
import pymc as pm
import pytest
from scipy import integrate, stats

import pymc_bid as bid
from tests.reference.monte_carlo import standard_errors

COLUMNS = 4


def gbt_density(weight):
    return stats.norm.pdf(weight)


def gbtn_density(weight):
    """Up to a constant: μ integrates to a normal of variance 1/τ + 1/τ_μ."""

    def at_precision(tau):
        variance = 1 / tau + 10
        return np.exp(-tau - weight**2 / (2 * variance)) / np.sqrt(variance)

    return integrate.quad(at_precision, 0, np.inf)[0]


def expected_number(density):
    grid = np.linspace(-1, 1, 401)
    values = np.array([density(weight) for weight in grid])
    values /= integrate.simpson(values, x=grid)
    at_zero = integrate.simpson(values**2, x=grid) / values[200]
    half = values[200:]
    at_one = integrate.simpson(half * half[::-1], x=grid[200:]) / values[-1]
    both = at_zero ** (2 * COLUMNS - 2) * (2 * at_one) ** 2
    return COLUMNS * (1 + both / (2 + both))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "density"), [(bid.gbt, gbt_density), (bid.gbtn, gbtn_density)], ids=["gbt", "gbtn"]
)
def test_the_number_of_copies_is_that_of_the_closed_form(model, density):
    data = np.repeat(np.random.default_rng(1).normal(size=(200, COLUMNS)), 2, axis=1)
    with model(data, beta_sigma=1e-4):
        idata = pm.sample(
            draws=4000,
            tune=200,
            chains=4,
            cores=2,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=["r", "K"],
        )
    chosen = np.asarray(idata["posterior"]["r"]).reshape(4, -1, COLUMNS, 2)
    assert chosen.any(axis=-1).all()
    number = np.asarray(idata["posterior"]["K"], dtype=float).reshape(-1, 1)
    error = standard_errors(number)[0]
    assert error < 0.05
    assert abs(number.mean() - expected_number(density)) < stats.t.isf(5e-5, 49) * error
