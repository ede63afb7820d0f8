"""The evidence of a set that a user names, against enumeration and quadrature."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from tests.helpers.marginals import make_marginal
from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    hierarchical_density,
    truncated_normal_density,
)

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(5)
A = 0.7 * RNG.normal(size=(5, 3))
STATES = [(0,), (0, 1), (0, 1, 2), ()]


@pytest.mark.parametrize("name", ["gbt", "gbtn"])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-2.0, 2.0)])
def test_ratios_of_evidences_with_bounds_are_those_of_quadrature(name, bounds):
    density = (
        truncated_normal_density(0.0, 1.0, bounds)
        if name == "gbt"
        else hierarchical_density(0.0, 0.1, 1.0, 1.0, bounds)
    )
    exact = exact_state_probabilities(
        *(A, A),
        bounds=bounds,
        weight_density=density,
        log_prior=bernoulli_log_prior(0.5),
        alpha_sigma=2.0,
        beta_sigma=1.0,
    )
    model = getattr(bid, name)(A, bounds=bounds, alpha_sigma=2.0, beta_sigma=1.0)
    found = {s: bid.log_evidence(model, list(s), draws=2000, random_seed=1) for s in STATES}
    for chosen in STATES[:3]:
        keys = [tuple(int(j in s) for j in range(3)) for s in (chosen, ())]
        expected = np.log(exact[keys[0]] / exact[keys[1]])
        ratio = found[chosen].value - found[()].value
        error = np.hypot(found[chosen].standard_error, found[()].standard_error)
        # The quadrature is right to about 1e-3.
        assert abs(ratio - expected) <= 4 * error + 2e-3


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
def test_without_bounds_it_is_the_closed_form(identity, noise):
    from pymc_bid.kernels.marginal.evidence import log_evidence

    model = bid.gbt(A, bounds=None, identity=identity, noise=noise)
    state = np.array([1, 0, 1])
    expected = log_evidence(state, make_marginal(A, identity, noise))
    expected -= 0.5 * A.size * np.log(2 * np.pi)
    found = bid.log_evidence(model, [0, 2], draws=400, random_seed=3)
    assert abs(found.value - expected) <= 4 * found.standard_error + 1e-6
    assert found.standard_error < 0.01


def test_columns_are_given_by_their_labels():
    model = bid.gbt(bid.datasets.make_planted(rows=9, columns=3, rank=1, seed=0).A)
    labels = list(model.coords["basis"])
    first, again = (bid.log_evidence(model, [labels[1]], random_seed=1) for _ in range(2))
    assert first == again
    with pytest.raises(ValueError, match="columns has 'x', which is no column"):
        bid.log_evidence(model, ["x"])


def test_wrong_use_has_a_message():
    with pytest.raises(ValueError, match="draws must be a whole number"):
        bid.log_evidence(bid.gbt(A), [0], draws=1)
    with pm.Model() as empty:
        pm.Normal("x")
    with pytest.raises(TypeError, match="no decomposition"):
        bid.log_evidence(empty, [0])
    with pm.Model() as model:
        bid.gbt(A, tau=pm.Gamma("tau", 2.0, 2.0))
    with pytest.raises(TypeError, match="depend on other variables"):
        bid.log_evidence(model, [0])
