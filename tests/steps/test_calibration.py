"""Simulation-based calibration through pm.sample, step assignment included."""

import numpy as np
import pymc as pm
import pytest
from pymc.sampling.mcmc import assign_step_methods
from pymc.step_methods import STEP_METHODS

import pymc_bid as bid
from tests.reference.monte_carlo import assert_uniform_ranks, randomised_rank

# Models are made of zeros, and their data drawn afterwards.
pytestmark = pytest.mark.filterwarnings("ignore:A has constant columns")

CASES = [
    (name, k, identity) for name in ("gbt", "gbtn") for k in (None, 2) for identity in (False, True)
]
# Every value of each factor; `pm.sample` takes half a second to start, for every simulation.
FEW = [("gbt", None, True), ("gbtn", 2, False)]
# Collapsed alone: the paper has neither.
VARIANTS = [
    ("gbt", None, True, "column"),
    ("gbt", 2, False, "column"),
    ("gbtn", None, True, "column"),
]
NOISE = {"alpha_sigma": 4.0, "beta_sigma": 3.0}
IDENTITY = {"identity": True, "alpha_omega": 4.0, "beta_omega": 3.0}
RANKED_DRAWS = 19


def summaries(draws):
    """One row per draw: what is ranked."""
    r, sigma2, Y = draws["r"], draws["sigma2"], draws["Y"]
    sigma2 = sigma2 if sigma2.ndim == 1 else sigma2[:, 1]
    columns = [r.sum(axis=1), r[:, 0], sigma2, Y[:, 0, 0], np.abs(Y[:, 1, 1]) * r[:, 1]]
    if "omega2" in draws:
        columns += [draws["omega2"][:, 0], draws["omega2"][:, 1] * r[:, 1]]
    if "mu_tau" in draws:
        columns += list(draws["mu_tau"][:, 0, 0].T)
    return np.column_stack(columns)


def check(name, k, identity, simulations, thinning, options, noise="common"):
    rng = np.random.default_rng(11)
    names = ["r", "sigma2", "Y", *(["mu_tau"] if name == "gbtn" else [])]
    if identity:
        names.append("omega2")
        start = rng.normal(size=(4, 3))
        model = getattr(bid, name)(start, k=k, noise=noise, **NOISE, **IDENTITY)
    else:
        pool = rng.normal(size=(4, 3))
        model = getattr(bid, name)(np.zeros((4, 2)), k=k, pool=pool, noise=noise, **NOISE)
    with model:
        # The data too: with the identity nothing stands on both sides of the likelihood.
        *truths, targets = pm.draw(
            [model[v] for v in (*names, "A")], draws=simulations, random_seed=1
        )
        # Once for all simulations: PyMC derives the whole density for it.
        _, assigned = assign_step_methods(model, methods=list(STEP_METHODS))
    ranks = []
    for simulation in range(simulations):
        truth = {v: drawn[simulation] for v, drawn in zip(names, truths, strict=True)}
        with model:
            pm.set_data({"target": targets[simulation]})
            steps = [
                step(values, **options.get(step.name, {})) for step, values in assigned.items()
            ]
            idata = pm.sample(
                draws=RANKED_DRAWS * thinning,
                tune=100,
                chains=1,
                cores=1,
                step=steps,
                random_seed=simulation,
                progressbar=False,
                compute_convergence_checks=False,
            )
        posterior = {
            v: np.asarray(idata["posterior"][v])[0, thinning - 1 :: thinning] for v in names
        }
        single = {v: value[None] for v, value in truth.items()}
        ranks.append(randomised_rank(rng, summaries(single)[0], summaries(posterior)))
    label = f"{name}, k={k}, identity={identity}"
    bins = 20 if simulations >= 100 else 5
    assert_uniform_ranks(np.array(ranks), bins, label=label, rank_count=RANKED_DRAWS + 1)


@pytest.mark.parametrize(("name", "k", "identity"), FEW)
def test_ranks_are_uniform(name, k, identity):
    check(name, k, identity, simulations=25, thinning=10, options={})


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["paper", "collapsed"])
@pytest.mark.parametrize(("name", "k", "identity"), CASES)
def test_ranks_are_uniform_for_every_scheme(name, k, identity, scheme):
    options = {"bid_flip" if k is None else "bid_swap": {"scheme": scheme}}
    check(name, k, identity, simulations=120, thinning=30, options=options)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k", "identity", "noise"), VARIANTS)
def test_ranks_are_uniform_with_noise_for_each_column(name, k, identity, noise):
    check(name, k, identity, simulations=120, thinning=30, options={}, noise=noise)
