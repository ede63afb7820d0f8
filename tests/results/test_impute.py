"""Missing entries: left out of the fit, predicted afterwards."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_bid as bid


@pytest.fixture(scope="module")
def holed():
    """A planted matrix with its entries, one in ten of which are hidden."""
    planted = bid.datasets.make_planted(rows=60, columns=8, rank=3, noise=0.3, seed=5)
    hidden = np.random.default_rng(6).random(planted.A.shape) < 0.1
    return planted, planted.A.mask(hidden), hidden


@pytest.fixture(scope="module", params=[True, False], ids=["identity", "paper"])
def sampled(request, holed):
    _, A, _ = holed
    with bid.gbt(A, identity=request.param, missing="mask", k=3) as model:
        idata = pm.sample(
            draws=300,
            tune=300,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    return model, idata


def test_missing_entries_are_predicted_within_their_intervals(holed, sampled):
    planted, A, hidden = holed
    _, idata = sampled
    table = bid.impute(idata, A, ci_prob=0.95)
    assert list(table.columns) == ["row", "column", "mean", "sd", "lower", "upper"]
    assert len(table) == hidden.sum()
    truth = np.array(
        [planted.A.loc[row, column] for row, column in zip(table.row, table.column, strict=True)]
    )
    # Fewer than 48 entries: nine tenths are three standard errors below the 0.95 wanted.
    assert np.mean((table.lower <= truth) & (truth <= table.upper)) > 0.8
    spread = np.sqrt(np.mean((table["mean"] - truth) ** 2))
    assert spread < 0.8 * np.sqrt(np.mean((A.mean()[table.column].to_numpy() - truth) ** 2))


def test_planted_columns_are_found_although_entries_are_missing(holed, sampled):
    planted, A, _ = holed
    model, idata = sampled
    result = bid.decompose(idata, A, model=model)
    if "omega2" in model.named_vars:
        assert result.columns == list(planted.columns)
        return
    # Where entries are missing chains may stay at a set that is a little worse (docs/samplers.md).
    found, best = (
        bid.log_evidence(model, columns, random_seed=1).value
        for columns in (result.columns, planted.columns)
    )
    assert found > best - 6


def test_the_error_counts_observed_entries_alone(holed, sampled):
    _, A, hidden = holed
    model, idata = sampled
    result = bid.decompose(idata, A, model=model)
    fitted = result.reconstruct().values
    filled = A.fillna(A.mean()).to_numpy()
    np.testing.assert_allclose(result.C.values, filled[:, result.positions])
    expected = np.mean((fitted - filled)[~hidden] ** 2)
    np.testing.assert_allclose(result.mse, expected, rtol=1e-8)


def test_log_likelihood_of_missing_entries_is_zero(holed, sampled):
    _, A, hidden = holed
    _, idata = sampled
    found = bid.log_likelihood(idata, A, by="entry", thin=50)
    values = np.asarray(found["log_likelihood"]["A"])
    assert (values[:, :, hidden] == 0).all()
    assert (values[:, :, ~hidden] != 0).all()


def test_a_complete_matrix_has_nothing_to_impute(holed):
    planted, _, _ = holed
    with bid.gbt(planted.A, k=3, missing="mask"):
        idata = pm.sample(draws=4, tune=4, chains=1, progressbar=False)
    with pytest.raises(ValueError, match="no missing entries"):
        bid.impute(idata, planted.A)


def test_missing_entries_become_zero_if_asked(holed):
    _, A, _ = holed
    model = bid.gbt(A, missing="zero")
    np.testing.assert_array_equal(model["target"].get_value(), A.fillna(0.0))


def test_masked_arrays_are_understood(holed):
    _, A, hidden = holed
    model = bid.gbt(np.ma.array(A.fillna(7.0), mask=hidden), missing="mask", identity=True)
    np.testing.assert_array_equal(model["observed"].get_value(), ~hidden)


@pytest.mark.parametrize(
    ("data", "missing", "message"),
    [
        (np.array([[1.0, np.nan], [2.0, np.nan]]), "mask", "No entry of column 1 of A"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan] * 2}), "zero", "column b of A"),
        (np.ones((2, 2)), "drop", "missing must be one of"),
        (
            np.array([[1.0, np.inf]]),
            "mask",
            "1 entries that are infinite, the first at row 0",
        ),
    ],
)
def test_wrong_use_has_a_message(data, missing, message):
    with pytest.raises(ValueError, match=message):
        bid.gbt(data, missing=missing)


def test_masked_arrays_hold_real_numbers():
    entries = np.ones((4, 3), dtype=complex)
    with pytest.raises(TypeError, match="A must hold real numbers"):
        bid.gbt(np.ma.array(entries, mask=False), missing="mask")


def test_infinite_entries_of_both_signs_are_refused_next_to_gaps():
    entries = np.random.default_rng(1).normal(size=(5, 3))
    entries[0, 0], entries[1, 0], entries[2, 1] = np.inf, -np.inf, np.nan
    with pytest.raises(ValueError, match="2 entries that are infinite"):
        bid.gbt(entries, missing="mask")
