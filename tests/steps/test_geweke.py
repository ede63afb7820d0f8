"""Geweke's joint test through pm.sample: steps and simulated data in turn leave the prior alone."""

import numpy as np
import pymc as pm
import pytest
from pymc.step_methods.compound import BlockedStep, StepMethodState
from pymc.util import get_random_generator

import pymc_bid as bid
from tests.reference.monte_carlo import assert_means_agree

SETTINGS = {"alpha_sigma": 4.0, "beta_sigma": 3.0}
CASES = [
    (name, k, scheme)
    for name in ("gbt", "gbtn")
    for k in (None, 2)
    for scheme in ("paper", "collapsed")
]


class SimulateTarget(BlockedStep):
    """Redraw the target given all parameters, so that pm.sample walks on the joint distribution."""

    name = "simulate_target"
    _state_class = StepMethodState

    def __init__(self, vars, *, pool, container, model=None, rng=None, **_):
        self.vars = [model.rvs_to_values[v] for v in vars]
        self.pool, self.container = pool, container
        self.rng = get_random_generator(rng)

    def step(self, point):
        mean = (self.pool * point["r"]) @ point["Y"]
        noise = self.rng.normal(size=mean.shape)
        self.container.set_value(mean + np.sqrt(point["sigma2"]) * noise)
        return point, [{}]


def summaries(draws, pool):
    """Functions of all parameters, with second moments and products across blocks."""
    r, sigma2, Y = draws["r"], draws["sigma2"], draws["Y"]
    K = r.sum(axis=1)
    fit = ((pool * r[:, None, :]) @ Y).reshape(len(r), -1)
    columns = [
        *(K, K**2, r[:, 0], r[:, 0] * r[:, 1]),
        *(np.log(sigma2), np.log(sigma2) * K, np.minimum(sigma2, 10.0)),
        *(Y[:, 0, 0], Y[:, 1, 1] ** 2, Y[:, 0, 0] * Y[:, 0, 1], Y[:, 2, 0] * r[:, 2]),
        *((Y**2).mean(axis=(1, 2)), np.abs(fit).mean(axis=1), np.tanh(fit[:, 0] * fit[:, 1])),
    ]
    if "mu_tau" in draws:
        mu, tau = draws["mu_tau"][:, 0, 0].T
        columns += [mu, mu**2, np.log(tau), np.exp(-tau), mu * Y[:, 0, 0], mu * np.log(tau)]
    return np.column_stack(columns)


def prior_draws(model, names, number, seed):
    with model:
        drawn = pm.draw([model[name] for name in names], draws=number, random_seed=seed)
    return dict(zip(names, drawn, strict=True))


def check(name, k, scheme, draws):
    pool = np.random.default_rng(7).normal(size=(4, 3))
    model = getattr(bid, name)(np.zeros((4, 2)), k=k, pool=pool, **SETTINGS)
    names = ["r", "sigma2", "Y", *(["mu_tau"] if name == "gbtn" else [])]
    with model:
        state = (bid.FlipStep if k is None else bid.SwapStep)(model["r"], scheme=scheme)
        steps = [
            SimulateTarget([model["r"]], pool=pool, container=model["target"], model=model),
            state,
            bid.NoiseStep(model["sigma2"]),
            bid.WeightStep(model["Y"], nu=1),
        ]
        idata = pm.sample(
            draws=draws,
            tune=100,
            chains=1,
            cores=1,
            step=steps,
            random_seed=3,
            progressbar=False,
            compute_convergence_checks=False,
        )
    chain = {key: np.asarray(idata["posterior"][key])[0] for key in names}
    prior = prior_draws(model, names, 10_000, seed=5)
    label = f"{name}, k={k}, {scheme}"
    assert_means_agree(summaries(chain, pool), summaries(prior, pool), alpha=1e-5, label=label)


@pytest.mark.parametrize(("name", "k", "scheme"), CASES)
def test_steps_and_simulated_data_leave_the_prior_alone(name, k, scheme):
    check(name, k, scheme, draws=2_500)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k", "scheme"), CASES)
def test_steps_and_simulated_data_leave_the_prior_alone_at_length(name, k, scheme):
    check(name, k, scheme, draws=60_000)
