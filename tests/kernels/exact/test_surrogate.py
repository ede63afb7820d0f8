"""The closed form with about what bounds leave of the weights."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.kernels.exact.surrogate import find_evidence, propose_noise
from pymc_bid.kernels.marginal.evidence import log_evidence
from tests.helpers.marginals import marginal_of

# The table has a copy on purpose, which constructors say.
pytestmark = [
    pytest.mark.usefixtures("interpreted"),
    pytest.mark.filterwarnings("ignore:A has columns that are copies"),
]

RNG = np.random.default_rng(2)
A = RNG.normal(size=(20, 3)) @ RNG.normal(size=(3, 6)) + 0.3 * RNG.normal(size=(20, 6))
# The last but one asks for a weight of 2 of the last one.
A[:, 5] = 0.5 * A[:, 4]
SETS = [[1], [5], [2, 5], [0, 1, 5], [0, 2, 3, 4]]


def state_of(columns):
    return np.isin(np.arange(A.shape[1]), columns).astype(np.int64)


def bounded_evidence(state, marginal, box):
    log_evidence, log_mass, *_ = find_evidence(state, True, marginal, box)
    return log_evidence + log_mass


def check_evidences(model, noise_is_free):
    """Compare evidences over that of no columns with those by weighted draws."""
    marginal, box = marginal_of(model, noise_is_free)
    base = bid.log_evidence(model, [], random_seed=0).value
    for columns in SETS:
        found = bounded_evidence(state_of(columns), marginal, box)
        found -= bounded_evidence(state_of([]), marginal, box)
        expected = bid.log_evidence(model, columns, draws=2000, random_seed=1)
        assert expected.standard_error < 0.1
        # It is only a proposal. Without what the bounds take it would be off by up to a hundred.
        assert found == pytest.approx(expected.value - base, abs=0.5)


@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-0.3, 0.3), (0.0, np.inf)])
def test_it_is_about_the_evidence_by_weighted_draws(identity, noise, bounds):
    check_evidences(bid.gbt(A, identity=identity, noise=noise, bounds=bounds), True)


def test_far_beyond_the_bounds_it_is_less_than_without_them():
    base = RNG.normal(size=(12, 3))
    # Other sets of three than the first explain as much, with weights that are too large.
    data = np.hstack([base, base @ RNG.uniform(-1, 1, (3, 3)) + 1e-9])
    marginal, box = marginal_of(bid.gbt(data, alpha_sigma=0.1, beta_sigma=1e-14))
    empty = bounded_evidence(np.zeros(6, np.int64), marginal, box)
    for number in range(2**6):
        state = np.array([number >> column & 1 for column in range(6)])
        found = bounded_evidence(state, marginal, box)
        assert found <= log_evidence(state, marginal) + 1e-6, state
        # Weights of about zero explain nothing, but are always there.
        assert found > empty - 50, state


def test_with_known_noise_it_is_the_closed_form_times_the_mass():
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=6)
        Y = pm.TruncatedNormal("Y", 0.0, 1.0, lower=-1.0, upper=1.0, shape=(6, 6))
        pm.Normal("A", (A * r) @ Y, 0.5, observed=A)
    check_evidences(model, False)


@pytest.mark.parametrize("noise", ["common", "column"])
def test_noise_is_drawn_from_the_density_that_is_returned(noise):
    marginal, box = marginal_of(bid.gbt(A, identity=True, noise=noise))
    rng, state = np.random.default_rng(3), state_of([2, 5])
    # The mean of 1 / q over draws within a region is the size of the region.
    _, _, *noise = find_evidence(state, True, marginal, box)
    x, drawn = np.zeros(marginal.shape.size), []
    for _ in range(4000):
        log_proposal, _ = propose_noise(rng, True, x, *noise, marginal.group_start)
        drawn.append((x.copy(), log_proposal))
    values = np.array([x for x, _ in drawn])
    low, high = np.quantile(values, [0.02, 0.98], axis=0)
    size = np.prod(high - low)
    inside = ((values > low) & (values < high)).all(axis=1)
    weights = inside * np.exp(-np.array([log for _, log in drawn]))
    error = weights.std() / np.sqrt(weights.size)
    assert abs(weights.mean() - size) < 4.5 * error
