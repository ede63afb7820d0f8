"""Evidence and fit of a state with the bounds, by expectation propagation; for warm-up only.

The closed form without bounds (`pymc_bid.kernels.tableau`) times the mass that its posterior gives
to the bounds (`pymc_bid.kernels.propagation`), target by target. Sequential draws would estimate
the same, but with an error of tens of nats for a hundred columns. This has no noise: two chains at
the same state agree on its evidence.
"""

import numpy as np

from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.oblique_row import keep_inside
from pymc_bid.kernels.own_column import interpolated_targets
from pymc_bid.kernels.propagation import propagate_target
from pymc_bid.kernels.tableau import (
    build_surrogate,
    expected_squared_error,
    log_state_evidence,
    pivot_surrogate,
    row_precision,
)


@part()
def covariance_of(active, tableau):
    """Return the posterior covariance, without bounds, of the weights of the active columns."""
    covariance = np.empty((active.size, active.size))
    for first in range(active.size):
        for second in range(active.size):
            covariance[first, second] = tableau[active[first], active[second]]
    return covariance


@kernel()
def bounded_fit(
    state,
    noise_variance,
    problem,
    log_prior_odds,
    site_precision,
    site_linear,
    weights,
    log_masses,
):
    r"""Approximate the evidence and the fit of a state with the bounds.

    Parameters
    ----------
    state, noise_variance, problem, log_prior_odds
        As in `pymc_bid.kernels.annealing.scout_step`; nothing of these is changed.
    site_precision, site_linear : (L, N) arrays
        The normal factors :math:`a` and :math:`b` to start from, changed in place; zeros will do,
        those of a similar state are faster.
    weights : (N, L) array
        The rows of active columns receive the posterior mean, within the bounds.
    log_masses : (L,) array
        Receives the log of the mass that the bounds leave to each target that is interpolated.

    Returns
    -------
    log_evidence : float
        But for :math:`-\tfrac12 M L \log 2 \pi`.
    bounded, unbounded : float
        Noise variance after one step of expectation-maximisation, with and without the bounds.
    """
    products, prior, own = problem
    _, _, _, cross, squares, rows = products
    model = (products, noise_variance, prior, own)
    mean, precision, lower, upper = prior
    number_of_columns, number_of_targets = cross.shape
    interpolated = interpolated_targets(state, own, number_of_targets)
    surrogate = build_surrogate(state, model, log_prior_odds)
    tableau = surrogate[0]
    log_evidence = log_state_evidence(state, model, log_prior_odds, interpolated, surrogate)
    without_bounds = expected_squared_error(state, model, interpolated, surrogate)
    entries = max((rows * interpolated).sum(), 1.0)
    active = np.flatnonzero(state)
    number = active.size
    shrinkage = np.empty(number)
    for first in range(number):
        shrinkage[first] = row_precision(active[first], precision)
    posterior = covariance_of(active, tableau)
    # Σ diag(τ) Σ, of which the traces below need some entries.
    weighted = np.zeros((number, number))
    for first in range(number):
        for inner in range(number):
            factor = posterior[first, inner] * shrinkage[inner]
            for second in range(number):
                weighted[first, second] += factor * posterior[inner, second]

    members = np.empty(number, np.int64)
    is_member = np.empty(number, np.bool_)
    unbounded = np.empty(number)
    fitted = np.empty(number)
    center = np.empty(number)
    covariance = np.empty((number, number))
    normal = (center, covariance, np.empty(number))
    left = np.empty(number)
    right = np.empty(number)
    a = np.empty(number)
    b = np.empty(number)
    error = 0.0
    for target in range(number_of_targets):
        if interpolated[target] == 0.0:
            continue
        error += squares[target]
        for weight in range(number):
            column = active[weight]
            unbounded[weight] = tableau[column, number_of_columns + target]
            left[weight] = lower[column, target]
            right[weight] = upper[column, target]
            a[weight] = site_precision[target, column]
            is_member[weight] = a[weight] > 0.0
            b[weight] = site_linear[target, column] if is_member[weight] else 0.0
        log_masses[target], size = propagate_target(
            unbounded, posterior, left, right, (a, b), is_member, members, normal, fitted
        )
        log_evidence += log_masses[target]

        # Expected squared error, E|a - By|² = |a|² - 2 μ·c + μ·Gμ + tr(G V), without G: the
        # precision without bounds is G/σ² + diag(τ), and times μ it is the linear term plus pulls.
        spread = float(number)
        for weight in range(number):
            column = active[weight]
            value = fitted[weight]
            linear = cross[column, target] / noise_variance
            linear += precision[column, target] * mean[column, target]
            spread += value * (linear - shrinkage[weight] * value)
            spread -= shrinkage[weight] * posterior[weight, weight]
            error -= 2.0 * value * cross[column, target]
            weights[column, target] = keep_inside(value, left[weight], right[weight])
            site_precision[target, column] = a[weight]
            site_linear[target, column] = b[weight]
        for first in range(size):
            weight = members[first]
            pull = b[weight] - a[weight] * center[first]
            spread += fitted[weight] * pull
            spread += a[weight] * (weighted[weight, weight] - covariance[first, first])
            for second in range(size):
                other = members[second]
                share = a[weight] * covariance[first, second] * a[other]
                spread -= share * weighted[weight, other]
        error += noise_variance * spread
    return log_evidence, max(error, 0.0) / entries, without_bounds / entries


@kernel()
def own_log_masses(state, noise_variance, problem, log_masses):
    """Find what the bounds leave to the target of each column when that column is out.

    For a pool that is the target. A column that is in explains itself; how badly the others would
    do within the bounds shows only without it.

    Parameters
    ----------
    state, noise_variance, problem
        As in `bounded_fit`; nothing of these is changed.
    log_masses : (N,) array
        Log masses found by `bounded_fit`; those of active columns are replaced.
    """
    products, prior, own = problem
    _, _, lower, upper = prior
    number_of_columns = state.shape[0]
    # The masses do not depend on the prior odds.
    odds = np.zeros(number_of_columns)
    surrogate = build_surrogate(state, (products, noise_variance, prior, own), odds)
    tableau = surrogate[0]
    active = np.flatnonzero(state)
    number = max(active.size - 1, 0)
    members = np.empty(number, np.int64)
    normal = (np.empty(number), np.empty((number, number)), np.empty(number))
    fitted = np.empty(number)
    unbounded = np.empty(number)
    left = np.empty(number)
    right = np.empty(number)
    for target in active:
        pivot_surrogate(surrogate, target)
        others = active[active != target]
        for weight in range(number):
            unbounded[weight] = tableau[others[weight], number_of_columns + target]
            left[weight] = lower[others[weight], target]
            right[weight] = upper[others[weight], target]
        log_masses[target], _ = propagate_target(
            unbounded,
            covariance_of(others, tableau),
            left,
            right,
            (np.zeros(number), np.zeros(number)),
            np.zeros(number, np.bool_),
            members,
            normal,
            fitted,
        )
        pivot_surrogate(surrogate, target)
