"""Whatever a constructor is called with: an error that names it, or draws within the bounds."""

import numpy as np
import pandas as pd
import pytest

import pymc_bid as bid
from tests.fuzzing.judging import CLEAR, DRAWN, kind_of, make_steps, strictly, try_all, walk
from tests.fuzzing.strategies import calls

TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 4)), columns=list("abcd"))
EXAMPLES = calls()


def judge(example):
    name, arguments = example
    try:
        with strictly():
            model = getattr(bid, name)(TABLE, **arguments)
            bounds = arguments.get("bounds", (-1.0, 1.0))
            lower, upper = (None, None) if bounds is None else bounds
            walk(
                make_steps(model),
                model.initial_point(random_seed=1),
                -np.inf if lower is None else lower,
                np.inf if upper is None else upper,
            )
    except CLEAR as error:
        # Parameters that are allowed may leave nowhere to start.
        return kind_of(error, [*arguments, "can't start", "would have drawn"])
    return DRAWN


@pytest.mark.parametrize("number", [40, pytest.param(2500, marks=pytest.mark.slow)])
def test_an_argument_is_named_or_draws_are_within_its_bounds(number, report):
    outcomes = try_all(EXAMPLES, judge, number)
    report(outcomes)
    assert outcomes[DRAWN] > number / 10 and outcomes["ValueError"] > 0, outcomes
