"""What is said of a table before it is sampled."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pymc_bid as bid
from pymc_bid.first_look import look_at
from pymc_bid.inputs import read_matrix

BASE = pd.DataFrame(np.random.default_rng(0).normal(5, 3, size=(30, 4)), columns=list("abcd"))


def findings(table, own_mean=None):
    matrix = read_matrix(table, "A", "mask")
    found = look_at(matrix, "A", leaves_constants_out=True, own_mean=own_mean)
    return {finding.kind: finding for finding in found}


def said_by(constructor, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        constructor(*arguments, **options)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_nothing_is_said_of_an_ordinary_table():
    assert findings(BASE) == {}
    assert findings(BASE.to_numpy()) == {}
    assert findings(np.random.default_rng(0).normal(size=(5, 40))) == {}


def test_constant_columns_are_named():
    found = findings(BASE.assign(x=0.1, y=-7))["constant"]
    assert found.columns == ["x", "y"]
    assert "x, y" in found.text and "left out" in found.text


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda t: t.assign(e=t["a"]), ["a", "e"]),
        (lambda t: t.assign(e=-3 * t["b"]), ["b", "e"]),
        (lambda t: t.assign(e=32 + 1.8 * t["c"], f=t["d"], g=1 - t["d"]), list("cedfg")),
        (lambda t: t.assign(e=t["a"] + 1e-4 * t["b"]), None),
    ],
    ids=["copy", "negated", "shifted and scaled", "nearly"],
)
def test_copies_are_named_in_groups(make, expected):
    found = findings(make(BASE))
    assert ("copies" in found) == (expected is not None)
    if expected is not None:
        assert found["copies"].columns == expected
        assert "combination" not in found


def test_linear_combinations_are_named():
    table = BASE.assign(total=BASE["a"] + 2 * BASE["c"] - 7, copy=BASE["b"])
    found = findings(table)
    assert found["combination"].columns == ["a", "c", "total"]
    assert found["copies"].columns == ["b", "copy"]


def test_linear_combinations_are_found_in_a_tall_matrix():
    A = np.random.default_rng(1).normal(size=(3000, 12))
    A[:, 5] = A[:, 2] - A[:, 3]
    A[:, 7] = A[:, 5] + A[:, 0]
    assert findings(A)["combination"].columns == [2, 3, 5, 0, 2, 3, 7]


def test_many_columns_are_counted_not_listed():
    rng = np.random.default_rng(2)
    low = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 40))
    assert "27 more" in findings(low)["combination"].text


@pytest.mark.parametrize(
    ("label", "values", "is_index"),
    [
        ("x", np.arange(30), True),
        ("x", np.arange(1, 31), True),
        ("x", np.arange(5, 35), True),
        ("x", np.arange(30)[::-1], True),
        ("x", np.arange(30) * 2, False),
        ("ID", np.random.default_rng(0).permutation(30) * 17, True),
        ("sample_id", np.random.default_rng(0).permutation(30) * 17, True),
        ("patientID", np.random.default_rng(0).permutation(30) * 17, True),
        ("malic_acid", np.random.default_rng(0).permutation(30) * 17, False),
        ("Unnamed: 0", np.arange(30) % 7, False),
        ("x", np.random.default_rng(0).permutation(30), False),
        ("id", np.arange(30) + 0.5, False),
    ],
    ids=str,
)
def test_columns_that_number_the_rows_are_named(label, values, is_index):
    found = findings(BASE.assign(**{label: values}))
    assert ("index" in found) == is_index


@pytest.mark.parametrize(
    ("label", "values", "is_index"),
    [
        ("Unnamed: 0", np.arange(30), True),
        ("x", np.arange(30)[::-1], True),
        ("ID", np.random.default_rng(0).permutation(30) * 17, True),
        ("x", np.arange(30) * 2, False),
        ("x", np.r_[np.arange(7), np.arange(6, 29)], False),
    ],
    ids=str,
)
def test_columns_that_number_the_rows_may_have_gaps(label, values, is_index):
    table = BASE.assign(**{label: values.astype(float)})
    table.loc[[7, 20], label] = np.nan
    assert ("index" in findings(table)) == is_index


def test_copies_with_gaps_are_compared_where_both_are_observed():
    table = BASE.assign(e=3 * BASE["a"] + 2, f=-BASE["b"], g=BASE["d"], h=BASE["d"] + 1e-4)
    table.loc[7, "e"] = table.loc[3, "b"] = table.loc[[4, 9], "f"] = np.nan
    # A copy of a copy.
    table.loc[11, "g"] = np.nan
    table.loc[0, "h"] += 1e-3
    assert findings(table)["copies"].columns == ["a", "e", "b", "f", "d", "g"]


def test_a_few_shared_rows_do_not_make_copies():
    table = BASE.assign(e=BASE["a"])
    table.loc[:11, "a"] = table.loc[20:, "e"] = np.nan
    table.loc[12:15, "e"] = [1.0, 2.0, 1.5, 7.0]
    both = table[["a", "e"]].dropna().index[4:]
    table.loc[both, "e"] = table.loc[both, "a"]
    table.loc[12:15, "a"] = np.nan
    assert len(table[["a", "e"]].dropna()) == 4 and "copies" not in findings(table)


def test_linear_combinations_with_gaps_are_named():
    table = BASE.assign(s=BASE["a"] + BASE["b"], few=BASE["c"] ** 2, t=BASE["c"] - 2 * BASE["d"])
    table.loc[7, "s"] = table.loc[9, "t"] = table.loc[3, "a"] = np.nan
    # So little of it is there that no rows would be left.
    table.loc[4:, "few"] = np.nan
    assert findings(table)["combination"].columns == ["a", "b", "s", "c", "d", "t"]


def test_an_ordinary_table_with_gaps_has_no_relations():
    A = np.random.default_rng(3).normal(size=(60, 20))
    A[np.random.default_rng(4).random(A.shape) < 0.25] = np.nan
    binary = np.where(np.isnan(A), A, A > 0)
    assert findings(A) == {} and findings(binary) == {}


def test_columns_with_few_observed_entries_are_named():
    table = BASE.copy()
    table.loc[5:, "b"] = np.nan
    table.loc[20:, "c"] = np.nan
    assert findings(table)["observed"].columns == ["b"]


def test_columns_on_other_scales_are_named_where_nothing_is_standardised():
    table = (BASE - BASE.mean()) / BASE.std()
    own_mean = np.zeros(4)
    assert "scale" not in findings(table, own_mean)
    found = findings(table.assign(b=100 * table["b"], c=table["c"] + 20), own_mean)
    assert found["scale"].columns == ["b", "c"]


def test_a_compressed_matrix_is_looked_at_too():
    found = findings(bid.compress(BASE.assign(e=2 - BASE["a"], total=BASE["a"] + BASE["b"], x=1)))
    assert found["copies"].columns == ["a", "e"]
    assert found["combination"].columns == ["a", "b", "total"]
    assert found["constant"].columns == ["x"]


def test_each_constructor_says_what_concerns_it():
    table = BASE.assign(x=1.0, e=BASE["a"])
    index = BASE.assign(id=np.arange(30))
    assert [text.split(":")[0] for text in said_by(bid.column_selection, table)] == [
        "A has constant columns",
        "A has columns that are copies of each other, up to shift and scale",
    ]
    assert any("constant" in text for text in said_by(bid.gbt, table, identity=True))
    assert any("mean square" in text for text in said_by(bid.gbtn, BASE, identity=True))
    assert said_by(bid.gbt, BASE, identity=True, alpha_omega=2, beta_omega=30) == []
    # The paper's models take a matrix as it is.
    assert said_by(bid.gbt, table) == []
    assert said_by(bid.gbtn, table, k=2) == []
    assert len(said_by(bid.column_selection, index)) == 1
    assert said_by(bid.column_selection, index, exclude=["id"]) == []


@pytest.mark.parametrize(
    ("table", "number"),
    [
        (BASE[["a"]], "one column that varies"),
        (BASE[["a", "b"]] * 0, "no columns that vary"),
    ],
)
@pytest.mark.filterwarnings("ignore:A has constant columns")
def test_one_column_is_too_few(table, number):
    with pytest.raises(ValueError, match=f"A has {number}; it takes at least two"):
        bid.column_selection(table)


def test_two_rows_are_too_few():
    with pytest.raises(ValueError, match="A has 2 rows; it takes 3"):
        bid.column_selection(BASE.iloc[:2])


def test_copies_with_gaps_are_found_in_any_unit():
    table = 1e100 * pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    table["d"] = 2 * table.a
    table.loc[3, "d"] = np.nan
    assert any(
        "copies of each other" in said and "a, d" in said
        for said in said_by(bid.column_selection, table)
    )


def test_one_row_that_was_compressed_is_spoken_of():
    said = said_by(bid.gbt, bid.compress(np.array([[1.0, 2.0, 4.0]])), identity=True)
    assert any("1 rows" in words for words in said)
