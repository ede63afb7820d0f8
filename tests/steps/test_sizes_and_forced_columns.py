"""State vectors with a prior of their number of ones, or with forced columns, by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import pymc_bid as bid
from pymc_bid.kernels.marginal.evidence import log_evidence
from pymc_bid.steps import marginal
from tests.helpers.cases import make_steps, run_states
from tests.helpers.marginals import marginal_of
from tests.reference.enumeration import total_variation

COLUMNS, DRAWS = 5, 10_000


def table():
    """So few rows that every set has some probability, and a copy."""
    rng = np.random.default_rng(12)
    A = rng.normal(size=(5, COLUMNS))
    A[:, -1] = -2 * A[:, 0]
    return A


def log_prior(state, parameters, include, exclude):
    """Up to a constant."""
    forced = [(column, 1) for column in include] + [(column, 0) for column in exclude]
    if any(state[column] != value for column, value in forced):
        return -np.inf
    if isinstance(parameters, int):
        return 0.0 if sum(state) == parameters else -np.inf
    alpha, beta = parameters
    ones, free = sum(state) - len(include), COLUMNS - len(include) - len(exclude)
    return betaln(alpha + ones, beta + free - ones)


def exact(model, parameters, include, exclude):
    states = list(product((0, 1), repeat=COLUMNS))
    closed_form = marginal_of(model)[0]
    logs = [log_prior(state, parameters, include, exclude) for state in states]
    logs = np.add(logs, [log_evidence(np.array(state), closed_form) for state in states])
    return dict(zip(states, np.exp(logs - logsumexp(logs)), strict=True))


CASES = {
    "uniform": ({}, (1, 1)),
    "expected": ({"expected": 1.5}, (1, 3.5 / 1.5)),
    "expected, most": ({"expected": 4}, (4, 1)),
    "include and exclude": ({"include": [1], "exclude": [3]}, (1, 1)),
    "include and expected": ({"include": [1, 2], "expected": 3}, (1, 2)),
    "include and fixed": ({"include": [1], "exclude": [3], "k": 3}, 3),
}
COMMON = {"noise": "common"}


@pytest.mark.parametrize("few", [2, 16], ids=["given noise", "integrated noise"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in CASES),
        ("uniform", COMMON),
        pytest.param("include and expected", COMMON, marks=pytest.mark.slow),
        pytest.param("include and fixed", COMMON, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_states_are_visited_as_often_as_they_are_probable(name, options, few, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", few)
    arguments, parameters = CASES[name]
    model = bid.column_selection(table(), bounds=None, **options | arguments)
    found = exact(model, parameters, arguments.get("include", ()), arguments.get("exclude", ()))
    steps = make_steps(model, seed=3, scheme="collapsed", nu=1)
    visited = run_states(steps, model.initial_point(random_seed=5), DRAWS)
    assert total_variation(found, visited) <= 0.03
    sizes = np.bincount(visited.sum(axis=1), minlength=COLUMNS + 1) / len(visited)
    expected = np.zeros(COLUMNS + 1)
    for state, probability in found.items():
        expected[sum(state)] += probability
    np.testing.assert_allclose(sizes, expected, atol=0.025)
