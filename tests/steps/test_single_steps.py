"""pm.sample() in models where it chooses one or two of the steps and no others."""

from itertools import combinations

import numpy as np
import pymc as pm
import pytest
from pymc.sampling.mcmc import assign_step_methods
from pymc.step_methods import STEP_METHODS
from pymc.step_methods.compound import BlockedStep, StepMethodState

import pymc_bid as bid
from tests.helpers.cases import small_data

POOL, TARGET = small_data()
SIZE, COLUMNS = POOL.shape[1], TARGET.shape[1]
STEPS = ("FlipStep", "SwapStep", "NoiseStep", "WeightStep", "InclusionStep")
CHOICES = [set(names) for number in (1, 2) for names in combinations(STEPS, number)]


class StandStill(BlockedStep):
    """Leaves its variables where they are: those that a decomposition needs to be free."""

    name = "stand_still"
    _state_class = StepMethodState

    def __init__(self, vars, *, model=None, rng=None, **arguments):
        self.vars = [pm.modelcontext(model).rvs_to_values[variable] for variable in vars]
        self.rng = np.random.default_rng(rng)

    def step(self, point):
        return point, [{}]


def decomposition(name, steps):
    """Add a decomposition whose state vector, noise and inclusion are free if a step is for them.

    Returns the variables that are free and not for any of the steps.
    """
    rest = []
    if "SwapStep" in steps:
        r = bid.StateVector(f"r{name}", k=2, n=SIZE)
    elif steps & {"FlipStep", "InclusionStep"}:
        share = pm.Beta(f"share{name}", 1, 1) if "InclusionStep" in steps else 0.5
        r = pm.Bernoulli(f"r{name}", share, shape=SIZE)
        if "FlipStep" not in steps:
            rest.append(r)
    else:
        r = pm.Data(f"r{name}", np.array([1, 0, 1]))
    sigma2 = pm.InverseGamma(f"sigma2{name}", 2.0, 1.5) if "NoiseStep" in steps else 0.5
    Y = pm.TruncatedNormal(f"Y{name}", 0, 1, lower=-1, upper=1, shape=(SIZE, COLUMNS))
    if "WeightStep" not in steps:
        rest.append(Y)
    pm.Normal(f"A{name}", (POOL * r) @ Y, sigma2**0.5, observed=TARGET)
    return rest


def build(steps):
    """A model in which PyMC chooses these steps, and a step for what no sampler is chosen for."""
    with pm.Model() as model:
        if "SwapStep" in steps and steps & {"FlipStep", "InclusionStep"}:
            # One state vector can't have both a fixed and a free number of ones.
            rest = decomposition("_fixed", {"SwapStep"})
            rest += decomposition("_free", steps - {"SwapStep"})
        else:
            rest = decomposition("", steps)
        return model, [StandStill(rest)] if rest else None


@pytest.mark.parametrize("steps", CHOICES, ids=lambda steps: " and ".join(sorted(steps)))
def test_any_one_and_any_two_of_the_steps_are_sampled(steps):
    model, given = build(steps)
    with model:
        _, selected = assign_step_methods(model, given, methods=list(STEP_METHODS))
        assert {step.__name__ for step in selected} == steps
        idata = pm.sample(
            draws=4,
            tune=3,
            chains=2,
            cores=1,
            step=given,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    posterior = idata["posterior"]
    assert posterior.sizes["draw"] == 4
    for variable in model.free_RVs:
        assert np.isfinite(np.asarray(posterior[variable.name])).all()
