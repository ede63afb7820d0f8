"""Predictions for new rows are the mixture over draws that they claim to be."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pymc_bid as bid
from pymc_bid.results.predict import predict_rows
from tests.helpers.draws import make_draws


@pytest.mark.parametrize("of_columns", [False, True])
def test_moments_and_quantiles_are_those_of_the_mixture(of_columns):
    rng = np.random.default_rng(0)
    chosen = rng.normal(size=(7, 3)) * [[1], [5], [20], [1], [1], [0], [1]]
    weights = rng.uniform(-1, 1, (40, 3, 4))
    noise = rng.gamma(2.0, 0.05, (40, 4 if of_columns else 1))
    # Two far lumps, with hardly any mass between them, and one distribution over and over.
    weights[:20, :, 3] += 30
    weights[:, :, 2] = 0.5
    found = predict_rows(chosen, weights, noise, 0.9)
    centres = np.einsum("mk,skl->sml", chosen, weights)
    np.testing.assert_allclose(found.mean, centres.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.sd, np.sqrt(centres.var(axis=0) + noise.mean(axis=0)))
    for bound, tail in ((found.lower, 0.05), (found.upper, 0.95)):
        mass = stats.norm.cdf((bound - centres) / np.sqrt(noise)[:, None, :]).mean(axis=0)
        np.testing.assert_allclose(mass, tail, atol=1e-6)


@pytest.fixture(scope="module")
def planted():
    return bid.datasets.make_planted(rows=400, columns=12, rank=3, noise=0.5, seed=2)


@pytest.fixture(scope="module")
def result(planted):
    seen = planted.A.iloc[:200]
    chosen = [seen.columns.get_loc(name) for name in planted.columns]
    idata = make_draws(seen, [chosen], draws=100, labels=seen.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bid.decompose(idata, seen, ci_prob=0.95)


def test_intervals_of_hidden_rows_cover(planted, result):
    hidden = planted.A.iloc[200:]
    prediction = result.transform(hidden)
    rest = [name for name in hidden.columns if name not in planted.columns]
    inside = (prediction["lower"] <= hidden.to_numpy()) & (hidden.to_numpy() <= prediction["upper"])
    assert 0.92 < float(inside.sel(column=rest).mean()) < 0.98


def test_chosen_columns_are_kept(planted, result):
    hidden = planted.A.iloc[200:210]
    prediction = result.transform(hidden)
    for name in ("mean", "lower", "upper"):
        np.testing.assert_array_equal(
            prediction[name].sel(column=planted.columns), hidden[planted.columns]
        )
    np.testing.assert_array_equal(prediction["sd"].sel(column=planted.columns), 0)
    assert prediction["row"].values.tolist() == hidden.index.tolist()


def test_the_chosen_columns_in_any_order_are_enough(planted, result):
    hidden = planted.A.iloc[200:210]
    full = result.transform(hidden)
    some = result.transform(hidden[planted.columns[::-1]].assign(other=np.nan))
    array = result.transform(hidden.to_numpy())
    for found in (some, array):
        np.testing.assert_allclose(found["upper"], full["upper"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((2, 5)), "12 columns of the data, its shape is"),
        (np.zeros(12), "must be a matrix"),
        (pd.DataFrame({"x": [1.0]}), "lacks the chosen columns"),
        (np.full((2, 12), np.nan), "new_rows has 6 entries that are nan"),
    ],
    ids=str,
)
def test_bad_rows_are_named(result, rows, message):
    with pytest.raises(ValueError, match=message):
        result.transform(rows)
