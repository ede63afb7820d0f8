"""Results are in the units of the data, whatever the model was given, also from a file."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pymc_bid as bid
from pymc_bid.results.posterior import read_group
from tests.helpers.draws import as_idata, make_draws

PLANTED = bid.datasets.make_planted(rows=30, columns=8, rank=3, noise=0.3, seed=4)
RNG = np.random.default_rng(1)
CENTER, SCALE = RNG.normal(size=8) * 50, RNG.gamma(2.0, 20.0, 8)
VARYING = CENTER + SCALE * PLANTED.A
TABLE = VARYING.copy()
TABLE.insert(2, "always", 7.5)
J = [1, 4, 6]
OTHERS = [0, 2, 3, 5, 7]
HIDDEN = pd.DataFrame(RNG.normal(size=(4, 8)) * SCALE + CENTER, columns=VARYING.columns)


def standardised_draws(table, labels, observed=None, constant=("always",), sets=(J,)):
    """Draws of a model that was given the columns less their means, over their deviations."""
    center, scale = table.mean().to_numpy(), table.std(ddof=0).to_numpy()
    Z = ((table - center) / scale).fillna(0.0).to_numpy()
    made = make_draws(Z, sets, draws=75, labels=labels, own_variance=True)
    constants = {"center": ("column", center), "scale": ("column", scale)}
    coords = {"column": labels}
    if constant:
        constants["constant_value"] = ("constant", [7.5] * len(constant))
        coords["constant"] = list(constant)
    if observed is not None:
        constants["observed"] = (("row", "column"), observed.astype(float))
    dataset = xr.Dataset(constants, coords=coords)
    groups = {name: read_group(made, name) for name in ("posterior", "sample_stats")}
    data = xr.Dataset({"A": (("row", "column"), Z)})
    return Z, as_idata(**groups, constant_data=dataset, observed_data=data)


def quietly(*args, **kwargs):
    """These chains were made up, and the verdict on them is not what is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return bid.decompose(*args, **kwargs)


Z, IDATA = standardised_draws(VARYING, VARYING.columns)


@pytest.fixture(scope="module")
def result():
    return quietly(IDATA, TABLE, ci_prob=0.9)


def shares_by_hand():
    """R² of each column that is not chosen, for each draw, from the draws and the raw data."""
    posterior = IDATA["posterior"]
    Y = np.asarray(posterior["Y"]).reshape(-1, 8, 8)
    raw, mean, deviation = (
        np.asarray(values) for values in (VARYING, VARYING.mean(), VARYING.std(ddof=0))
    )
    found = []
    for weights in Y:
        slopes = weights[J] * deviation / deviation[J][:, None]
        residual = raw - mean - (raw[:, J] - mean[J]) @ slopes
        found.append(1 - (residual**2).sum(axis=0) / ((raw - mean) ** 2).sum(axis=0))
    return np.array(found)[:, OTHERS]


def test_every_number_of_the_headline_is_that_of_draws_and_raw_data(result):
    shares = shares_by_hand()
    mean = shares.mean(axis=0)
    names = VARYING.columns[OTHERS]
    said = re.match(
        r"3 of 8 columns explain (\S+) % of the variance of the other five "
        r"\((\S+) % (\S+) … (\S+) % (\S+)\)\.",
        result.headline(),
    ).groups()
    assert [said[2], said[4]] == [names[mean.argmin()], names[mean.argmax()]]
    for number, share in ((said[0], mean.mean()), (said[1], mean.min()), (said[3], mean.max())):
        assert float(number) == pytest.approx(100 * share, abs=0.5)
    assert result.headline() in repr(result)


def test_r2_is_that_of_the_draws(result):
    shares = shares_by_hand()
    assert result.r2.index.tolist() == VARYING.columns[OTHERS].tolist()
    np.testing.assert_allclose(result.r2["r2"], shares.mean(axis=0), rtol=1e-9)
    ends = np.quantile(shares, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(result.r2[["lower", "upper"]].T, ends, rtol=1e-9)
    mean = shares.mean(axis=1)
    expected = [mean.mean(), *np.quantile(mean, [0.05, 0.95])]
    np.testing.assert_allclose(result.mean_r2, expected, rtol=1e-9)


def test_columns_and_fit_are_in_the_units_of_the_data(result):
    assert result.columns == VARYING.columns[J].tolist()
    np.testing.assert_array_equal(result.C, TABLE[result.columns])
    weights = np.asarray(IDATA["posterior"]["Y"]).reshape(-1, 8, 8)[:, J].mean(axis=0)
    weights[:, J] = np.eye(3)
    np.testing.assert_allclose(result.W, weights, atol=1e-12)
    fit = CENTER_OF_DATA + (Z[:, J] @ weights) * SCALE_OF_DATA
    np.testing.assert_allclose(result.reconstruct(), fit, rtol=1e-10, atol=1e-9)
    again = result.intercept.values + result.C.values @ result.slopes.values
    np.testing.assert_allclose(again, fit, rtol=1e-10, atol=1e-9)
    np.testing.assert_array_equal(result.slopes[:, J], np.eye(3))
    np.testing.assert_array_equal(result.intercept[J], 0.0)
    assert result.constants.to_dict() == {"always": 7.5} and "always" in repr(result)


CENTER_OF_DATA, SCALE_OF_DATA = VARYING.mean().to_numpy(), VARYING.std(ddof=0).to_numpy()


def test_new_rows_are_predicted_in_the_units_of_the_data(result):
    found = result.transform(HIDDEN)
    by_hand = quietly(make_draws(Z, [J], draws=75, own_variance=True), Z, ci_prob=0.9)
    standardised = (HIDDEN - CENTER_OF_DATA) / SCALE_OF_DATA
    expected = by_hand.transform(standardised.to_numpy())
    for name in ("mean", "lower", "upper"):
        values = CENTER_OF_DATA + SCALE_OF_DATA * expected[name].values
        np.testing.assert_allclose(found[name], values, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found["sd"], expected["sd"] * SCALE_OF_DATA, rtol=1e-9)
    np.testing.assert_array_equal(found["mean"][:, J], HIDDEN.iloc[:, J])


def test_masked_entries_of_new_rows_are_missing(result):
    rows = TABLE.head().to_numpy()
    masked = np.ma.masked_array(np.where(np.eye(*rows.shape), 1e6, rows), np.eye(*rows.shape))
    with pytest.raises(ValueError, match="new_rows has 1 entries that are nan"):
        result.transform(masked)


def test_a_saved_result_predicts_the_same(result, tmp_path):
    result.to_netcdf(tmp_path / "result.nc")
    again = bid.InterpolativeDecomposition.from_netcdf(tmp_path / "result.nc")
    before, after = (one.transform(HIDDEN) for one in (result, again))
    for name in before:
        np.testing.assert_allclose(after[name], before[name], rtol=0, atol=1e-8)
    pd.testing.assert_frame_equal(again.r2, result.r2)
    assert again.headline() == result.headline() and repr(again) == repr(result)


def test_columns_are_found_in_the_table_by_label_or_position(result):
    shuffled = quietly(IDATA, TABLE[TABLE.columns[::-1]], ci_prob=0.9)
    assert repr(shuffled) == repr(result)
    positions = np.delete(np.arange(9), 2)
    _, unlabelled = standardised_draws(VARYING, positions, constant=(2,))
    plain = quietly(unlabelled, TABLE.to_numpy(), ci_prob=0.9)
    assert plain.columns == [positions[j] for j in J]
    np.testing.assert_allclose(plain.reconstruct(), result.reconstruct(), rtol=1e-10)
    rows = HIDDEN.copy()
    rows.insert(2, "always", 7.5)
    np.testing.assert_allclose(
        plain.transform(rows.to_numpy())["mean"], result.transform(HIDDEN)["mean"], rtol=1e-10
    )


def test_labels_that_are_there_twice_or_not_at_all_are_named(result):
    twice = TABLE.rename(columns={"c03": "c02"})
    with pytest.raises(ValueError, match="A has several columns that are called c02"):
        quietly(IDATA, twice)
    with pytest.raises(ValueError, match="A lacks columns that the model has: c03"):
        quietly(IDATA, TABLE.drop(columns="c03"))
    doubled = pd.concat([HIDDEN, HIDDEN[[result.columns[0]]]], axis=1)
    with pytest.raises(ValueError, match=f"new_rows has several.*{result.columns[0]}"):
        result.transform(doubled)
    with pytest.raises(ValueError, match="other entries"):
        quietly(IDATA, 2 * TABLE)


def test_missing_entries_are_predicted_in_the_units_of_the_data():
    gaps = VARYING.mask(np.random.default_rng(0).random(VARYING.shape) < 0.1)
    observed = gaps.notna().to_numpy()
    filled, idata = standardised_draws(gaps, gaps.columns, observed, constant=())
    found = bid.impute(idata, gaps)
    posterior = read_group(idata, "posterior")
    observed = xr.Dataset({"observed": (("row", "column"), observed.astype(float))})
    own = xr.Dataset({"own_mean": ("basis", np.zeros(8))})
    plain = as_idata(posterior=posterior, constant_data=xr.merge([observed, own]))
    center, scale = gaps.mean().to_numpy(), gaps.std(ddof=0).to_numpy()
    expected = bid.impute(plain, (gaps - center) / scale)
    places = gaps.columns.get_indexer_for(found["column"])
    for name in ("mean", "lower", "upper"):
        values = center[places] + scale[places] * expected[name]
        np.testing.assert_allclose(found[name], values, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found["sd"], scale[places] * expected["sd"], rtol=1e-9)
    # R² is that of the observed entries.
    result = quietly(idata, gaps)
    weights = np.asarray(posterior["Y"]).reshape(-1, 8, 8)[:, J]
    residual = np.where(gaps.notna(), filled - filled[:, J] @ weights, np.nan)
    total = (np.where(gaps.notna(), filled, np.nan) ** 2).T
    shares = 1 - np.nansum(residual**2, axis=1) / np.nansum(total, axis=1)
    np.testing.assert_allclose(result.r2["r2"], shares[:, OTHERS].mean(axis=0), rtol=1e-8)


def test_compressed_tables_have_the_same_r2(result):
    small = bid.compress(TABLE)
    compressed = quietly(IDATA, small, ci_prob=0.9)
    np.testing.assert_allclose(compressed.r2, result.r2, rtol=1e-7)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([], "None of 8 columns is chosen"),
        (list(range(8)), "none is left to be explained"),
        (list(range(7)), r"7 of 8 columns explain \S+ % of the variance of the other one \(c07\)"),
        ([0], "1 of 8 columns explains"),
    ],
)
def test_the_headline_of_few_and_of_many_columns(chosen, said):
    few = quietly(make_draws(Z, [chosen], labels=VARYING.columns, own_variance=True), VARYING)
    assert re.search(said, few.headline())
    assert "nan" not in few._repr_html_()


def test_a_notebook_shows_names_as_text():
    names = ["<b>bold</b>", *VARYING.columns[1:]]
    _, idata = standardised_draws(VARYING, names, constant=(), sets=[[0, 4, 6]])
    page = quietly(idata, VARYING.set_axis(names, axis=1))._repr_html_()
    assert "&lt;b&gt;bold" in page and "<b>bold" not in page
    assert "src=" not in page and len(page) < 10_000


def test_credible_sets_hold_what_they_claim():
    made = make_draws(Z, [J, J, J, [0, *J], [*J, 7]], draws=75, own_variance=True)
    found = quietly(made, Z, number_of_sets=1)
    assert len(found.sets) == 1
    table = found.credible_sets(0.75)
    assert table["columns"].tolist()[0] == J and table["sum"].iloc[-1] == pytest.approx(0.8)
    assert len(table) == 2 and len(found.credible_sets(0.6)) == 1
    assert len(found.credible_sets(0.95)) == 3
    with pytest.raises(ValueError, match="probability must be between 0 and 1"):
        found.credible_sets(1.0)


def test_groups_say_how_alike_their_columns_are():
    twins = PLANTED.A.copy()
    twins["c05"] = -2 * twins["c01"] + 0.05 * twins["c00"] + 3
    sets = [[1, 4, 6], [5, 4, 6]]
    found = quietly(make_draws(twins, sets, labels=twins.columns), twins).groups
    (group,) = [row for row in found.itertuples() if row.columns == ["c01", "c05"]]
    expected = abs(np.corrcoef(twins["c01"], twins["c05"])[0, 1])
    assert group.least_correlation == pytest.approx(expected, rel=1e-9)
