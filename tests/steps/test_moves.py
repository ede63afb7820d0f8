"""Moves of one's own, registered with the steps for the state vector."""

import cloudpickle
import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from tests.helpers.cases import run_states, small_data
from tests.reference.enumeration import (
    exact_state_probabilities,
    total_variation,
    truncated_normal_density,
)

POOL, TARGET = small_data(seed=4, rows=4)
POOL[:, 1] = POOL[:, 0] + 0.1 * POOL[:, 1]


def exchange(rng, state, weights, residual_cross, products, noise_variance, prior, own, odds):
    """Exchange columns 0 and 1 together with their weights, whose priors are the same."""
    if state[0] == state[1]:
        return 0, 0
    old, new = (0, 1) if state[0] else (1, 0)
    gram = products.grams[products.pattern]
    square = gram[:, old, old] - 2 * gram[:, old, new] + gram[:, new, new]
    product = residual_cross[new] - residual_cross[old]
    change = weights[old] ** 2 * square - 2 * weights[old] * product
    log_ratio = odds[new] - odds[old] - np.sum(change / (2 * noise_variance))
    if np.log(rng.random()) >= log_ratio:
        return 1, 0
    state[[old, new]] = 0, 1
    weights[[old, new]] = weights[[new, old]]
    return 1, 1


def steps_with(model, moves, scheme="paper"):
    rngs = np.random.default_rng(2).spawn(3)
    with model:
        return [
            bid.FlipStep(model["r"], moves=moves, scheme=scheme, rng=rngs[0]),
            bid.NoiseStep(model["sigma2"], rng=rngs[1]),
            bid.WeightStep(model["Y"], nu=1, rng=rngs[2]),
        ]


@pytest.fixture(scope="module")
def model():
    return bid.gbt(TARGET, pool=POOL, inclusion=[0.3, 0.5, 0.5], alpha_sigma=3, beta_sigma=2)


def test_states_are_visited_as_often_as_they_are_probable(model):
    exact = exact_state_probabilities(
        POOL,
        TARGET,
        weight_density=truncated_normal_density(),
        log_prior=lambda r: sum(
            np.log([0.3, 0.5, 0.5][k] if r[k] else [0.7, 0.5, 0.5][k]) for k in range(3)
        ),
        alpha_sigma=3.0,
        beta_sigma=2.0,
    )
    visited = run_states(
        steps_with(model, [exchange]), model.initial_point(random_seed=1), draws=5000
    )
    assert total_variation(exact, visited) <= 0.04


def test_the_move_is_made_and_counted(model):
    with model:
        idata = pm.sample(
            draws=60,
            tune=30,
            chains=1,
            progressbar=False,
            compute_convergence_checks=False,
            random_seed=2,
            bid_flip={"moves": [exchange]},
        )
    tried, accepted = (
        np.asarray(idata["sample_stats"][f"bid_moves_{name}"]) for name in ("tried", "accepted")
    )
    assert (accepted <= tried).all()
    assert accepted.sum() > 0
    assert tried.max() == 1


def test_a_step_with_a_move_can_be_pickled(model):
    step = cloudpickle.loads(cloudpickle.dumps(steps_with(model, [exchange])[0]))
    step.stop_tuning()
    point, _ = step.step(model.initial_point(random_seed=1))
    assert set(point["r"]) <= {0, 1}


def leave_two(rng, state, *_):
    state[:] = 2
    return 1, 1


def leave_all(rng, state, *_):
    state[:] = 1
    return 1, 1


@pytest.mark.parametrize(("k", "move"), [(None, leave_two), (1, leave_all)])
def test_a_move_that_leaves_no_state_vector_is_named(k, move):
    model = bid.gbt(TARGET, k=k)
    step = (bid.FlipStep if k is None else bid.SwapStep)([model["r"]], model=model, moves=[move])
    step.stop_tuning()
    with pytest.raises(ValueError, match=f"{move.__name__} left the state"):
        step.step(model.initial_point(random_seed=1))


def test_moves_are_refused_where_columns_depend_on_each_other_before_the_data():
    model = bid.gbt(TARGET)
    with model:
        pm.Potential("both", model["r"][0] * model["r"][1])
        with pytest.raises(ValueError, match="moves"):
            bid.FlipStep(model["r"], moves=[exchange])
        with pytest.raises(ValueError, match="scheme must be 'collapsed' where the prior of r"):
            bid.FlipStep(model["r"], scheme="paper")
