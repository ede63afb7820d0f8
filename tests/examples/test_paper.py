"""The study runs, resumes, and writes what it measured."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pymc_bid as bid
from examples.paper import __main__ as command
from examples.paper import figures, page
from examples.paper.cells import Cell, Settings, all_cells
from examples.paper.recorder import mean_autocorrelation, mean_squared_error
from examples.paper.run import most_visited
from examples.paper.table import r_hat

PLANTED = bid.datasets.make_planted(rows=20, columns=6, rank=3, noise=0.3, seed=2).A
# Real names, so that the printed figures are found; the matrix is the planted one.
CELLS = [
    Cell("ccle_ec50", "gbt", 5, "paper"),
    Cell("ccle_ec50", "gbt", 5, "default"),
    Cell("ccle_ec50", "gbtn", None, "paper_prior"),
]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Run the command on three small cells, twice; return the folder and what was sampled."""
    folder = tmp_path_factory.mktemp("results")
    sampled = []

    def run_and_tell(cell, *arguments):
        sampled.append(cell)
        run_cell(cell, *arguments)

    run_cell = command.run_cell
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "all_cells", lambda quick: CELLS)
        patch.setattr(command, "matrix", lambda data: PLANTED)
        patch.setattr(figures, "matrix", lambda data: PLANTED)
        patch.setattr(command, "run_cell", run_and_tell)
        patch.setattr(Cell, "settings", lambda cell, quick: Settings(20, 30, 2))
        for sampler in (["--sampler", "paper"], []):
            patch.setattr(sys, "argv", ["paper", "--folder", str(folder), *sampler])
            command.main()
    return folder, sampled


def test_a_finished_cell_is_not_run_again(study):
    folder, sampled = study
    assert sampled == CELLS
    assert {path.stem for path in folder.glob("*.npz")} == {cell.name for cell in CELLS}


def test_the_figures_are_written(study):
    folder, _ = study
    names = {"error.png", "autocorrelation.png", "number.png", "histograms.png"}
    assert names <= {path.name for path in folder.iterdir()}


def test_the_table_holds_each_error_of_each_chain(study):
    folder, _ = study
    table = pd.read_csv(folder / "results.csv")
    ours = table[(table.sampler == "default") & (table.chain >= 0)]
    values = ours.pivot(index="chain", columns="quantity", values="value")
    assert len(values) == 2
    # The mean of the weights is a better estimate than a draw of them, the best of a set better
    # than both, and weights are within their bounds.
    assert (values["error of the posterior mean"] < values["error of a draw"]).all()
    assert (values["error of the most visited set"] < values["error of a draw"]).all()
    assert (values["largest weight"] <= 1).all()
    assert (values["number of columns"] == 5).all()


def test_the_error_that_is_kept_is_the_error_of_the_draw(study):
    folder, _ = study
    with np.load(folder / f"{CELLS[1].name}.npz") as results:
        # σ² is drawn given this error: with 120 entries they are close.
        ratio = results["sigma2"].mean() / results["error"][:, 20:].mean()
        assert results["error"].shape == (2, 50)
        assert not np.isnan(results["error"]).any()
    assert 0.5 < ratio < 2.5


def test_the_page_is_filled_from_the_tables(study):
    folder, _ = study
    rows = [("ccle_ec50", 5, "scipy ID", 0.1236, 0.2, 1.0)]
    names = ["data", "k", "method", "error", "error within bounds", "milliseconds"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "comparison.csv", index=False)
    blocks = [f"<!-- table: {name} -->\nold\n<!-- end -->" for name in page.TABLES]
    text = page.fill("before\n" + "\n".join(blocks) + "\nafter\n", page.Results(folder))
    assert "old" not in text
    assert text.startswith("before\n") and text.endswith("after\n")
    assert ".1236 (.2000)" in text
    assert "| EC50, 5 | .354 |" in text
    assert page.fill(text, page.Results(folder)) == text


def test_the_study_is_the_papers():
    cells = all_cells()
    assert len([cell for cell in cells if cell.sampler == "paper"]) == 4 * 2 * 5
    assert len([cell for cell in cells if cell.sampler == "default"]) == 4 * 2 * 5
    assert all(cell.settings(False).nu == 5 for cell in cells)
    theirs = [cell.settings(False) for cell in cells if cell.sampler == "paper"]
    assert {(s.tune, s.tune + s.draws) for s in theirs} == {(100, 1000)}


def test_autocorrelation_of_a_known_series():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(20_000, 5))
    series = noise.copy()
    for step in range(1, len(series)):
        series[step] = 0.8 * series[step - 1] + 0.6 * noise[step]
    found = mean_autocorrelation(np.column_stack([series, np.ones(20_000)]), 3)
    np.testing.assert_allclose(found, 0.8 ** np.arange(4), atol=0.03)


def test_autocorrelation_of_nothing_that_varies_is_unknown():
    assert np.isnan(mean_autocorrelation(np.ones((10, 2)), 3)).all()


def test_the_error_of_weights_is_that_of_the_product():
    rng = np.random.default_rng(0)
    data, weights = rng.normal(size=(6, 4)), rng.normal(size=(4, 4))
    weights[2] = 0
    assert mean_squared_error(data, weights) == pytest.approx(np.mean((data - data @ weights) ** 2))
    assert mean_squared_error(data, np.zeros((4, 4))) == pytest.approx(np.mean(data**2))


def test_the_most_visited_set():
    states = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 1]], bool)
    assert list(most_visited(states)) == [0, 2]


def test_chains_that_stand_still_apart_have_an_infinite_r_hat():
    assert np.isinf(r_hat([[1, 1, 1, 1], [2, 2, 2, 2]]))
    assert np.isnan(r_hat([[1, 1, 1, 1], [1, 1, 1, 1]]))


@pytest.mark.slow
def test_the_quick_version_takes_three_minutes_at_most(paper_data, tmp_path, monkeypatch):
    monkeypatch.setenv("PYMC_BID_DATA", str(paper_data))
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "examples.paper", "--quick", "--folder", str(tmp_path)],
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert time.perf_counter() - started < 180
    table = pd.read_csv(tmp_path / "results.csv")
    assert set(table.sampler) == {"paper", "paper_prior", "default"}
    weights = table[table.quantity == "largest weight"]["value"]
    assert (weights <= 1).all()
