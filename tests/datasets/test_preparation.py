"""Each of the paper's steps does what it says, alone and together."""

import numpy as np
import pandas as pd
import pytest

from pymc_bid.datasets import load, prepare

NOTHING = {"fewest_observed": 0, "standardise": False, "fill": None}


def frame():
    values = [[1.0, np.nan, 2.0], [3.0, 5e-320, 7.0], [np.nan, np.nan, 4.0]]
    return pd.DataFrame(values, index=["a", "b", "c"], columns=["x", "y", "z"])


def test_without_any_step_the_data_stay_as_they_are():
    pd.testing.assert_frame_equal(prepare(frame(), **NOTHING), frame())


def test_rows_with_few_observed_entries_are_dropped():
    kept = prepare(frame(), **{**NOTHING, "fewest_observed": 2})
    assert list(kept.index) == ["a", "b"]


def test_uninitialised_entries_become_missing_before_rows_are_counted():
    kept = prepare(frame(), **{**NOTHING, "fewest_observed": 3})
    assert list(kept.index) == ["b"]
    assert np.isnan(prepare(frame(), **NOTHING, uninitialised=False).loc["b", "y"])
    with pytest.raises(ValueError, match="fewest_observed = 3"):
        prepare(frame(), **{**NOTHING, "fewest_observed": 3}, uninitialised=False)


def test_zeros_are_not_uninitialised():
    zero = pd.DataFrame({"x": [0.0, 1.0]})
    assert prepare(zero, **NOTHING, uninitialised=False).loc[0, "x"] == 0


def test_one_mean_and_one_standard_deviation_for_all_observed_entries():
    prepared = prepare(frame(), **{**NOTHING, "standardise": True})
    observed = prepared.to_numpy()[prepared.notna().to_numpy()]
    assert observed.mean() == pytest.approx(0)
    assert observed.std() == pytest.approx(1)
    raw = frame().to_numpy()
    assert prepared.loc["b", "z"] == pytest.approx((7 - np.nanmean(raw)) / np.nanstd(raw))


def test_missing_entries_are_filled_after_standardising():
    prepared = prepare(frame(), fewest_observed=0, fill=0.0)
    assert (prepared.to_numpy()[frame().isna().to_numpy()] == 0).all()
    assert prepared.loc["b", "y"] < 0


def test_copies_stand_next_to_their_columns():
    prepared = prepare(frame(), **NOTHING, duplicates=1)
    assert list(prepared.columns) == ["x", "x (2)", "y", "y (2)", "z", "z (2)"]
    np.testing.assert_array_equal(prepared.iloc[:, ::2], prepared.iloc[:, 1::2])


def test_data_that_do_not_vary_are_refused():
    with pytest.raises(ValueError, match="standardise=False"):
        prepare(pd.DataFrame({"x": [2.0, 2.0]}), fewest_observed=1)


def test_infinite_entries_are_refused():
    with pytest.raises(ValueError, match="infinite"):
        prepare(pd.DataFrame({"x": [np.inf, 2.0]}))


@pytest.mark.parametrize(
    ("name", "uninitialised", "rows", "observed"),
    [
        ("ccle_ec50", True, 502, 0.632),
        ("ccle_ec50", False, 501, 0.598),
        ("ccle_ic50", True, 504, 0.965),
    ],
)
def test_the_papers_table_of_the_data_is_met(paper_data, name, uninitialised, rows, observed):
    data = load(name, paper_data)
    kept = prepare(data, uninitialised=uninitialised, fill=None)
    assert kept.shape == (rows, 24)
    assert kept.notna().to_numpy().mean() == pytest.approx(observed, abs=0.001)
    prepared = prepare(data, uninitialised=uninitialised, duplicates=1)
    assert prepared.shape == (rows, 48)
    assert np.linalg.matrix_rank(prepared) == 24
