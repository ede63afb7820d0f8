"""Tables centred and scaled inside the model."""

import numpy as np
import pandas as pd
import pytest

import pymc_bid as bid

RAW = pd.DataFrame(
    np.random.default_rng(0).normal([5, -100, 0.01], [1, 40, 1e-4], size=(12, 3)),
    columns=["litres", "joule", "gram"],
)


def data_of(model, name):
    return model[name].get_value()


def test_the_model_knows_the_units_of_the_table():
    model = bid.column_selection(RAW)
    values, center, scale = (data_of(model, name) for name in ("target", "center", "scale"))
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(values.std(axis=0), 1)
    np.testing.assert_allclose(center + scale * values, RAW, rtol=1e-12)
    assert model.named_vars_to_dims["center"] == model.named_vars_to_dims["scale"] == ("column",)
    assert [v.name for v in model.free_RVs] == ["r", "sigma2", "omega2", "Y"]


def test_units_make_no_difference():
    other = 32 + RAW * [1.8, 1e-3, -1e6]
    there = data_of(bid.column_selection(other), "target") * [1, 1, -1]
    np.testing.assert_allclose(there, data_of(bid.column_selection(RAW), "target"), atol=1e-9)


def test_without_standardising_there_is_nothing_to_undo():
    table = (RAW - RAW.mean()) / RAW.std()
    model = bid.column_selection(table, standardize=False)
    assert not {"center", "scale"} & set(model.named_vars)
    np.testing.assert_array_equal(data_of(model, "target"), table)


@pytest.mark.parametrize("missing", ["mask", "zero"])
def test_moments_are_those_of_observed_entries(missing):
    table = RAW.copy()
    table.iloc[[1, 4], 1] = np.nan
    model = bid.column_selection(table, missing=missing)
    np.testing.assert_allclose(data_of(model, "center"), table.mean())
    np.testing.assert_allclose(data_of(model, "scale"), table.std(ddof=0))
    np.testing.assert_allclose(data_of(model, "target")[[1, 4], 1], 0, atol=1e-12)
    assert ("observed" in model.named_vars) == (missing == "mask")


def test_constant_columns_are_left_out_with_their_values():
    with pytest.warns(UserWarning, match="constant columns: where"):
        model = bid.column_selection(RAW.assign(where=0.1))
    assert list(model.coords["column"]) == list(model.coords["basis"]) == list(RAW)
    assert list(model.coords["constant"]) == ["where"]
    np.testing.assert_array_equal(data_of(model, "constant_value"), [0.1])
    assert model.named_vars_to_dims["constant_value"] == ("constant",)


def test_a_table_of_constant_columns_is_refused():
    table = pd.DataFrame({"a": np.ones(5), "b": np.arange(5) ** 2, "c": np.zeros(5)})
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="A has one column that varies"):
        bid.column_selection(table)


def test_a_compressed_matrix_is_standardised_as_the_matrix_is():
    whole = bid.column_selection(RAW)
    with pytest.warns(UserWarning, match="constant columns: x"):
        model = bid.column_selection(bid.compress(RAW.assign(x=3)))
    for name in ("center", "scale"):
        np.testing.assert_allclose(data_of(model, name), data_of(whole, name))
    gram, factor = (data_of(each, "target") for each in (whole, model))
    np.testing.assert_allclose(factor.T @ factor, gram.T @ gram, atol=1e-9)


def test_a_hierarchical_prior_has_its_own_numbers():
    model = bid.column_selection(RAW, hierarchical=True, tau_mu=2.0)
    assert "mu_tau" in model.named_vars
    with pytest.raises(TypeError, match="no argument tau_mu; numbers of its prior are"):
        bid.column_selection(RAW, tau_mu=2.0)
