"""The yardstick is measured first: quadrature against closed forms and brute force."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from tests.reference.enumeration import (
    bernoulli_log_prior,
    exact_state_probabilities,
    hierarchical_density,
    subset_log_prior,
    total_variation,
    truncated_normal_density,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(20240611)
    pool = rng.normal(size=(5, 3))
    weights = np.array([[0.6, -0.4], [0.0, 0.0], [0.3, 0.7]])
    return pool, pool @ weights + 0.8 * rng.normal(size=(5, 2))


def largest_difference(left, right):
    assert left.keys() == right.keys()
    return max(abs(left[state] - right[state]) for state in left)


def closed_form(pool, target, variance, log_prior, mean=0.0, precision=1.0):
    """p(r | A) without bounds: a_l ~ N(B_J m, σ² I + B_J B_Jᵀ / τ)."""
    log_probability = {}
    for state in np.ndindex(*(2,) * pool.shape[1]):
        basis = pool * np.array(state)
        covariance = variance * np.eye(len(pool)) + basis @ basis.T / precision
        center = basis.sum(axis=1) * mean
        log_probability[state] = log_prior(state) + np.sum(
            stats.multivariate_normal(center, covariance).logpdf(target.T)
        )
    total = special.logsumexp(list(log_probability.values()))
    return {state: np.exp(value - total) for state, value in log_probability.items()}


@pytest.mark.parametrize("mean", [0.0, 0.4])
def test_infinite_bounds_agree_with_the_multivariate_normal(problem, mean):
    infinite = (-np.inf, np.inf)
    log_prior = bernoulli_log_prior(0.3)
    exact = exact_state_probabilities(
        *problem,
        log_prior=log_prior,
        bounds=infinite,
        weight_density=truncated_normal_density(mean, 2.0, infinite),
        noise_variance=0.7,
    )
    expected = closed_form(*problem, 0.7, log_prior, mean, 2.0)
    assert largest_difference(exact, expected) < 1e-12


@pytest.mark.parametrize("noise_variance", [None, 0.7])
def test_a_wide_box_agrees_with_infinite_bounds(problem, noise_variance):
    arguments = {"log_prior": bernoulli_log_prior(), "noise_variance": noise_variance}
    box = exact_state_probabilities(*problem, bounds=(-7.5, 7.5), nodes=100, **arguments)
    infinite = exact_state_probabilities(*problem, bounds=(-np.inf, np.inf), **arguments)
    assert largest_difference(box, infinite) < 1e-7


@pytest.mark.parametrize(
    "density",
    [truncated_normal_density(), hierarchical_density()],
    ids=["truncated normal", "hierarchical"],
)
def test_doubling_the_grids_changes_nothing(problem, density):
    arguments = {"log_prior": bernoulli_log_prior(), "weight_density": density}
    coarse = exact_state_probabilities(*problem, **arguments)
    fine = exact_state_probabilities(*problem, **arguments, nodes=96, noise_resolution=3)
    assert sum(fine.values()) == pytest.approx(1)
    assert largest_difference(coarse, fine) < 1e-6


def test_truncated_weights_agree_with_importance_sampling(problem):
    """The evidence of a state is the mean likelihood of draws from the prior, rows off included."""
    pool, target = problem
    bounds, draws, variance = (-0.5, 1.0), 400_000, 0.7
    density = truncated_normal_density(0.3, 4.0, bounds)
    exact = exact_state_probabilities(
        pool,
        target,
        log_prior=subset_log_prior(2),
        bounds=bounds,
        weight_density=density,
        noise_variance=variance,
    )
    rng = np.random.default_rng(3)
    normal = rng.normal(0.3, 0.5, size=(draws * 2, *target.shape[1:], pool.shape[1]))
    weights = normal[np.all((normal >= bounds[0]) & (normal <= bounds[1]), axis=(1, 2))]
    evidence, error = [], []
    for state in exact:
        residual = target.T - (weights * np.array(state)) @ pool.T
        likelihood = np.exp(-np.sum(residual**2, axis=(1, 2)) / (2 * variance))
        evidence.append(likelihood.mean())
        error.append(likelihood.std() / np.sqrt(len(likelihood)))
    estimate = np.array(evidence) / np.sum(evidence)
    assert list(exact) == [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    np.testing.assert_allclose(
        list(exact.values()), estimate, rtol=0, atol=5 * np.max(error) / np.sum(evidence)
    )


def test_unknown_noise_is_an_average_over_known_noise(problem):
    """p(A, r) = ∫ p(σ²) p(A, r | σ²) dσ², with another integrator than the one on trial."""
    pool, target = problem

    def log_joint(variance):
        covariance = [
            variance * np.eye(len(pool)) + (pool * state) @ (pool * state).T
            for state in np.ndindex(2, 2, 2)
        ]
        return np.array(
            [stats.multivariate_normal(cov=c).logpdf(target.T).sum() for c in covariance]
        )

    def integrand(log_variance):
        variance = np.exp(log_variance)
        prior = stats.invgamma.logpdf(variance, 2.0, scale=0.5) + log_variance
        return np.exp(prior + log_joint(variance))

    joint, _ = integrate.quad_vec(integrand, -12, 12, epsrel=1e-10)
    exact = exact_state_probabilities(
        *problem,
        log_prior=bernoulli_log_prior(),
        bounds=(-np.inf, np.inf),
        alpha_sigma=2.0,
        beta_sigma=0.5,
    )
    np.testing.assert_allclose(list(exact.values()), joint / joint.sum(), rtol=1e-7)


def test_each_weight_may_have_its_own_prior(problem):
    infinite = (-np.inf, np.inf)
    means = np.array([[0.5, -0.5], [0.1, 0.0], [-0.2, 0.3]])
    precisions = np.array([[1.0, 2.0], [3.0, 4.0], [0.5, 5.0]])

    def probabilities(bounds):
        density = [
            [truncated_normal_density(*moments, infinite) for moments in zip(*rows, strict=True)]
            for rows in zip(means, precisions, strict=True)
        ]
        return exact_state_probabilities(
            *problem,
            log_prior=bernoulli_log_prior(),
            bounds=bounds,
            weight_density=density,
            noise_variance=0.7,
            nodes=80,
        )

    pool, target = problem
    expected = {}
    for state in np.ndindex(2, 2, 2):
        basis = pool * np.array(state)
        expected[state] = np.prod(
            [
                stats.multivariate_normal(
                    basis @ means[:, column],
                    0.7 * np.eye(5) + (basis / precisions[:, column]) @ basis.T,
                ).pdf(target[:, column])
                for column in range(2)
            ]
        )
    total = sum(expected.values())
    expected = {state: value / total for state, value in expected.items()}
    assert largest_difference(probabilities(infinite), expected) < 1e-12
    assert largest_difference(probabilities((-7, 7)), expected) < 1e-6


def test_hierarchical_density_agrees_with_forward_draws():
    bounds = (-1.0, 2.0)
    density = hierarchical_density(0.5, 0.8, 2.0, 0.5, bounds)
    rng = np.random.default_rng(11)
    draws = 200_000
    mu = rng.normal(0.5, 0.8**-0.5, size=draws)
    tau = rng.gamma(2.0, 1 / 0.5, size=draws)
    weight = rng.normal(mu, tau**-0.5)
    weight = weight[(weight >= bounds[0]) & (weight <= bounds[1])]
    grid = np.linspace(*bounds, 2001)
    cumulative = integrate.cumulative_simpson(density(grid), x=grid, initial=0)
    assert cumulative[-1] == pytest.approx(1, abs=1e-8)
    test = stats.kstest(weight, lambda y: np.interp(y, grid, cumulative))
    assert test.pvalue > 1e-4


def test_too_few_nodes_are_noticed(problem):
    pool, _ = problem
    with pytest.raises(ValueError, match="too few"):
        exact_state_probabilities(
            pool, pool, log_prior=bernoulli_log_prior(), noise_variance=1e-3, bounds=(-2, 2)
        )


def test_states_of_no_prior_mass_are_left_out(problem):
    exact = exact_state_probabilities(*problem, log_prior=subset_log_prior(1), noise_variance=0.7)
    assert set(exact) == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_half_infinite_bounds_are_refused(problem):
    with pytest.raises(ValueError, match="both finite or both infinite"):
        exact_state_probabilities(*problem, log_prior=bernoulli_log_prior(), bounds=(0, np.inf))


def test_infinite_bounds_refuse_other_densities(problem):
    with pytest.raises(ValueError, match="truncated_normal_density"):
        exact_state_probabilities(
            *problem,
            log_prior=bernoulli_log_prior(),
            bounds=(-np.inf, np.inf),
            weight_density=hierarchical_density(),
        )


def test_total_variation_counts_states_missing_on_either_side():
    exact = {(0, 1): 0.5, (1, 0): 0.5}
    assert total_variation(exact, [[0, 1], [1, 0]]) == 0
    assert total_variation(exact, [[0, 1], [0, 1]]) == pytest.approx(0.5)
    assert total_variation(exact, [[1, 1]]) == pytest.approx(1)
