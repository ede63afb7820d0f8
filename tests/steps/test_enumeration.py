"""Visit frequencies of every state against its exact posterior probability."""

from itertools import product

import numpy as np
import pytest
from scipy import special

import pymc_bid as bid
from pymc_bid.steps import ladder, marginal
from tests.helpers.cases import make_steps, run_states
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    hierarchical_density,
    subset_log_prior,
    total_variation,
    truncated_normal_density,
)

SCHEMES = ["paper", "collapsed"]
MODELS = ["gbt", "gbtn"]
SIZES = [None, 2]
BOUNDS = [(-1.0, 1.0), (-2.0, 2.0)]
POOLS = [False, True, "identity"]
# Prior of the variance of chosen columns, with the identity.
OWN = {"alpha_omega": 2.0, "beta_omega": 1.5}

EVERY = list(product(SCHEMES, MODELS, SIZES, BOUNDS, POOLS))
# Each pair of values of two factors occurs at least once, with the scheme as a factor below.
PAIRWISE = [
    ("gbt", None, BOUNDS[0], False),
    ("gbt", 2, BOUNDS[1], True),
    ("gbtn", None, BOUNDS[1], "identity"),
    ("gbtn", 2, BOUNDS[1], False),
    ("gbtn", None, BOUNDS[0], True),
    ("gbt", 2, BOUNDS[0], "identity"),
]
SOME = [("collapsed" if place < 3 else "paper", *case) for place, case in enumerate(PAIRWISE)]
# Draws, and what they may be off: up to 0.019 was seen of what is exact. Thorough ones are slow.
QUICK = 20_000, 0.03


def own_log_density(matrix, shape, scale):
    """Log density of each column with its variance integrated out, a multivariate t."""
    rows, squares = len(matrix), np.sum(matrix**2, axis=0)
    return (
        special.gammaln(shape + rows / 2)
        - special.gammaln(shape)
        + shape * np.log(scale)
        - (shape + rows / 2) * np.log(scale + squares / 2)
        - rows / 2 * np.log(2 * np.pi)
    )


def problem(pool_given, columns):
    rng = np.random.default_rng(12)
    if pool_given == "identity":
        data = 0.8 * rng.normal(size=(4, columns))
        data[:, -1] = 0.8 * data[:, 0] + 0.3 * rng.normal(size=4)
        return data, data
    if pool_given:
        pool = rng.normal(size=(5, columns))
        return pool, 0.8 * pool[:, :2] + 0.7 * rng.normal(size=(5, 2))
    data = 0.6 * rng.normal(size=(3, columns))
    data[:, -1] = data[:, 0] + 0.2 * rng.normal(size=3)
    return data, data


def check(scheme, name, size, bounds, pool_given, columns, draws, largest):
    pool, target = problem(pool_given, columns)
    density = {"gbt": truncated_normal_density(0.0, 1.0, bounds)}
    if name == "gbtn":
        density["gbtn"] = hierarchical_density(0.0, 0.1, 1.0, 1.0, bounds)
    identity = pool_given == "identity"
    exact = exact_state_probabilities(
        pool,
        target,
        bounds=bounds,
        weight_density=density[name],
        log_prior=bernoulli_log_prior(0.5) if size is None else subset_log_prior(size),
        alpha_sigma=2.0,
        beta_sigma=1.0,
        own_log_density=own_log_density(pool, *OWN.values()) if identity else None,
    )
    model = getattr(bid, name)(
        target,
        k=size,
        bounds=bounds,
        pool=pool if pool_given is True else None,
        alpha_sigma=2.0,
        beta_sigma=1.0,
        identity=identity,
        **OWN if identity else {},
    )
    steps = make_steps(model, seed=3, scheme=scheme, nu=1)
    visited = run_states(steps, model.initial_point(random_seed=5), draws)
    assert total_variation(exact, visited) <= largest


@pytest.mark.parametrize(("scheme", "name", "size", "bounds", "pool_given"), SOME)
def test_states_are_visited_as_often_as_they_are_probable(scheme, name, size, bounds, pool_given):
    draws, largest = (30_000, 0.02) if scheme == "paper" else QUICK
    check(scheme, name, size, bounds, pool_given, columns=3, draws=draws, largest=largest)


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "name", "size", "bounds", "pool_given"), EVERY)
def test_states_are_visited_as_often_as_they_are_probable_everywhere(
    scheme, name, size, bounds, pool_given
):
    # The paper's swap is carried out once in 25 iterations here: 100,000 draws are worth few.
    draws = 100_000 if scheme == "collapsed" else 100_000 if size is None else 400_000
    check(scheme, name, size, bounds, pool_given, columns=4, draws=draws, largest=0.02)


def check_noise_for_each_column(size, bounds, draws, largest):
    """Targets are independent given r: the product of what each of them says of the states."""
    pool, target = problem(True, 3)
    log_prior = bernoulli_log_prior(0.5) if size is None else subset_log_prior(size)
    by_target = [
        exact_state_probabilities(
            pool,
            target[:, [column]],
            bounds=bounds,
            weight_density=truncated_normal_density(0.0, 1.0, bounds),
            log_prior=lambda state: 0.0,
            alpha_sigma=2.0,
            beta_sigma=1.0,
        )
        for column in range(target.shape[1])
    ]
    exact = {
        state: np.exp(log_prior(state)) * np.prod([one[state] for one in by_target])
        for state in by_target[0]
    }
    total = sum(exact.values())
    exact = {state: value / total for state, value in exact.items() if value > 0}
    model = bid.gbt(
        target, k=size, bounds=bounds, pool=pool, noise="column", alpha_sigma=2.0, beta_sigma=1.0
    )
    steps = make_steps(model, seed=3, scheme="collapsed", nu=1)
    visited = run_states(steps, model.initial_point(random_seed=5), draws)
    assert total_variation(exact, visited) <= largest


@pytest.mark.parametrize(("size", "bounds"), [(None, BOUNDS[0]), (2, BOUNDS[1])])
def test_states_are_visited_as_often_with_noise_for_each_column(size, bounds):
    check_noise_for_each_column(size, bounds, *QUICK)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "bounds"), list(product(SIZES, BOUNDS)))
def test_states_are_visited_as_often_with_noise_for_each_column_everywhere(size, bounds):
    check_noise_for_each_column(size, bounds, 100_000, 0.02)


@pytest.mark.parametrize(
    ("name", "size", "bounds", "pool_given", "columns"),
    [
        ("gbt", None, BOUNDS[0], "identity", 5),
        pytest.param("gbt", 2, BOUNDS[1], True, 5, marks=pytest.mark.slow),
        pytest.param("gbt", None, BOUNDS[0], False, 3, marks=pytest.mark.slow),
        pytest.param("gbtn", None, BOUNDS[1], "identity", 3, marks=pytest.mark.slow),
    ],
)
def test_states_are_visited_as_often_at_given_noise(
    name, size, bounds, pool_given, columns, monkeypatch
):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", 2)
    check("collapsed", name, size, bounds, pool_given, columns, *QUICK)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "bounds"), [(None, BOUNDS[0]), (2, BOUNDS[1])])
def test_states_are_visited_as_often_at_given_noise_of_each_column(size, bounds, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", 2)
    check_noise_for_each_column(size, bounds, *QUICK)


@pytest.mark.parametrize(
    "bounds", [BOUNDS[0], pytest.param((-np.inf, np.inf), marks=pytest.mark.slow)]
)
def test_states_are_visited_as_often_if_a_round_takes_several_iterations(bounds, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", 2)
    # One replica moves at a time.
    monkeypatch.setattr(ladder, "MOST_WORK", 0.0)
    check("collapsed", "gbt", None, bounds, "identity", 3, *QUICK)


@pytest.mark.parametrize("work", [1.0, pytest.param(50.0, marks=pytest.mark.slow)])
def test_states_are_visited_as_often_if_a_replica_takes_several_iterations(work, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", 1)
    monkeypatch.setattr(ladder, "MOST_FLIP_WORK", work)
    check("collapsed", "gbt", None, BOUNDS[0], "identity", 4, *QUICK)


def exact_with_identity_and_noise_for_each_column(data, bounds):
    """Of each target what it says of the states that do not hold it, times its density alone."""
    columns = data.shape[1]
    own = own_log_density(data, 2.0, 1.5)
    # Of the target at no column at all there is a closed form, which the others are relative to.
    alone = own_log_density(data, 2.0, 1.0)
    logs = {state: own[np.array(state) == 1].sum() for state in np.ndindex(*(2,) * columns)}
    for target in range(columns):
        found = exact_state_probabilities(
            data,
            data[:, [target]],
            bounds=bounds,
            weight_density=truncated_normal_density(0.0, 1.0, bounds),
            log_prior=lambda state, target=target: -np.inf if state[target] else 0.0,
            alpha_sigma=2.0,
            beta_sigma=1.0,
        )
        nothing = np.log(found[(0,) * columns])
        for state, probability in found.items():
            logs[state] += alone[target] + np.log(probability) - nothing
    total = special.logsumexp(list(logs.values()))
    return {state: float(np.exp(value - total)) for state, value in logs.items()}


@pytest.mark.parametrize("few", [2, 16])
def test_states_with_columns_that_are_noise_groups_are_visited_as_often(few, monkeypatch):
    monkeypatch.setattr(marginal, "FEW_COLUMNS", few)
    data, _ = problem("identity", 3)
    exact = exact_with_identity_and_noise_for_each_column(data, BOUNDS[0])
    model = bid.gbt(
        data,
        bounds=BOUNDS[0],
        identity=True,
        noise="column",
        alpha_sigma=2.0,
        beta_sigma=1.0,
        **OWN,
    )
    steps = make_steps(model, seed=3, scheme="collapsed", nu=1)
    visited = run_states(steps, model.initial_point(random_seed=5), QUICK[0])
    assert total_variation(exact, visited) <= QUICK[1]
