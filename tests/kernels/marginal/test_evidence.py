"""The evidence of a set against the density of a normal, integrated on a grid."""

import numpy as np
import pytest
from scipy import special, stats

from pymc_bid.kernels.marginal.evidence import log_evidence
from tests.helpers.marginals import make_marginal, masked_marginal, small_matrix

GRID = np.linspace(-12, 12, 3000)
SETS = [[], [0], [0, 1], [0, 2, 4], [0, 1, 2, 3, 4]]


def on_a_grid(A, chosen, targets, tau, mu):
    """Log of ∫ IG(σ²) Π_l N(a_l | A_J μ, σ² I + A_J A_Jᵀ/τ) dσ², but for 2π."""
    basis = A[:, chosen]
    values, vectors = np.linalg.eigh(basis @ basis.T / tau)
    values = np.clip(values, 0, None)
    rotated = vectors.T @ (A[:, targets] - mu * basis.sum(axis=1, keepdims=True))
    variances = values[:, None] + np.exp(GRID)
    logs = -0.5 * len(targets) * np.log(variances).sum(axis=0)
    logs -= 0.5 * ((rotated**2).sum(axis=1)[:, None] / variances).sum(axis=0)
    logs += stats.invgamma(0.1, scale=1.0).logpdf(np.exp(GRID)) + GRID
    return special.logsumexp(logs) + np.log(GRID[1] - GRID[0])


@pytest.mark.parametrize("rows", [4, 8, 60])
@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("noise", ["common", "column"])
@pytest.mark.parametrize(("tau", "mu"), [(1.0, 0.0), (2.0, 0.3)])
def test_evidence_of_a_set(rows, identity, noise, tau, mu):
    A = small_matrix(rows)
    marginal = make_marginal(A, identity, noise, tau, mu)
    for chosen in SETS:
        targets = [j for j in range(5) if not (identity and j in chosen)]
        expected = marginal.own_log_densities[chosen].sum() if identity else 0.0
        groups = [targets] if noise == "common" else [[target] for target in targets]
        expected += sum(on_a_grid(A, chosen, group, tau, mu) for group in groups if group)
        state = np.isin(np.arange(5), chosen).astype(np.int64)
        assert log_evidence(state, marginal) == pytest.approx(expected, abs=3e-5)


def test_noise_that_almost_vanishes_leaves_the_evidence_finite():
    A = np.repeat(np.random.default_rng(1).normal(size=(9, 3)), 2, axis=1)
    marginal = make_marginal(A, False, "common")._replace(scale=np.array([1e-14]))
    found = [log_evidence(state, marginal) for state in np.eye(6, dtype=np.int64).cumsum(axis=0)]
    assert np.isfinite(found).all()
    # Columns 0, 2 and 4 explain all; the others are copies, which only cost.
    assert np.argmax(found) == 4


@pytest.mark.parametrize("identity", [False, True])
def test_entries_that_are_missing_are_integrated_out(identity):
    A = small_matrix(12)
    observed = np.random.default_rng(1).random(A.shape) < 0.7
    marginal = masked_marginal(A, observed, identity, "common")
    variances = np.exp(GRID)
    # Of no target at all the grid would have to hold the whole prior.
    for chosen in SETS[:-1]:
        logs = stats.invgamma(0.1, scale=1.0).logpdf(variances) + GRID
        for target in range(5):
            if identity and target in chosen:
                continue
            seen = observed[:, target]
            basis = A[np.ix_(seen, chosen)]
            values, vectors = np.linalg.eigh(basis @ basis.T)
            total = np.clip(values, 0, None)[:, None] + variances
            rotated = vectors.T @ A[seen, target]
            logs -= 0.5 * (np.log(total) + rotated[:, None] ** 2 / total).sum(axis=0)
        expected = special.logsumexp(logs) + np.log(GRID[1] - GRID[0])
        if identity:
            expected += marginal.own_log_densities[chosen].sum()
        state = np.isin(np.arange(5), chosen).astype(np.int64)
        assert log_evidence(state, marginal) == pytest.approx(expected, abs=3e-5)
