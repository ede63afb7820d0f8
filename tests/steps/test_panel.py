"""Right sets on slices of real tables, against enumeration of all of them."""

import os

import numpy as np
import pytest

from pymc_bid.steps import marginal
from tests.helpers.panel import Problem, make_problem, run, standardised, tables

# Tables are peculiar on purpose, which constructors say.
pytestmark = pytest.mark.filterwarnings("ignore:A has (constant )?columns")

NUMBER = int(os.environ.get("PYMC_BID_PANEL", "100"))

# With copies of all kinds, both kinds of noise, free and fixed K.
QUICK = [1, 2, 4, 5, 6]


@pytest.mark.parametrize("seed", QUICK)
def test_inclusion_probabilities_are_those_of_enumeration(seed):
    problem = make_problem(seed)
    outcome = run(problem, seed)
    assert outcome.excess <= 1, f"{problem.name}: {outcome}"
    assert outcome.r_hat <= 1.02, f"{problem.name}: {outcome}"


# The copy asks for weights of 2, and so do most columns of the table in other units.
@pytest.mark.parametrize("units", [1.0, 3.0])
def test_bounds_that_are_in_the_way(units):
    A = standardised(tables()["load_wine"])[:60, [0, 3, 6, 8, 11]]
    A = np.column_stack([A, 0.5 * A[:, 2]]) * [units, 1.0, 1.0, units, 1.0, 1.0]
    problem = Problem("", A, {"identity": True, "noise": "column", "k": 2})
    outcome = run(problem, seed=1, bounds=(-1.0, 1.0))
    assert outcome.excess <= 1, outcome
    assert outcome.r_hat <= 1.02, outcome


# Of the first set few columns are chosen, of the second all but one of the two copies, which leaves
# nothing to explain and hardly any noise.
@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4, 5, 6, 7, 8], [2, 3, 4, 7, 8, 10, 12]])
def test_the_same_at_given_noise_as_with_many_columns(columns, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", 2)
    A = standardised(tables()["load_wine"])[:, columns]
    options = {"identity": True, "noise": "common", "k": None}
    outcome = run(Problem("", np.column_stack([A, -A[:, 0]]), options), seed=1)
    assert outcome.excess <= 1, outcome
    assert outcome.r_hat <= 1.02, outcome


def test_the_same_at_given_noise_of_each_column(monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", 2)
    problem = make_problem(7)
    options = {"identity": True, "noise": "column", "k": None}
    outcome = run(problem._replace(options=options), seed=1)
    assert outcome.excess <= 1, outcome
    assert outcome.r_hat <= 1.02, outcome


@pytest.mark.slow
def test_a_hundred_slices_of_real_tables():
    outcomes = {}
    for seed in range(100, 100 + NUMBER):
        problem = make_problem(seed)
        outcomes[problem.name] = run(problem, seed)
        print(problem.name, outcomes[problem.name], flush=True)
    wrong = {name: o for name, o in outcomes.items() if o.excess > 1}
    slow = {name: o for name, o in outcomes.items() if o.r_hat > 1.02}
    misjudged = [name for name, o in wrong.items() if o.converged]
    assert not misjudged
    assert len(wrong) <= 0.01 * NUMBER, wrong
    assert len(slow) <= 0.02 * NUMBER, slow
