"""Geweke's joint test through pm.sample: steps and simulated data in turn leave the prior alone."""

import numpy as np
import pymc as pm
import pytest
from pymc.step_methods.compound import BlockedStep, StepMethodState
from pymc.util import get_random_generator

import pymc_bid as bid
from tests.reference.monte_carlo import assert_means_agree

# Models are made of zeros, and their data drawn afterwards.
pytestmark = pytest.mark.filterwarnings("ignore:A has constant columns")

SETTINGS = {"alpha_sigma": 4.0, "beta_sigma": 3.0}
IDENTITY = {"identity": True, "own_mean": 0.3, "alpha_omega": 4.0, "beta_omega": 3.0}
CASES = [
    (name, k, scheme, identity)
    for name in ("gbt", "gbtn")
    for k in (None, 2)
    for scheme in ("paper", "collapsed")
    for identity in (False, True)
]
# Every pair of values of two factors.
PAIRWISE = [case for case in CASES if sum(map(bool, (case[0] == "gbt", case[1], case[3]))) % 2 == 0]


# Noise for each column, and missing entries; collapsed alone, with the identity or without.
VARIANTS = [
    ("gbt", None, {"noise": "column"}, True),
    ("gbt", 2, {"noise": "column"}, True),
    ("gbt", None, {"noise": "column"}, False),
    ("gbtn", None, {"noise": "column"}, True),
    ("gbt", None, {"missing": "mask"}, True),
    ("gbt", 2, {"missing": "mask", "noise": "column"}, True),
]
GAPS = np.zeros((4, 3), dtype=bool)
GAPS[0, 1] = GAPS[2, 1] = GAPS[3, 2] = True


class SimulateTarget(BlockedStep):
    """Redraw the target given all parameters, so that pm.sample walks on the joint distribution."""

    name = "simulate_target"
    _state_class = StepMethodState

    def __init__(self, vars, *, pool, container, gaps=None, model=None, rng=None, **_):
        self.vars = [model.rvs_to_values[v] for v in vars]
        self.pool, self.container, self.gaps = pool, container, gaps
        self.rng = get_random_generator(rng)

    def step(self, point):
        if self.pool is None:
            rows = self.container.get_value().shape[0]
            target = simulate_with_identity(self.rng, point, rows, self.gaps)
        else:
            mean = (self.pool * point["r"]) @ point["Y"]
            target = mean + np.sqrt(point["sigma2"]) * self.rng.normal(size=mean.shape)
        self.container.set_value(target)
        return point, [{}]


def simulate_with_identity(rng, point, rows, gaps=None):
    """Draw the chosen columns, then the others given them; what is missing is 0 in either."""
    chosen = point["r"] == 1
    target = 0.3 + np.sqrt(point["omega2"]) * rng.normal(size=(rows, len(chosen)))
    if gaps is not None:
        target[gaps] = 0.0
    noise = (np.sqrt(point["sigma2"]) * rng.normal(size=(rows, len(chosen))))[:, ~chosen]
    target[:, ~chosen] = target[:, chosen] @ point["Y"][np.ix_(chosen, ~chosen)] + noise
    if gaps is not None:
        target[gaps] = 0.0
    return target


def summaries(draws, pool):
    """Functions of all parameters, with second moments and products across blocks."""
    r, sigma2, Y = draws["r"], draws["sigma2"], draws["Y"]
    K = r.sum(axis=1)
    by_column = []
    if sigma2.ndim == 2:
        by_column = [np.log(sigma2[:, 1]), np.log(sigma2[:, 1]) * r[:, 1], np.exp(-sigma2[:, 1])]
        sigma2 = sigma2[:, 0]
    if pool is None:
        interpolated = (r[:, :, None] == 1) & (r[:, None, :] == 0)
        fit = (Y * interpolated).reshape(len(r), -1)[:, 1:]
    else:
        fit = ((pool * r[:, None, :]) @ Y).reshape(len(r), -1)
    columns = [
        *(K, K**2, r[:, 0], r[:, 0] * r[:, 1]),
        *(np.log(sigma2), np.log(sigma2) * K, np.minimum(sigma2, 10.0)),
        *(Y[:, 0, 0], Y[:, 1, 1] ** 2, Y[:, 0, 0] * Y[:, 0, 1], Y[:, 2, 0] * r[:, 2]),
        *((Y**2).mean(axis=(1, 2)), np.abs(fit).mean(axis=1), np.tanh(fit[:, 0] * fit[:, 1])),
    ]
    columns += by_column
    if "omega2" in draws:
        omega2 = draws["omega2"]
        columns += [np.log(omega2[:, 0]), np.log(omega2[:, 1]) * r[:, 1], np.exp(-omega2[:, 2])]
        columns += [np.log(omega2[:, 0]) * np.log(sigma2), np.log(omega2[:, 2]) * Y[:, 2, 0]]
    if "mu_tau" in draws:
        mu, tau = draws["mu_tau"][:, 0, 0].T
        columns += [mu, mu**2, np.log(tau), np.exp(-tau), mu * Y[:, 0, 0], mu * np.log(tau)]
    return np.column_stack(columns)


def prior_draws(model, names, number, seed):
    with model:
        drawn = pm.draw([model[name] for name in names], draws=number, random_seed=seed)
    return dict(zip(names, drawn, strict=True))


def check(name, k, scheme, identity, draws, **options):
    names = ["r", "sigma2", "Y", *(["mu_tau"] if name == "gbtn" else [])]
    if identity:
        pool, names = None, [*names, "omega2"]
        A = np.where(GAPS, np.nan, 0.0) if "missing" in options else np.zeros((4, 3))
        model = getattr(bid, name)(A, k=k, **SETTINGS, **IDENTITY, **options)
    else:
        pool = np.random.default_rng(7).normal(size=(4, 3))
        model = getattr(bid, name)(np.zeros((4, 2)), k=k, pool=pool, **SETTINGS, **options)
    gaps = GAPS if "missing" in options else None
    simulation = {"pool": pool, "container": model["target"], "gaps": gaps, "model": model}
    with model:
        state = (bid.FlipStep if k is None else bid.SwapStep)(model["r"], scheme=scheme)
        steps = [
            SimulateTarget([model["r"]], **simulation),
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
    # Independent ones, and twice as many: the error is that of the chain. They take longer than it.
    prior = prior_draws(model, names, min(2 * draws, 10_000), seed=5)
    label = f"{name}, k={k}, {scheme}, identity={identity}, {options}"
    assert_means_agree(summaries(chain, pool), summaries(prior, pool), alpha=1e-5, label=label)


@pytest.mark.parametrize(("name", "k", "scheme", "identity"), PAIRWISE)
def test_steps_and_simulated_data_leave_the_prior_alone(name, k, scheme, identity):
    check(name, k, scheme, identity, draws=1_500)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k", "scheme", "identity"), CASES)
def test_steps_and_simulated_data_leave_the_prior_alone_at_length(name, k, scheme, identity):
    check(name, k, scheme, identity, draws=60_000)


@pytest.mark.parametrize(("name", "k", "options", "identity"), VARIANTS[::2])
def test_noise_for_each_column_and_gaps_leave_the_prior_alone(name, k, options, identity):
    check(name, k, "collapsed", identity, draws=1_500, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k", "options", "identity"), VARIANTS)
def test_noise_for_each_column_and_gaps_leave_the_prior_alone_at_length(name, k, options, identity):
    check(name, k, "collapsed", identity, draws=60_000, **options)
