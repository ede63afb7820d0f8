"""State vectors with a prior of their number of ones, or with forced columns, by enumeration."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import betaln, logsumexp

import pymc_bid as bid
from pymc_bid.graph.decomposition import find_decompositions
from pymc_bid.kernels.marginal.evidence import log_evidence
from pymc_bid.steps import marginal
from tests.helpers.cases import make_steps, run_states
from tests.helpers.marginals import marginal_of
from tests.reference.enumeration import total_variation

COLUMNS, DRAWS = 5, 10_000
# The table is so on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:A has columns that are copies")


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


def exact(closed_form, parameters, include, exclude):
    states = list(product((0, 1), repeat=COLUMNS))
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
QUICK = ("uniform", "include and expected", "include and fixed")


@pytest.mark.parametrize("few", [2, 16], ids=["given noise", "integrated noise"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in QUICK),
        *(pytest.param(name, {}, marks=pytest.mark.slow) for name in CASES if name not in QUICK),
        *(pytest.param(name, {"noise": "common"}, marks=pytest.mark.slow) for name in CASES),
    ],
    ids=str,
)
def test_states_are_visited_as_often_as_they_are_probable(name, options, few, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", few)
    arguments, parameters = CASES[name]
    model = bid.column_selection(table(), bounds=None, **options | arguments)
    forced = [arguments.get(name, ()) for name in ("include", "exclude")]
    found = exact(marginal_of(model)[0], parameters, *forced)
    steps = make_steps(model, seed=3, scheme="collapsed", nu=1)
    draws = DRAWS if name in QUICK and not options else 4 * DRAWS
    visited = run_states(steps, model.initial_point(random_seed=5), draws)
    # 0.035 after 10,000 draws was 0.005 after 160,000.
    assert total_variation(found, visited) <= 4.5 / np.sqrt(draws)
    sizes = np.bincount(visited.sum(axis=1), minlength=COLUMNS + 1) / len(visited)
    expected = np.zeros(COLUMNS + 1)
    for state, probability in found.items():
        expected[sum(state)] += probability
    np.testing.assert_allclose(sizes, expected, atol=0.025)


@pytest.mark.parametrize("few", [2, 16], ids=["given noise", "integrated noise"])
@pytest.mark.parametrize("size", [{"alpha": 1, "beta": 2}, {"k": 2}], ids=["free", "fixed"])
def test_states_are_visited_as_often_where_the_noise_is_known(size, few, monkeypatch):
    # The ladder's model is not that of the chain by construction: its density is asked for.
    monkeypatch.setattr(marginal, "FEW_COLUMNS", few)
    A, include, exclude = table(), [1], [4]
    with pm.Model() as model:
        r = bid.StateVector("r", **size, n=COLUMNS, include=include, exclude=exclude)
        Y = pm.Normal("Y", 0, 1, shape=(COLUMNS, COLUMNS))
        pm.Normal("A", (A * r) @ Y, 2.0, observed=A)
        rngs = np.random.default_rng(1).spawn(2)
        step = bid.SwapStep if "k" in size else bid.FlipStep
        steps = [step(r, rng=rngs[0]), bid.WeightStep(Y, rng=rngs[1])]
    closed_form = marginal_of(model, noise_is_free=False)[0]
    found = exact(closed_form, size.get("k", (1, 2)), include, exclude)
    visited = run_states(steps, model.initial_point(random_seed=5), DRAWS)
    assert total_variation(found, visited) <= 0.03


@pytest.mark.parametrize("name", CASES)
def test_forward_draws_have_the_sizes_of_the_prior(name):
    arguments, parameters = CASES[name]
    model = bid.column_selection(table(), **arguments)
    include, exclude = arguments.get("include", ()), arguments.get("exclude", ())
    states = list(product((0, 1), repeat=COLUMNS))
    logs = np.array([log_prior(state, parameters, include, exclude) for state in states])
    expected = np.exp(logs - logsumexp(logs))
    drawn = pm.draw(model["r"], 4000, random_seed=1)
    counts = np.bincount(drawn @ 2 ** np.arange(COLUMNS), minlength=2**COLUMNS)
    counts = counts[np.array(states) @ 2 ** np.arange(COLUMNS)]
    assert not counts[expected == 0].any()
    possible = expected > 0
    assert stats.chisquare(counts[possible], 4000 * expected[possible]).pvalue > 1e-4
    if "expected" in arguments:
        assert expected @ np.sum(states, axis=1) == pytest.approx(arguments["expected"])
    if name == "uniform":
        sizes = np.bincount(np.sum(states, axis=1), weights=expected)
        np.testing.assert_allclose(sizes, 1 / (COLUMNS + 1))


@pytest.mark.parametrize("name", CASES)
def test_the_ladder_has_the_prior_of_the_graph(name):
    arguments = CASES[name][0]
    model = bid.column_selection(table(), **arguments)
    closed_form, log_density = marginal_of(model)[0], model.compile_logp(vars=[model["r"]])
    forced = np.isinf(closed_form.log_odds)
    named = [*arguments.get("include", ()), *arguments.get("exclude", ())]
    np.testing.assert_array_equal(np.flatnonzero(forced), sorted(named))
    point = model.initial_point(random_seed=1)
    found = []
    for state in product((0, 1), repeat=COLUMNS):
        state = np.array(state)
        value = float(log_density(point | {"r": state}))
        if np.isfinite(value):
            assert (state[forced] == (closed_form.log_odds[forced] > 0)).all()
            found.append(value - closed_form.log_sizes[state.sum()])
    assert np.ptp(found) < 1e-10
    assert "k" in arguments or abs(found[0]) < 1e-10


def test_the_papers_scheme_says_what_it_does_not_serve():
    for arguments in ({}, {"k": 2, "include": [0]}):
        model = bid.column_selection(table(), **arguments)
        step = bid.SwapStep if arguments else bid.FlipStep
        with model, pytest.raises(ValueError, match="scheme must be 'collapsed'"):
            step([model["r"]], scheme="paper")


def test_parameters_of_the_size_may_be_random():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6, 3))
    with pm.Model() as model:
        spread = pm.Gamma("spread", 2, 1)
        r = bid.StateVector("r", alpha=1, beta=spread, n=3)
        sigma2 = pm.InverseGamma("sigma2", 2, 1)
        Y = pm.Normal("Y", 0, 1, shape=(3, 3))
        pm.Normal("A", (A * r) @ Y, pm.math.sqrt(sigma2), observed=A)
    joint = find_decompositions(model)[0].joint
    assert not joint.state_prior.odds_are_fixed
    sizes = joint.log_prior_sizes(model.initial_point() | {"spread_log__": np.log(2.0)})
    np.testing.assert_allclose(sizes, betaln(1 + np.arange(4), 5 - np.arange(4)) - betaln(1, 2))
