"""Tables that are awkward, through the whole command."""

import contextlib
import io
import json

import numpy as np
import pandas as pd
import pytest

import pymc_bid as bid
from pymc_bid.command_line.main import DONE, NOT_CONVERGED, UNUSABLE, main

SHORT = ["--draws", "30", "--tune", "30", "--chains", "2", "--cores", "1", "--seed", "1", "--quiet"]


def fit(path, *options):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["fit", str(path), *SHORT, "--json", *map(str, options)])
    return code, json.loads(out.getvalue() or "{}"), err.getvalue()


@pytest.fixture(scope="module")
def table():
    return bid.datasets.make_planted(rows=70, columns=5, rank=2, noise=0.3, seed=4).A


def test_constant_columns_explain_nothing_in_the_papers_model(table, tmp_path):
    table.assign(small=0.1, large=1e6 + 0.1).to_csv(tmp_path / "constants.csv", index=False)
    code, found, _ = fit(tmp_path / "constants.csv", "--paper", "--k", "2")
    assert code in (DONE, NOT_CONVERGED)
    assert not {"small", "large"} & set(found["chosen"])


def test_gaps_of_chosen_columns_are_filled_in_the_result(table, tmp_path):
    hidden = np.random.default_rng(1).random(table.shape) < 0.1
    table.mask(hidden).to_csv(tmp_path / "gaps.csv", index=False)
    fit(tmp_path / "gaps.csv", "--paper", "--out", tmp_path / "result.nc")
    result = bid.InterpolativeDecomposition.from_netcdf(tmp_path / "result.nc")
    assert np.isfinite(result.C).all() and np.isfinite(result.reconstruct()).all()
    known = ~hidden[:, result.positions]
    np.testing.assert_allclose(
        result.C.values[known], table.to_numpy()[:, result.positions][known], rtol=1e-12
    )


@pytest.mark.parametrize("paper", [False, True])
def test_what_columns_explain_is_measured_on_held_out_rows_too(table, tmp_path, paper):
    table.iloc[:50].to_csv(tmp_path / "rows.csv", index=False)
    rest = table.iloc[50:]
    rest[rest.columns[::-1]].assign(more=1.0).to_csv(tmp_path / "rest.csv", index=False)
    options = ["--paper", "--k", "2"] if paper else []
    _, found, _ = fit(tmp_path / "rows.csv", "--held-out", tmp_path / "rest.csv", *options)
    known, rows = table.iloc[:50], rest
    if paper:
        known, rows = ((part - known.mean()) / known.std(ddof=0) for part in (known, rest))
    model = bid.gbt(known, k=2) if paper else bid.column_selection(known)
    sets = {"found": found["chosen"]}
    expected = bid.score_sets(model, sets, rows, best=False, random_seed=1).loc["found"]
    assert found["scores"]["found"]["r2"] == pytest.approx(expected["r2"], abs=1e-6)
    assert found["scores"]["found"]["coverage"] == pytest.approx(expected["coverage"])
    assert all("held_out_r2" in row for row in found["size_curve"].values())


def test_held_out_rows_without_a_column_are_refused_before_sampling(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.drop(columns="c01").to_csv(tmp_path / "rest.csv", index=False)
    code, _, said = fit(tmp_path / "rows.csv", "--held-out", tmp_path / "rest.csv")
    assert code == UNUSABLE and "--held-out" in said and "no column c01" in said


def test_errors_of_the_model_call_the_table_by_its_file(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 1.0, 1.0]}).to_csv(tmp_path / "one.csv")
    code, _, said = fit(tmp_path / "one.csv")
    assert code == UNUSABLE and "one.csv has one column that varies" in said
