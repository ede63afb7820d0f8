"""How many columns, and which, as arguments of the constructors."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_bid as bid

pytestmark = pytest.mark.usefixtures("interpreted")

TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 4)), columns=list("abcd"))
CONSTRUCTORS = [bid.column_selection, bid.gbt, bid.gbtn]


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
@pytest.mark.parametrize("k", [None, 3])
def test_columns_are_forced_by_label(constructor, k):
    model = constructor(TABLE, k, include=["c"], exclude=["a"])
    drawn = pm.draw(model["r"], 50, random_seed=1)
    assert (drawn[:, 2] == 1).all() and (drawn[:, 0] == 0).all()
    assert np.ptp(drawn[:, [1, 3]]) == (k is None)
    if k is not None:
        assert (drawn.sum(axis=1) == k).all()


def test_columns_that_are_gone_through_once_are_excluded():
    """What would be said of the index looks them up before the prior does."""
    table = TABLE.assign(id=np.arange(len(TABLE)))
    model = bid.column_selection(table, exclude=iter(["id"]))
    assert (pm.draw(model["r"], 50, random_seed=1)[:, 4] == 0).all()


def test_columns_without_labels_are_forced_by_position():
    drawn = pm.draw(bid.gbt(TABLE.to_numpy(), include=[3])["r"], 20, random_seed=1)
    assert (drawn[:, 3] == 1).all()


def test_positions_stay_those_of_the_table_where_constant_columns_are_left_out():
    values = TABLE.assign(b=1.0).to_numpy()
    with pytest.warns(UserWarning, match="constant columns: 1"):
        model = bid.column_selection(values, k=1, include=[3])
    assert list(model.coords["basis"]) == [0, 2, 3]
    np.testing.assert_array_equal(pm.draw(model["r"], random_seed=1), [0, 0, 1])


def test_columns_of_a_pool_are_forced_by_their_own_labels():
    pool = TABLE[["a", "b"]].rename(columns={"a": "x"})
    drawn = pm.draw(bid.gbt(TABLE, pool=pool, include=["x"])["r"], 20, random_seed=1)
    assert (drawn[:, 0] == 1).all()
    with pytest.raises(ValueError, match="include has 'a', which is no column to choose from"):
        bid.gbt(TABLE, pool=pool, include=["a"])


def test_forced_columns_have_a_probability_of_their_own_beside_a_number():
    model = bid.gbt(TABLE, include=["b"], exclude=["d"], inclusion=0.3)
    (probability,) = model["r"].owner.op.dist_params(model["r"].owner)
    np.testing.assert_allclose(probability.eval(), [0.3, 1.0, 0.3, 0.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"include": ["z"]}, "include has 'z', which is no column.*there are a, b, c, d"),
        ({"exclude": [0]}, "exclude has 0, which is no column"),
        ({"include": ["a", "a"]}, "include names a column more than once"),
        ({"include": ["a"], "exclude": ["a", "b"]}, "include and exclude both have a"),
        ({"k": 1, "include": ["a", "b"]}, "k must be at least 2, as many as include has"),
        ({"k": 3, "exclude": ["a", "b"]}, "at most 2, as many as exclude leaves, got 3"),
        ({"k": 5}, "k must be between 0 and the 4"),
        ({"k": 2, "inclusion": 0.5}, "k and inclusion can't be given together"),
        ({"include": ["a", "b"], "exclude": ["c", "d"]}, "leave none of the 4 columns"),
        ({"inclusion": [0.5, 0.5]}, "inclusion has shape"),
    ],
    ids=str,
)
@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_what_would_have_no_effect_or_can_not_be_is_refused(constructor, arguments, message):
    with pytest.raises(ValueError, match=message):
        constructor(TABLE, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 2, "expected": 2}, "k and expected can't be given together"),
        ({"inclusion": 0.5, "expected": 2}, "inclusion and expected can't be given together"),
        ({"expected": 4}, "expected must be more than 0.*less than 4"),
        ({"expected": 1, "include": ["a"]}, "expected must be more than 1"),
        ({"expected": 3, "exclude": ["a"]}, "less than 3"),
        ({"expected": np.nan}, "expected must be finite"),
    ],
    ids=str,
)
def test_an_expected_number_that_can_not_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bid.column_selection(TABLE, **arguments)


@pytest.mark.parametrize("argument", ["include", "exclude"])
@pytest.mark.filterwarnings("ignore:A has constant columns")
def test_constant_columns_that_are_forced_are_named_as_such(argument):
    with pytest.raises(ValueError, match=f"{argument} has 'b', which is constant: such columns"):
        bid.column_selection(TABLE.assign(b=1.0), **{argument: ["b"]})


@pytest.mark.parametrize("constructor", [bid.gbt, bid.gbtn])
@pytest.mark.parametrize(
    ("name", "value"), [("own_mean", [1.0, 0, 0, 0]), ("alpha_omega", 2), ("beta_omega", 3.0)]
)
def test_numbers_of_chosen_columns_need_the_identity(constructor, name, value):
    with pytest.raises(ValueError, match=f"{name} has no effect without identity=True"):
        constructor(TABLE, **{name: value})
    constructor(TABLE, identity=True, **{name: value})


def test_other_kinds_of_arguments_are_refused():
    with pytest.raises(TypeError, match="include must be a list of columns, got 'a'"):
        bid.gbt(TABLE, include="a")
    with pytest.raises(TypeError, match="column_selection has no argument pool"):
        bid.column_selection(TABLE, pool=TABLE)
    with pm.Model():
        share = pm.Beta("share", 1, 1)
        with pytest.raises(TypeError, match="inclusion is a variable"):
            bid.gbt(TABLE, inclusion=share, include=["a"])


def test_a_column_that_nobody_explains_has_the_same_density_chosen_or_not():
    # All chosen, or none: each column has a density of its own, and nothing is explained.
    def evidence(columns, **prior):
        model = bid.column_selection(TABLE, **prior)
        return bid.log_evidence(model, columns, random_seed=1)

    none, everything = evidence([]), evidence(list(TABLE))
    assert abs(none.value - everything.value) < 5 * none.standard_error < 0.02
    assert evidence([], alpha_sigma=0.1).value < none.value - 1


def test_labels_of_several_types_are_known_by_their_text_too():
    values = np.random.default_rng(3).normal(size=(20, 4))
    table = pd.DataFrame(values, columns=[0, 1, 2, "extra"])
    model = bid.column_selection(table, include=["0"], exclude=[1])
    drawn = pm.draw(model["r"], 20, random_seed=1)
    assert (drawn[:, 0] == 1).all() and (drawn[:, 1] == 0).all()
    text, number = (bid.log_evidence(model, [x, "extra"], random_seed=1) for x in ("0", 0))
    assert text == number
    with pytest.raises(ValueError, match="include has True, which is no column"):
        bid.column_selection(table, include=[True])


@pytest.mark.parametrize("expected", [True, "3", [1.0, 2.0]])
def test_an_expected_number_is_a_number(expected):
    with pytest.raises(TypeError, match="expected must be a number"):
        bid.column_selection(TABLE, expected=expected)


@pytest.mark.parametrize("name", ["standardize", "hierarchical"])
def test_a_switch_is_true_or_false(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'no'"):
        bid.column_selection(TABLE, **{name: "no"})
