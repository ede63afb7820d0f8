"""The prior of the number of columns."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.results.size_prior import size_prior

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize(
    "options",
    [{}, {"k": 3}, {"expected": 2}, {"include": ["c00"], "exclude": ["c02"]}],
    ids=lambda options: ", ".join(options) or "uniform",
)
def test_the_prior_of_the_size_is_that_of_forward_draws(options):
    A = bid.datasets.make_planted(rows=120, columns=8, rank=3, noise=0.4, seed=3).A
    model = bid.column_selection(A, **options)
    drawn = pm.draw(model["r"], draws=4000, random_seed=1).sum(axis=1)
    found = np.bincount(drawn, minlength=9) / 4000
    prior = size_prior(model, "r")
    # Nine frequencies, four cases.
    assert (np.abs(found - prior) <= 4.5 * np.sqrt(prior * (1 - prior) / 4000) + 1e-12).all()


def test_the_prior_of_the_size_with_odds_of_their_own():
    odds = np.array([0.2, 0.7, 1.0, 0.5])
    model = bid.gbt(np.random.default_rng(0).normal(size=(9, 4)), inclusion=odds)
    expected = np.zeros(5)
    for state in np.ndindex(2, 2, 2, 2):
        expected[sum(state)] += np.prod(np.where(state, odds, 1 - odds))
    np.testing.assert_allclose(size_prior(model, "r"), expected, atol=1e-12)
