"""Exact posterior probabilities of the state vector, by quadrature over everything else.

For a handful of candidate columns all states can be listed, and everything but the state can be
integrated out numerically to many digits: the yardstick for every sampler's visit frequencies.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import interpolate, special, stats

State = tuple[int, ...]
Density = Callable[[np.ndarray], np.ndarray]

# Probability of σ² left outside its grid, at each end.
_NOISE_TAIL = 1e-12
# Nodes for the weight that is integrated apart from the tensor grid, and size of its table.
_LAST_NODES = 256
_TABLE_SIZE = 512
# Grid points handled at once, which bounds the memory.
_CHUNK = 8192
# Change of the log probability of a state that is not negligible, when the nodes are reduced by a
# quarter, above which they are too few.
_LARGEST_CHANGE = 1e-4
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class TruncatedNormalDensity:
    """Density of N(mean, 1/precision) conditioned on `bounds`; call it with an array of weights."""

    mean: float
    precision: float
    bounds: tuple[float, float]

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        scale = self.precision**-0.5
        lower, upper = ((bound - self.mean) / scale for bound in self.bounds)
        return stats.truncnorm.pdf(weight, lower, upper, loc=self.mean, scale=scale)


def truncated_normal_density(
    mean: float = 0.0, precision: float = 1.0, bounds: tuple[float, float] = (-1.0, 1.0)
) -> TruncatedNormalDensity:
    """Prior density of a GBT weight: y ~ GTN(mean, 1/precision, *bounds)."""
    return TruncatedNormalDensity(float(mean), float(precision), tuple(map(float, bounds)))


def hierarchical_density(
    mu_mu: float = 0.0,
    tau_mu: float = 0.1,
    alpha_t: float = 1.0,
    beta_t: float = 1.0,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Density:
    """Prior density of a GBTN weight with its mean and precision integrated out.

    Under GTNSNG, (y, μ, τ) is the normal hierarchy conditioned on y ∈ [a, b], hence on the box

        p(y) ∝ ∫ N(y | μ_μ, 1/τ + 1/τ_μ) Gamma(τ | α_t, β_t) dτ.

    Parameters
    ----------
    mu_mu, tau_mu : float
        Mean and precision of the normal prior of μ.
    alpha_t, beta_t : float
        Shape and rate of the Gamma prior of τ.
    bounds : tuple of float
        A finite box, over which the density is normalised.

    Returns
    -------
    callable
        Maps an array of weights to an array of densities.
    """
    # In log τ the integrand decays like τ^(α_t + 1/2) to the left and like exp(-β_t τ) to the
    # right, and is analytic: the trapezoidal rule converges geometrically.
    log_tau = np.linspace(-40 / (alpha_t + 0.5), np.log(40 + 5 * alpha_t), 801) - np.log(beta_t)
    tau = np.exp(log_tau)
    tau_weight = np.exp(alpha_t * np.log(beta_t * tau) - beta_t * tau - special.gammaln(alpha_t))
    tau_weight *= log_tau[1] - log_tau[0]
    scale = np.sqrt(1 / tau + 1 / tau_mu)

    def unnormalised(weight: np.ndarray) -> np.ndarray:
        return stats.norm.pdf(np.asarray(weight)[..., None], mu_mu, scale) @ tau_weight

    grid, grid_weight = _gauss_legendre(bounds, 200)
    constant = grid_weight @ unnormalised(grid)
    return lambda weight: unnormalised(weight) / constant


def bernoulli_log_prior(inclusion: float = 0.5) -> Callable[[State], float]:
    """Log prior of independent entries: log p(r) = K log p + (N - K) log(1 - p)."""
    return lambda state: float(
        special.xlogy(sum(state), inclusion) + special.xlog1py(len(state) - sum(state), -inclusion)
    )


def subset_log_prior(k: int) -> Callable[[State], float]:
    """Log prior, up to a constant, of a uniform draw among the states with exactly `k` ones."""
    return lambda state: 0.0 if sum(state) == k else -np.inf


def exact_state_probabilities(
    pool: np.ndarray,
    target: np.ndarray,
    *,
    log_prior: Callable[[State], float],
    bounds: tuple[float, float] = (-1.0, 1.0),
    weight_density: Density | Sequence[Sequence[Density]] | None = None,
    alpha_sigma: float = 0.1,
    beta_sigma: float = 1.0,
    noise_variance: float | None = None,
    own_log_density: np.ndarray | None = None,
    nodes: int = 48,
    noise_resolution: float = 1.5,
) -> dict[State, float]:
    """Posterior probability of every state vector, everything else integrated out.

    With J the ones of r and B the pool,

        p(r | A) ∝ p(r) ∫ p(σ²) Π_l [ ∫_box Π_{k∈J} p(y_kl) N(a_l | B_J y_l, σ² I) dy_l ] dσ².

    The inner integrals are done on a tensor grid of Gauss-Legendre nodes, the outer one by the
    trapezoidal rule in log σ². With infinite bounds and normal priors the inner integral is
    N(a_l | B_J m, σ² I + B_J T⁻¹ B_Jᵀ), m and T the prior means and precisions.

    Parameters
    ----------
    pool : array of shape (M, N)
        Candidate columns B, N ≤ 4 or so: the grid has ``nodes**(N - 1)`` points.
    target : array of shape (M, L)
        Columns a_l to be explained; the pool itself for the plain decomposition.
    log_prior : callable
        Maps a state (a tuple of N zeros and ones) to log p(r) up to a constant; -inf excludes it.
    bounds : tuple of float
        The box of the weights: both finite, or both infinite with normal priors. For one-sided
        bounds pass a finite box that holds all but a negligible part of the prior.
    weight_density : callable or N × L nested sequence of callables, optional
        Normalised prior density of a weight, the same for all or one for each entry of Y.
        Default: the GBT prior, mean 0 and precision 1 on `bounds`.
    alpha_sigma, beta_sigma : float
        Shape and scale of the InverseGamma prior of σ²; unused when `noise_variance` is given.
    noise_variance : float, optional
        A known σ², instead of one integrated out.
    own_log_density : array of shape (N,), optional
        For the model with the identity, where the target is the pool: the log density of each
        column on its own, which takes the place of the inner integral where the column is chosen.
    nodes : int
        Gauss-Legendre nodes per weight. Enough when no weight's conditional standard deviation is
        much below ``2 (b - a) / nodes``: wide bounds and little noise need more. Too few are
        noticed, see below.
    noise_resolution : float
        Points of the log σ² grid per standard deviation of log σ² given the residuals.

    Returns
    -------
    dict
        Probability of each state of finite prior; they sum to one.

    Raises
    ------
    ValueError
        When a grid coarser by a quarter gives probabilities that differ by more than 1e-4 of
        themselves: `nodes` are too few.
    """
    pool = np.asarray(pool, dtype=float)
    target = np.asarray(target, dtype=float)
    n_pool, n_target = pool.shape[1], target.shape[1]
    if weight_density is None:
        weight_density = truncated_normal_density(0.0, 1.0, bounds)
    if callable(weight_density):
        weight_density = [[weight_density] * n_target] * n_pool

    closed_form = bool(np.all(np.isinf(bounds)))
    if closed_form:
        _check_normal(weight_density)
    elif not np.all(np.isfinite(bounds)):
        raise ValueError(f"bounds must be both finite or both infinite, got {bounds}")

    if noise_variance is None:
        variances, log_variance_weights = _noise_grid(
            pool,
            target,
            bounds,
            alpha_sigma,
            beta_sigma,
            noise_resolution,
            fewest_entries=target.size if own_log_density is None else 0,
        )
    else:
        variances, log_variance_weights = np.array([float(noise_variance)]), np.zeros(1)

    states = [state for state in np.ndindex(*(2,) * n_pool) if log_prior(state) > -np.inf]

    def log_joint_probabilities(column_evidence) -> dict[State, float]:
        result = {}
        for state in states:
            log_evidence = log_variance_weights.copy()
            for column in range(n_target):
                if own_log_density is not None and state[column] == 1:
                    log_evidence += own_log_density[column]
                    continue
                log_evidence += column_evidence(np.flatnonzero(state), column)
            result[state] = log_prior(state) + special.logsumexp(log_evidence)
        return result

    if closed_form:
        evidence = _NormalEvidence(pool, target, weight_density, variances)
        log_joint = log_joint_probabilities(evidence)
    else:
        evidence = _BoxEvidence(pool, target, weight_density, variances, bounds)
        log_joint = log_joint_probabilities(partial(evidence, nodes=nodes))
        coarse = log_joint_probabilities(partial(evidence, nodes=nodes * 3 // 4))
        _check_converged(log_joint, coarse, nodes)

    total = special.logsumexp(list(log_joint.values()))
    return {state: float(np.exp(value - total)) for state, value in log_joint.items()}


def exact_state_probabilities_by_target(
    pool: np.ndarray,
    target: np.ndarray,
    row_weights: np.ndarray,
    noise_variances: np.ndarray,
    *,
    log_prior: Callable[[State], float],
    bounds: tuple[float, float] = (-1.0, 1.0),
    own_log_density: np.ndarray | None = None,
    nodes: int = 48,
) -> dict[State, float]:
    """The same for known noise that differs between targets and entries.

    Entry (m, l) of the target has the noise variance σ_l² / d_ml, and takes no part if d_ml is 0:

        p(r | A) ∝ p(r) Π_l ∫_box Π_{k∈J} p(y_kl) Π_m N(a_ml | (B_J y_l)_m, σ_l² / d_ml) dy_l

    Parameters
    ----------
    pool, target, log_prior, bounds, own_log_density, nodes
        As in `exact_state_probabilities`; the weights have the GBT prior, mean 0 and precision 1.
    row_weights : array of shape (M, L)
        d.
    noise_variances : array of shape (L,)
        σ².
    """
    density = truncated_normal_density(0.0, 1.0, bounds)
    evidences = []
    for column, weight in enumerate(np.asarray(row_weights, dtype=float).T):
        kept = weight > 0
        root = np.sqrt(weight[kept])[:, None]
        evidences.append(
            _BoxEvidence(
                root * pool[kept],
                root * target[kept, column, None],
                [[density]] * pool.shape[1],
                np.array([float(noise_variances[column])]),
                bounds,
            )
        )
    log_joint = {}
    for state in np.ndindex(*(2,) * pool.shape[1]):
        log_joint[state] = log_prior(state)
        for column, evidence in enumerate(evidences):
            if own_log_density is not None and state[column] == 1:
                log_joint[state] += own_log_density[column]
            else:
                log_joint[state] += float(evidence(np.flatnonzero(state), 0, nodes)[0])
    total = special.logsumexp(list(log_joint.values()))
    return {state: float(np.exp(value - total)) for state, value in log_joint.items()}


def total_variation(exact: dict[State, float], visited: np.ndarray) -> float:
    """Half the summed absolute difference between exact probabilities and visit frequencies.

    Parameters
    ----------
    exact : dict
        What `exact_state_probabilities` returns.
    visited : array of shape (draws, N)
        The states a sampler visited; one that `exact` does not hold counts as probability zero.
    """
    visited = np.asarray(visited)
    states, counts = np.unique(visited, axis=0, return_counts=True)
    frequency = {
        tuple(int(entry) for entry in state): count / len(visited)
        for state, count in zip(states, counts, strict=True)
    }
    return 0.5 * sum(
        abs(exact.get(state, 0.0) - frequency.get(state, 0.0)) for state in exact.keys() | frequency
    )


def _gauss_legendre(bounds: tuple[float, float], nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss-Legendre rule on `bounds`."""
    abscissa, weight = np.polynomial.legendre.leggauss(nodes)
    lower, upper = bounds
    return lower + (upper - lower) * (abscissa + 1) / 2, weight * (upper - lower) / 2


def _check_normal(weight_density: Sequence[Sequence[Density]]) -> None:
    for density in itertools.chain.from_iterable(weight_density):
        if not (isinstance(density, TruncatedNormalDensity) and np.all(np.isinf(density.bounds))):
            raise ValueError(
                "infinite bounds need densities from truncated_normal_density(mean, precision, "
                f"(-inf, inf)); got {density!r}. For others pass a large finite box."
            )


def _noise_grid(
    pool: np.ndarray,
    target: np.ndarray,
    bounds: tuple[float, float],
    alpha_sigma: float,
    beta_sigma: float,
    resolution: float,
    fewest_entries: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Grid of σ², uniform in its logarithm, and log prior mass of each point.

    The posterior of σ² is a mixture of InverseGamma(α_σ + ML/2, β_σ + SSE/2) over the sums of
    squares SSE that the weights can reach. These grow with SSE, so a far quantile at the least SSE
    and one at the greatest enclose the mixture, whatever the state. Where columns have a density of
    their own there are fewer than ML entries, and σ² is spread more widely.
    """
    shape = alpha_sigma + target.size / 2
    coefficients, *_ = np.linalg.lstsq(pool, target, rcond=None)
    least = np.sum((target - pool @ coefficients) ** 2)
    if np.all(np.isfinite(bounds)):
        # SSE is convex in the weights, so its maximum over the box (with 0 for the rows that
        # are off) is at a corner.
        corners = np.array(
            list(itertools.product({0.0, *map(float, bounds)}, repeat=pool.shape[1]))
        )
        residuals = target[:, None, :] - (pool @ corners.T)[:, :, None]
        greatest = np.sum(np.max(np.sum(residuals**2, axis=0), axis=0))
    else:
        # No greatest SSE exists; far more than that of no weight at all has no mass to speak of.
        greatest = 1e4 * np.sum(target**2)

    lower = stats.invgamma.ppf(_NOISE_TAIL, shape, scale=beta_sigma + least / 2)
    fewest = alpha_sigma + fewest_entries / 2
    upper = stats.invgamma.isf(_NOISE_TAIL, fewest, scale=beta_sigma + greatest / 2)
    step = 1 / (resolution * np.sqrt(shape))
    log_variance = np.arange(np.log(lower), np.log(upper) + step, step)
    variances = np.exp(log_variance)
    # dσ² = σ² d(log σ²); the constant step drops out of the normalised probabilities.
    log_weights = stats.invgamma.logpdf(variances, alpha_sigma, scale=beta_sigma) + log_variance
    return variances, log_weights


class _NormalEvidence:
    """Log of N(a | B_J m, σ² I + B_J T⁻¹ B_Jᵀ) at each σ², for any state and column."""

    def __init__(self, pool, target, weight_density, variances):
        self.pool, self.target, self.variances = pool, target, variances
        self.means = np.array([[density.mean for density in row] for row in weight_density])
        self.precisions = np.array(
            [[density.precision for density in row] for row in weight_density]
        )

    def __call__(self, active: np.ndarray, column: int) -> np.ndarray:
        basis = self.pool[:, active]
        center = basis @ self.means[active, column]
        # One eigendecomposition of B_J T⁻¹ B_Jᵀ serves all σ².
        eigenvalues, eigenvectors = np.linalg.eigh(
            (basis / self.precisions[active, column]) @ basis.T
        )
        projections = eigenvectors.T @ (self.target[:, column] - center)
        spread = self.variances[:, None] + np.maximum(eigenvalues, 0.0)
        return -0.5 * np.sum(projections**2 / spread + np.log(2 * np.pi * spread), axis=1)


class _BoxEvidence:
    """Log of ∫_box Π_{k∈J} p_k(y_k) N(a | B_J y, σ² I) dy at each σ², for any state and column.

    Given the other weights the last one, y_k, enters through a single number h, the inner product
    of its column with their residual: the integral over it is

        F(h) = ∫_a^b p_k(y) exp((h y - G_kk y²/2) / σ²) dy,

    whose logarithm is smooth and is interpolated in a table. That takes one dimension off the grid.
    """

    def __init__(self, pool, target, weight_density, variances, bounds):
        self.gram, self.cross = pool.T @ pool, pool.T @ target
        self.squares = np.sum(target**2, axis=0)
        self.weight_density, self.variances, self.bounds = weight_density, variances, bounds
        self.log_constant = -len(target) / 2 * np.log(2 * np.pi * variances)
        self.last_integral = [
            [self._tabulate(row, column) for column in range(target.shape[1])]
            for row in range(pool.shape[1])
        ]

    def _tabulate(self, row: int, column: int) -> interpolate.CubicSpline:
        """Spline of log F(h) at each σ², over all h that the weights of earlier rows can give."""
        farthest = np.max(np.abs(self.bounds)) * np.sum(np.abs(self.gram[: row + 1, row]))
        center, half_width = self.cross[row, column], farthest or 1.0
        table = np.linspace(center - half_width, center + half_width, _TABLE_SIZE)
        weight, mass = _tensor_grid([self.weight_density[row][column]], self.bounds, _LAST_NODES)
        exponent = np.outer(table, weight) - self.gram[row, row] / 2 * weight[:, 0] ** 2
        values = [_log_sum(exponent / variance, mass) for variance in self.variances]
        return interpolate.CubicSpline(table, np.stack(values, axis=1))

    def __call__(self, active: np.ndarray, column: int, nodes: int) -> np.ndarray:
        if active.size == 0:
            return self.log_constant - self.squares[column] / (2 * self.variances)
        *outer, last = active
        densities = [self.weight_density[row][column] for row in outer]
        weights, mass = _tensor_grid(densities, self.bounds, nodes)
        errors = (
            self.squares[column]
            - 2 * weights @ self.cross[outer, column]
            + np.sum((weights @ self.gram[np.ix_(outer, outer)]) * weights, axis=1)
        )
        products = self.cross[last, column] - weights @ self.gram[outer, last]
        partial_sums = []
        for start in range(0, len(mass), _CHUNK):
            part = slice(start, start + _CHUNK)
            exponent = self.last_integral[last][column](products[part]).T
            exponent -= errors[part] / (2 * self.variances[:, None])
            partial_sums.append(_log_sum(exponent, mass[part]))
        return self.log_constant + special.logsumexp(partial_sums, axis=0)


def _tensor_grid(
    densities: Sequence[Density], bounds: tuple[float, float], nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """All points of a grid of weights, shape (points, weights), and the prior mass of each."""
    grid, grid_weight = _gauss_legendre(bounds, nodes)
    mesh = np.meshgrid(*[grid] * len(densities), indexing="ij")
    weights = np.stack(mesh, axis=-1).reshape(-1, len(densities)) if mesh else np.empty((1, 0))
    mass = np.ones(1)
    for density in densities:
        mass = np.multiply.outer(mass, grid_weight * density(grid)).ravel()
    return weights, mass


def _log_sum(exponent: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Log of Σ mass · exp(exponent) over the last axis."""
    greatest = exponent.max(axis=-1, keepdims=True)
    return greatest[..., 0] + np.log(np.exp(exponent - greatest) @ mass)


def _check_converged(fine: dict[State, float], coarse: dict[State, float], nodes: int) -> None:
    """Raise when the log probability of any state that matters depends on the grid."""
    limit = special.logsumexp(list(fine.values())) + np.log(_NEGLIGIBLE)
    change = max(
        abs(fine[state] - coarse[state])
        for state in fine
        if max(fine[state], coarse[state]) > limit
    )
    if change > _LARGEST_CHANGE:
        raise ValueError(
            f"nodes = {nodes} are too few: the log probability of a state differs by {change:.1g} "
            f"from that with {nodes * 3 // 4}. Pass more nodes, or a problem of fewer rows or more "
            "noise."
        )
