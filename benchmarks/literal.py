"""The paper's Gibbs sampler written out as printed, in NumPy and SciPy.

Every conditional is computed from the M × N matrices themselves, one weight at a time, with SciPy's
own distributions. That is what a reader of the paper would write first: an independent reference
for the package's kernels and what their speed is measured against.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special, stats


@dataclass
class Hyper:
    """Hyperparameters, with the paper's values; `means` and `precisions` are μ_kl and τ_kl.

    GBT keeps `means` and `precisions` as they are. With ``hierarchical=True`` (GBTN) they are
    drawn along with the weights.
    """

    means: np.ndarray | float = 0.0
    precisions: np.ndarray | float = 1.0
    lower: float = -1.0
    upper: float = 1.0
    inclusion: float = 0.5
    alpha_sigma: float = 0.1
    beta_sigma: float = 1.0
    hierarchical: bool = False
    mu_mu: float = 0.0
    tau_mu: float = 0.1
    alpha_t: float = 1.0
    beta_t: float = 1.0


def literal_iteration(
    rng: np.random.Generator,
    pool: np.ndarray,
    target: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    noise_variance: float,
    hyper: Hyper | None = None,
    fixed: bool = False,
    nu: int = 1,
) -> tuple[np.ndarray, np.ndarray, float, Hyper]:
    """One iteration: the state vector, the noise variance, then `nu` times all the weights.

    Parameters
    ----------
    rng : numpy.random.Generator
    pool : array of shape (M, N)
        Candidate columns; the target itself for the plain decomposition.
    target : array of shape (M, L)
    state : integer array of shape (N,)
    weights : array of shape (N, L)
    noise_variance : float
    hyper : Hyper, optional
        Default: GBT with the paper's values.
    fixed : bool
        Whether the number of columns is fixed (one swap) or not (ARD: every entry is flipped).
    nu : int
        Sweeps over the weights.

    Returns
    -------
    state, weights, noise_variance, hyper
        The new values; the arguments are left as they were.
    """
    hyper = Hyper() if hyper is None else hyper
    update_state = swap if fixed else flip_all
    state = update_state(rng, pool, target, state, weights, noise_variance, hyper)
    noise_variance = draw_noise_variance(rng, pool, target, state, weights, hyper)
    for _ in range(nu):
        weights, hyper = draw_weights(rng, pool, target, state, weights, noise_variance, hyper)
    return state, weights, noise_variance, hyper


def log_likelihood(
    pool: np.ndarray,
    target: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    noise_variance: float,
) -> float:
    """Σ_l log N(a_l | Σ_k r_k b_k y_kl, σ² I)."""
    mean = (pool * state) @ weights
    return stats.norm.logpdf(target, mean, np.sqrt(noise_variance)).sum()


def flip_all(
    rng: np.random.Generator,
    pool: np.ndarray,
    target: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    noise_variance: float,
    hyper: Hyper,
) -> np.ndarray:
    """ARD: p(r_j = 1 | ·) = p p(A | r_j = 1) / (p p(A | r_j = 1) + (1 - p) p(A | r_j = 0))."""
    state = state.copy()
    for j in range(state.size):
        state[j] = 0
        without = log_likelihood(pool, target, state, weights, noise_variance)
        state[j] = 1
        including = log_likelihood(pool, target, state, weights, noise_variance)
        log_odds = special.logit(hyper.inclusion) + including - without
        state[j] = rng.uniform() < special.expit(log_odds)
    return state


def swap(
    rng: np.random.Generator,
    pool: np.ndarray,
    target: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    noise_variance: float,
    hyper: Hyper,
) -> np.ndarray:
    """Fixed K: one column in J and one outside change places with probability o / (1 + o)."""
    inside, outside = np.flatnonzero(state == 1), np.flatnonzero(state == 0)
    if inside.size == 0 or outside.size == 0:
        return state
    exchanged = state.copy()
    exchanged[rng.choice(inside)] = 0
    exchanged[rng.choice(outside)] = 1
    log_odds = log_likelihood(pool, target, exchanged, weights, noise_variance) - log_likelihood(
        pool, target, state, weights, noise_variance
    )
    return exchanged if rng.uniform() < special.expit(log_odds) else state


def draw_noise_variance(
    rng: np.random.Generator,
    pool: np.ndarray,
    target: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    hyper: Hyper,
) -> float:
    """σ² ~ InverseGamma(α_σ + ML/2, β_σ + SSE/2)."""
    squared_error = np.sum((target - (pool * state) @ weights) ** 2)
    return stats.invgamma.rvs(
        hyper.alpha_sigma + target.size / 2,
        scale=hyper.beta_sigma + squared_error / 2,
        random_state=rng,
    )


def draw_weights(
    rng: np.random.Generator,
    pool: np.ndarray,
    target: np.ndarray,
    state: np.ndarray,
    weights: np.ndarray,
    noise_variance: float,
    hyper: Hyper,
) -> tuple[np.ndarray, Hyper]:
    """Every weight, and with the hierarchical prior every μ_kl and τ_kl, from its conditional.

    With x_k = r_k b_k,

        y_kl ~ GTN(m, 1/t, a, b),  t = x_k·x_k/σ² + τ_kl,
                                   m = (x_k·(a_l - Σ_{j≠k} x_j y_jl)/σ² + τ_kl μ_kl) / t
        μ_kl ~ N((τ_kl y_kl + τ_μ μ_μ)/(τ_kl + τ_μ), 1/(τ_kl + τ_μ))
        τ_kl ~ Gamma(α_t + 1/2, β_t + (y_kl - μ_kl)²/2)
    """
    weights = weights.copy()
    means = np.broadcast_to(hyper.means, weights.shape).copy()
    precisions = np.broadcast_to(hyper.precisions, weights.shape).copy()
    chosen = pool * state
    for k in range(weights.shape[0]):
        for ell in range(weights.shape[1]):
            residual = target[:, ell] - chosen @ weights[:, ell] + chosen[:, k] * weights[k, ell]
            precision = chosen[:, k] @ chosen[:, k] / noise_variance + precisions[k, ell]
            mean = (
                chosen[:, k] @ residual / noise_variance + precisions[k, ell] * means[k, ell]
            ) / precision
            scale = 1 / np.sqrt(precision)
            weights[k, ell] = stats.truncnorm.rvs(
                (hyper.lower - mean) / scale,
                (hyper.upper - mean) / scale,
                loc=mean,
                scale=scale,
                random_state=rng,
            )
            if hyper.hierarchical:
                total = precisions[k, ell] + hyper.tau_mu
                means[k, ell] = stats.norm.rvs(
                    (precisions[k, ell] * weights[k, ell] + hyper.tau_mu * hyper.mu_mu) / total,
                    1 / np.sqrt(total),
                    random_state=rng,
                )
                precisions[k, ell] = stats.gamma.rvs(
                    hyper.alpha_t + 0.5,
                    scale=1 / (hyper.beta_t + (weights[k, ell] - means[k, ell]) ** 2 / 2),
                    random_state=rng,
                )
    if hyper.hierarchical:
        hyper = replace(hyper, means=means, precisions=precisions)
    return weights, hyper
