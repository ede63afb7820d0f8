"""The peers' numbers, on a matrix whose answer is known."""

import sys

import numpy as np
import pandas as pd
import pytest

import pymc_bid as bid
from examples.paper import comparison


def test_every_method_is_between_the_svd_and_random_columns():
    data = bid.datasets.make_planted(40, 12, rank=4, noise=0.1, duplicates=1, seed=1).A.to_numpy()
    rows = {name: (error, bounded) for name, error, bounded, _ in comparison.compare(data, 4)}
    lower, upper = rows.pop("SVD bound")[0], rows["random columns, mean"][0]
    best = rows["best subset"][0]
    assert {"scipy ID", "pivoted QR", "greedy", "greedy, then exchanges"} <= set(rows)
    for name, (error, bounded) in rows.items():
        assert lower < error <= upper, name
        assert best <= error * (1 + 1e-9), name
        assert bounded >= error * (1 - 1e-6), name


def test_a_method_that_fails_is_named_and_the_others_go_on(monkeypatch, capsys):
    def fail(data, k):
        raise ValueError("no columns today")

    methods = {"broken": fail, "greedy": comparison.greedy_columns}
    monkeypatch.setattr(comparison, "methods", lambda: methods)
    rows = list(comparison.compare(np.random.default_rng(0).normal(size=(9, 4)), 2))
    assert [row[0] for row in rows] == ["SVD bound", "greedy", "random columns, mean"]
    assert "broken, K = 2: ValueError: no columns today" in capsys.readouterr().out


def test_scikit_matter_is_left_out_if_it_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "skmatter", None)
    monkeypatch.setitem(sys.modules, "skmatter.feature_selection", None)
    assert "skmatter CUR" not in comparison.methods.__wrapped__()
    assert "extra `comparison`" in capsys.readouterr().out


def test_the_table_is_written(monkeypatch, tmp_path):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 26)))
    monkeypatch.setattr(comparison, "matrix", lambda name: data)
    monkeypatch.setattr(
        sys, "argv", ["comparison", "--data", "ccle_ec50", "--folder", str(tmp_path)]
    )
    monkeypatch.setattr(comparison, "methods", lambda: {"greedy": comparison.greedy_columns})
    comparison.main()
    table = pd.read_csv(tmp_path / "comparison.csv")
    assert list(table["k"].unique()) == [5, 10, 15, 24]
    greedy = table[table.method == "greedy"]["error"]
    assert (np.diff(greedy) < 0).all()
    assert greedy.iloc[0] == pytest.approx(
        comparison.unbounded_error(data.to_numpy(), comparison.greedy_columns(data.to_numpy(), 5))
    )
