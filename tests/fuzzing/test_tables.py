"""Whatever table is passed: an error that names it, or draws; and it is left alone."""

import copy

import numpy as np
import pytest
from hypothesis import strategies as st

import pymc_bid as bid
from tests.fuzzing.judging import CLEAR, DRAWN, kind_of, make_steps, strictly, try_all, walk
from tests.fuzzing.strategies import tables

CONSTRUCTORS = {
    "paper": lambda A: bid.gbt(A),
    "two columns": lambda A: bid.gbt(A, k=2, missing="zero"),
    "hierarchical": lambda A: bid.gbtn(A, missing="mask"),
    "identity": lambda A: bid.gbt(A, identity=True, missing="mask"),
    "noise of columns": lambda A: bid.gbt(A, noise="column", missing="mask"),
    "selection": lambda A: bid.column_selection(A),
    "zeros": lambda A: bid.column_selection(A, missing="zero", noise="common"),
    "as it is": lambda A: bid.column_selection(A, standardize=False),
    "compressed": lambda A: bid.gbt(bid.compress(A), identity=True),
    "pool": lambda A: bid.gbt(np.arange(2.0 * len(A)).reshape(-1, 2), pool=A),
}

EXAMPLES = st.tuples(tables(), st.sampled_from(tuple(CONSTRUCTORS)))


def judge(example):
    recipe, constructor = example
    table = recipe.build()
    before = copy.deepcopy(table)
    try:
        with strictly():
            model = CONSTRUCTORS[constructor](table)
            walk(make_steps(model), model.initial_point(random_seed=1), -1.0, 1.0)
    except CLEAR as error:
        outcome = kind_of(error, ("A", "pool", "column", "Column", "target"))
    else:
        outcome = DRAWN
    assert_same(table, before)
    return outcome


def assert_same(table, before):
    if isinstance(before, list):
        assert repr(table) == repr(before)
    elif type(before).__module__.startswith("polars"):
        # Columns of Python's objects are equal to nothing in polars.
        assert table.schema == before.schema and repr(table.rows()) == repr(before.rows())
    elif hasattr(before, "equals"):
        assert table.equals(before)
    else:
        # As text, in which nan is nan.
        now, then = np.ma.getdata(table), np.ma.getdata(before)
        if now.dtype == object:
            now, then = now.astype(str), then.astype(str)
        np.testing.assert_array_equal(now, then)
        np.testing.assert_array_equal(np.ma.getmask(table), np.ma.getmask(before))


@pytest.mark.parametrize("number", [40, pytest.param(2500, marks=pytest.mark.slow)])
def test_a_table_is_named_or_drawn_from_and_left_alone(number, report):
    outcomes = try_all(EXAMPLES, judge, number)
    report(outcomes)
    assert outcomes[DRAWN] > number / 10 and outcomes["ValueError"] > 0, outcomes
