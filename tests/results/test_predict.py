"""Predictions for new rows are the mixture over draws that they claim to be."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import pymc_bid as bid
from pymc_bid.results.posterior import read_group
from pymc_bid.results.predict import predict_rows
from tests.helpers.draws import as_idata, make_draws


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


def test_missing_entries_of_new_rows_have_advice_that_can_be_followed(planted, result):
    rows = planted.A.iloc[200:210].copy()
    rows.iloc[3, rows.columns.get_loc(planted.columns[1])] = np.nan
    with pytest.raises(ValueError, match=f"first at row {rows.index[3]}, column") as error:
        result.transform(rows)
    assert planted.columns[1] in str(error.value) and "drop their rows" in str(error.value)
    # transform has no such argument.
    assert "missing=" not in str(error.value)
    rows.iloc[3] = np.inf
    with pytest.raises(ValueError, match="new_rows has 3 entries that are nan or infinite"):
        result.transform(rows)


DATES = pd.date_range("2020-02-03", periods=4, freq="D")
LABELS = {
    "days": DATES,
    "hours": pd.date_range("2020-02-03", periods=4, freq="6h"),
    "time zones": DATES.tz_localize("UTC"),
    "months": pd.period_range("2020", periods=4, freq="M"),
    "times": pd.to_timedelta(range(4), "h"),
    "levels": pd.MultiIndex.from_product([["a", "b"], DATES[:2]]),
    "years": [2001, 2002, 2003, 2005],
}


@pytest.mark.filterwarnings("ignore:.*converged")
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_the_frame_of_the_model_is_known_by_any_labels(labels, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(3).normal(size=(9, 4)), columns=labels)
    model = bid.gbt(frame, k=2)
    idata = make_draws(frame.to_numpy(), [[1, 2]], labels=model.coords["basis"])
    found = bid.decompose(idata, frame)
    expected = found.transform(frame.to_numpy())["mean"]
    found.to_netcdf(tmp_path / "found.nc")
    again = bid.InterpolativeDecomposition.from_netcdf(tmp_path / "found.nc")
    for result in (found, again):
        np.testing.assert_allclose(result.transform(frame)["mean"], expected)
        chosen = frame.iloc[:, [2, 1]]
        np.testing.assert_allclose(result.transform(chosen)["mean"], expected)
    if not isinstance(labels, pd.MultiIndex):
        with pytest.raises(ValueError, match="new_rows has several columns that are called"):
            found.transform(frame.iloc[:, [1, 1, 2]])


@pytest.mark.filterwarnings("ignore:.*converged")
def test_zeros_that_stand_for_missing_entries_are_known():
    frame = pd.DataFrame(np.random.default_rng(3).normal(size=(9, 4)), columns=list("abcd"))
    frame.iloc[[0, 3], 1] = np.nan
    filled = frame.fillna(0.0)
    draws = make_draws(filled.to_numpy(), [[1, 2]], labels=frame.columns)
    groups = {name: read_group(draws, name) for name in ("posterior", "sample_stats")}
    observed = xr.Dataset({"A": (("row", "column"), filled.to_numpy())})
    idata = as_idata(**groups, observed_data=observed)
    found, same = bid.decompose(idata, frame), bid.decompose(idata, filled)
    assert found.data.drop_attrs().identical(same.data.drop_attrs())
    np.testing.assert_array_equal(found.transform(frame)["mean"], same.transform(filled)["mean"])
    with pytest.raises(ValueError, match="nan or infinite"):
        same.transform(frame)
    with pytest.raises(ValueError, match="nan or infinite"):
        bid.decompose(draws, frame)
