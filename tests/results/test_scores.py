"""Scores of sets, the best set of each size, and what replacing a column costs."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pymc_bid as bid
from pymc_bid.evidence import SetsOfModel
from tests.helpers.draws import as_idata
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    truncated_normal_density,
)

pytestmark = pytest.mark.usefixtures("interpreted")

A = 0.7 * np.random.default_rng(5).normal(size=(5, 3))
ALL = [columns for size in range(4) for columns in combinations(range(3), size)]


@pytest.mark.parametrize("bounds", [None, (-1.0, 1.0)])
def test_probabilities_of_sets_are_those_of_enumeration(bounds):
    box = (-np.inf, np.inf) if bounds is None else bounds
    exact = exact_state_probabilities(
        *(A, A),
        bounds=box,
        weight_density=truncated_normal_density(0.0, 1.0, box),
        log_prior=bernoulli_log_prior(0.3),
        alpha_sigma=2.0,
        beta_sigma=1.0,
    )
    model = bid.gbt(A, bounds=bounds, inclusion=0.3, alpha_sigma=2.0, beta_sigma=1.0)
    sets = {str(columns): columns for columns in ALL}
    scores = bid.score_sets(model, sets, best=False, draws=2000, random_seed=1)
    expected = [exact[tuple(int(j in columns) for j in range(3))] for columns in ALL]
    log_ratio = np.log(scores["probability"].to_numpy() / expected)
    error = scores["standard_error"].to_numpy()
    # Of each ratio to the first set; the quadrature is right to about 1e-3.
    difference = np.abs(log_ratio - log_ratio[0])
    assert (difference <= 4 * np.hypot(error, error[0]) + 2e-3).all()


@pytest.fixture(scope="module")
def planted():
    return bid.datasets.make_planted(rows=120, columns=8, rank=3, noise=0.4, seed=3)


@pytest.fixture(scope="module")
def table(planted):
    rng = np.random.default_rng(0)
    return planted.A * rng.gamma(2.0, 20.0, 8) + 50 * rng.normal(size=8)


@pytest.fixture(scope="module")
def model(table):
    return bid.column_selection(table.iloc[:60])


def test_scores_are_those_of_raw_rows_and_of_the_weights(planted, table, model):
    """The posterior of the weights is nearly that of least squares, as the prior is weak here."""
    seen, hidden = table.iloc[:60], table.iloc[60:]
    names, others = planted.columns, [c for c in table if c not in planted.columns]
    sets = {"planted": names}
    inside, outside = (
        bid.score_sets(model, sets, rows, by="column", draws=1000, random_seed=1).loc["planted"]
        for rows in (None, hidden)
    )
    assert inside.index.tolist() == outside.index.tolist() == others
    mean, deviation = seen.mean(), seen.std(ddof=0)
    standard = (seen - mean) / deviation
    slopes = np.linalg.lstsq(standard[names], standard[others], rcond=None)[0]
    for rows, found in ((seen, inside), (hidden, outside)):
        Z = (rows - mean) / deviation
        squares = ((Z[others] - Z[names].to_numpy() @ slopes) ** 2).mean()
        np.testing.assert_allclose(found["rmse"], np.sqrt(squares) * deviation[others], rtol=0.05)
        shares = 1 - squares / (Z[others] ** 2).mean()
        assert (np.abs(found["r2"] - shares) < 0.03).all()
        assert (found["lower"] < found["r2"]).all() and (found["r2"] < found["upper"]).all()
    by_set = bid.score_sets(model, sets, hidden, draws=1000, random_seed=1)
    again = by_set.loc["planted"]
    np.testing.assert_allclose(again["r2"], outside["r2"].mean(), rtol=1e-9)
    np.testing.assert_allclose(again["coverage"], outside["coverage"].mean(), rtol=1e-9)
    error = (outside["rmse"] / deviation[others]) ** 2
    np.testing.assert_allclose(again["error"], error.mean(), rtol=1e-9)
    evidence = bid.log_evidence(model, names, draws=1000, random_seed=1)
    assert again["log_evidence"] == evidence.value


def test_held_out_rows_lie_within_the_intervals(planted, table, model):
    scores = bid.score_sets(
        model, {"planted": planted.columns}, table.iloc[60:], ci_prob=0.9, random_seed=1
    )
    # 300 entries; with the weights' uncertainty shared between them.
    assert 0.82 < scores.loc["planted", "coverage"] < 0.97


def test_the_best_set_found_is_in_the_table_once(planted, model):
    one = bid.score_sets(model, {"one": planted.columns[:1]}, random_seed=1)
    assert one.index.tolist() == ["one", "best found"]
    assert one.loc["best found", "columns"] == planted.columns
    assert one["probability"].sum() == pytest.approx(1) and one["probability"].iloc[1] > 0.99
    both = bid.score_sets(model, {"planted": planted.columns}, random_seed=1)
    assert both.index.tolist() == ["planted"]


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("given", [[1, 4, 6], [0, 1, 3, 4, 5, 6, 7], list(range(8))])
def test_a_set_that_is_given_does_not_end_the_search(planted, table, k, given):
    """Whatever its size; it used to count as what a search of that size had found."""
    model = bid.column_selection(table, k=k)
    names = table.columns[given]
    assert list(names) != planted.columns
    found = bid.score_sets(model, {"given": names}, random_seed=1)
    assert found.loc["best found", "columns"] == planted.columns


def test_visited_sets_are_tried_beside_those_of_the_search(planted, table, model):
    states = np.zeros((1, 1, 8), dtype=np.int64)
    states[..., 3:6] = 1
    posterior = xr.Dataset({"r": (("chain", "draw", "basis"), states)}, {"basis": table.columns})
    draws = as_idata(posterior=posterior)
    curve = bid.size_curve(model, [3], idata=draws, draws=50, random_seed=1)
    assert curve.loc[3, "columns"] == planted.columns


@pytest.mark.parametrize("kind", [pd.Series, iter, np.array, tuple], ids=lambda kind: kind.__name__)
def test_columns_of_a_set_may_come_in_anything(planted, model, kind):
    found = bid.log_evidence(model, kind(planted.columns), random_seed=1)
    assert found == bid.log_evidence(model, planted.columns, random_seed=1)


def test_a_set_with_a_column_twice_and_a_name_that_is_taken_are_errors(planted, model):
    with pytest.raises(ValueError, match="columns has 'c00' more than once"):
        bid.log_evidence(model, ["c00", "c01", "c00"])
    with pytest.raises(ValueError, match="sets has the name 'best found'"):
        bid.score_sets(model, {"best found": planted.columns})


def test_entries_under_a_mask_are_missing(planted, table, model):
    raw = bid.column_selection(table.iloc[:60].to_numpy())
    hidden = table.iloc[60:].to_numpy()
    gaps = np.zeros(hidden.shape, dtype=bool)
    gaps[:7, 5] = True
    masked = np.ma.masked_array(np.where(gaps, 1e6, hidden), gaps)
    chosen = [table.columns.get_loc(column) for column in planted.columns]
    by_mask, by_nan = (
        bid.score_sets(raw, {"a": chosen}, rows, best=False, draws=50, random_seed=1)
        for rows in (masked, np.where(gaps, np.nan, hidden))
    )
    pd.testing.assert_frame_equal(by_mask, by_nan)


def test_compressed_tables_of_few_rows_have_the_same_shares(table):
    few = table.iloc[:6, :6]
    whole, compressed = (
        bid.score_sets(bid.gbt(data), {"a": ["c00"]}, best=False, draws=50, random_seed=1)
        for data in (few, bid.compress(few))
    )
    np.testing.assert_allclose(whole["r2"], compressed["r2"], rtol=1e-6)


def test_intervals_of_the_papers_model_hold_held_out_entries():
    """Its noise variance is a mean over columns that fit themselves, and too small for the rest."""
    planted = bid.datasets.make_planted(rows=1500, columns=8, rank=5, noise=0.5, seed=2)
    model = bid.gbt(planted.A.iloc[:500], bounds=None)
    sets = {"planted": planted.columns}
    found = bid.score_sets(model, sets, planted.A.iloc[500:], best=False, draws=50, random_seed=1)
    # 3000 entries; by σ² itself it is 0.75.
    assert found.loc["planted", "coverage"] == pytest.approx(0.94, abs=0.02)


def test_sets_that_are_ruled_out_have_no_replacements(table):
    with pytest.raises(ValueError, match="rules out"):
        bid.replacements(bid.column_selection(table, include=["c07"]), ["c00"])


def test_held_out_gaps_of_chosen_columns_are_filled_as_in_the_model(planted, table, model):
    """By the mean in the model's rows, so that no row is lost, whichever columns are chosen."""
    hidden = table.iloc[60:].copy()
    # No row has all entries of the planted columns.
    for place, name in enumerate(planted.columns):
        hidden.iloc[place::3, hidden.columns.get_loc(name)] = np.nan
    sets = {"planted": planted.columns}
    others = [name for name in table if name not in planted.columns]
    with_gaps, filled = (
        bid.score_sets(model, sets, rows, by="column", best=False, random_seed=1).loc["planted"]
        for rows in (hidden, hidden.fillna(table.iloc[:60].mean()))
    )
    assert with_gaps.index.tolist() == others
    pd.testing.assert_frame_equal(with_gaps, filled, rtol=1e-9)
    curve = bid.size_curve(model, range(9), hidden, draws=20, random_seed=1)
    assert np.isfinite(curve["held_out_r2"][:8]).all()


def test_gaps_cost_as_much_in_rows_that_are_held_out(planted):
    """The curves of both can be compared: they are the same where the rows are."""
    gaps = bid.datasets.make_planted(rows=80, columns=8, rank=3, noise=0.4, seed=3).A
    gaps = gaps.mask(np.random.default_rng(1).random(gaps.shape) < 0.25)
    model = bid.column_selection(gaps)
    curve = bid.size_curve(model, range(8), gaps, draws=50, random_seed=1)
    for name in ("r2", "error"):
        np.testing.assert_allclose(curve[f"held_out_{name}"], curve[name], rtol=1e-6, atol=1e-9)


def test_missing_entries_of_columns_that_are_explained_do_not_count(planted, table, model):
    hidden = table.iloc[60:].copy()
    other = next(c for c in table if c not in planted.columns)
    hidden.loc[hidden.index[5:9], other] = np.nan
    sets = {"planted": planted.columns}
    with_gaps, only, all_rows = (
        bid.score_sets(model, sets, rows, by="column", best=False, random_seed=1).loc["planted"]
        for rows in (hidden, hidden.drop(index=hidden.index[5:9]), table.iloc[60:])
    )
    np.testing.assert_allclose(with_gaps.loc[other], only.loc[other], rtol=1e-9)
    pd.testing.assert_frame_equal(
        with_gaps.drop(index=other), all_rows.drop(index=other), rtol=1e-9
    )


def test_forced_columns_are_in_every_best_set(table):
    names = list(table.columns)
    model = bid.column_selection(table, include=names[:1], exclude=names[1:2])
    curve = bid.size_curve(model, range(9), draws=20, random_seed=1)
    assert curve.index.tolist() == list(range(1, 8))
    for columns in curve["columns"]:
        assert names[0] in columns and names[1] not in columns
    cost = bid.replacements(model, curve["columns"][3])
    assert names[0] not in cost.index and names[1] not in cost.columns
    forbidden = {"in": names[:1], "without": names[2:3], "with": names[:2]}
    probability = bid.score_sets(model, forbidden, random_seed=1)["probability"]
    assert probability["without"] == probability["with"] == 0 < probability["in"]


def test_the_closed_form_and_the_estimate_agree(planted, model):
    sets = SetsOfModel(model)
    for columns in (planted.columns, planted.columns[:1], []):
        state = sets.read(columns)
        found = sets.draw(state, 500, np.random.default_rng(1)).evidence
        # Expectation propagation and the noise table are right to about a hundredth.
        assert sets.with_bounds(state) == pytest.approx(found.value, abs=0.02)
        assert sets.without_bounds(state) >= sets.with_bounds(state) - 1e-9


def test_the_curve_of_held_out_rows_is_flat_beyond_the_planted_rank(planted, table, model):
    curve = bid.size_curve(model, range(7), table.iloc[60:], random_seed=1)
    held_out = curve["held_out_r2"]
    assert curve["columns"][3] == planted.columns
    assert (np.diff(held_out[:4]) > 0.05).all()
    assert (np.abs(held_out[4:] - held_out[3]) < 0.04).all()
    assert (np.diff(curve["r2"][:4]) > 0.05).all()


def test_replacements_are_differences_of_evidences(planted, model):
    cost = bid.replacements(model, planted.columns)
    assert cost.shape == (3, 5) and (cost.to_numpy() < 0).all()
    one, other = cost.index[0], cost.columns[-1]
    moved = [other if column == one else column for column in planted.columns]
    found, kept = (
        bid.log_evidence(model, columns, random_seed=1) for columns in (moved, planted.columns)
    )
    error = np.hypot(found.standard_error, kept.standard_error)
    assert abs(cost.loc[one, other] - (found.value - kept.value)) < 4 * error + 0.02


@pytest.mark.filterwarnings("error")
def test_sets_that_the_prior_rules_out_have_no_probability(table):
    model = bid.column_selection(table, include=["c00"])
    sets = {"without": ["c01"], "with": ["c00", "c01"]}
    scores = bid.score_sets(model, sets, best=False, random_seed=1)
    assert scores["probability"].tolist() == [0.0, 1.0]
    alone = bid.score_sets(model, {"without": ["c01"]}, best=False, random_seed=1)
    assert alone["probability"].isna().all() and np.isfinite(alone["log_evidence"]).all()


def test_wrong_use_has_a_message(model, table):
    with pytest.raises(ValueError, match="by must be one of 'set', 'column'"):
        bid.score_sets(model, {}, by="row")
    with pytest.raises(ValueError, match=r"sets\['mine'\] has 'x', which is no column"):
        bid.score_sets(model, {"mine": ["x"]})
    with pytest.raises(TypeError, match=r"sets\['mine'\] must be a list of columns, got 'c00'"):
        bid.score_sets(model, {"mine": "c00"})
    with pytest.raises(TypeError, match="sets must be a dict"):
        bid.score_sets(model, [["c00"]])
    with pytest.raises(ValueError, match="sets is empty"):
        bid.score_sets(model, {}, best=False)
    with pytest.raises(ValueError, match=r"sizes has no number of columns.*there are 8"):
        bid.size_curve(model, [50])
    with pytest.raises(ValueError, match="rows lacks columns that the model has: c00"):
        bid.score_sets(model, {"mine": ["c01"]}, table.drop(columns="c00"))
    for rows in ("all", table["c00"], 3):
        with pytest.raises(TypeError, match="rows must be a table with the columns of the model"):
            bid.score_sets(model, {"mine": ["c00"]}, rows)
    with pytest.raises(TypeError, match="sizes must be a list of numbers of columns, got 3"):
        bid.size_curve(model, 3)
    with pytest.raises(TypeError, match="model must be a PyMC model, got DataFrame"):
        bid.size_curve(table, [1])
    with pytest.raises(ValueError, match="ci_prob must be between 0 and 1"):
        bid.size_curve(model, [1], ci_prob=1.0)
    pool = bid.gbt(table.iloc[:, :3], pool=table.iloc[:, 3:])
    with pytest.raises(TypeError, match="rows are for matrices decomposed by their own columns"):
        bid.score_sets(pool, {"mine": []}, table)
