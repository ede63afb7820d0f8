r"""Evidence of a state with the bounds, by expectation propagation; for warm-up only.

Without bounds the posterior of the weights of one target is a normal, known in closed form
(`pymc_bid.kernels.tableau`). The bounds multiply it by one factor for each weight. Each factor is
replaced by a normal one, :math:`\exp(b y - a y^2 / 2)` times a constant, that leaves the mass, mean
and variance of that weight right while all other factors are the replacements (Minka, 2001). For
normals within a box this is accurate to a fraction of a nat where sequential draws are off by tens,
and it has no noise: two chains at the same state agree on its evidence.

Most weights are far from their bounds. Only those within `REACH` standard deviations of one have a
factor, which makes the cost of a target a matter of a few dozen weights, not of all.
"""

import math

import numpy as np

from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.oblique_row import keep_inside
from pymc_bid.kernels.tableau import (
    build_tableau,
    expected_squared_error,
    pivot,
    prior_constants,
    row_precision,
)
from pymc_bid.kernels.truncated_moments import truncated_moments

REACH = 4.0
TOLERANCE = 1e-2
LARGEST_NUMBER_OF_SWEEPS = 20
LARGEST_NUMBER_OF_ROUNDS = 6


@part()
def log_tilt(mean, variance, site_precision, site_linear):
    r"""Return :math:`\log E \exp(b y - a y^2 / 2)` for a normal :math:`y`."""
    linear = mean / variance + site_linear
    return 0.5 * (
        linear * linear / (1.0 / variance + site_precision)
        - mean * mean / variance
        - math.log1p(site_precision * variance)
    )


@part()
def add_site(index, size, precision_change, linear_change, mean, covariance, row):
    """Multiply the normal by a normal factor of one of its weights, in place."""
    scale = 1.0 / (1.0 + precision_change * covariance[index, index])
    shift = scale * (linear_change - precision_change * mean[index])
    for other in range(size):
        row[other] = covariance[index, other]
    for first in range(size):
        mean[first] += shift * row[first]
        factor = scale * precision_change * row[first]
        for second in range(size):
            covariance[first, second] -= factor * row[second]


@part()
def is_near_bound(mean, variance, lower, upper):
    """Tell whether a bound takes a part of the mass that matters."""
    reach = REACH * math.sqrt(variance)
    return upper - mean < reach or mean - lower < reach


@part()
def sweep_sites(members, size, lower, upper, precision, linear, mean, covariance, row):
    """Refine every factor of a target once; return the sum of logs and the largest change.

    `mean` and `covariance` are those of the normal with all factors, `precision` and `linear` the
    factors' own; all four are changed in place. The sum is that of the constants of the factors and
    of the changes to the log of the integral over the normal ones.
    """
    log_constants = 0.0
    log_integral = 0.0
    largest_change = 0.0
    for index in range(size):
        weight = members[index]
        variance = covariance[index, index]
        without = 1.0 / variance - precision[weight]
        if not without * variance > 1e-10:
            continue
        center = (mean[index] / variance - linear[weight]) / without
        log_mass, wanted_mean, wanted_variance = truncated_moments(
            center, without, lower[weight], upper[weight]
        )
        new_precision = max(1.0 / wanted_variance - without, 0.0)
        new_linear = wanted_mean * (without + new_precision) - center * without
        precision_change = new_precision - precision[weight]
        linear_change = new_linear - linear[weight]
        deviation = math.sqrt(variance)
        change = max(
            abs(linear_change - precision_change * mean[index]) * deviation,
            abs(precision_change) * variance,
        ) / (1.0 + precision_change * variance)
        if change > 1e-6:
            log_integral += log_tilt(mean[index], variance, precision_change, linear_change)
            add_site(index, size, precision_change, linear_change, mean, covariance, row)
            precision[weight] = new_precision
            linear[weight] = new_linear
            largest_change = max(largest_change, change)
        log_constants += log_mass - log_tilt(
            center, 1.0 / without, precision[weight], linear[weight]
        )
    return log_constants, log_integral, largest_change


@part()
def find_members(fitted, posterior, left, right, is_member, members):
    """Give a factor to every weight that is near a bound; return how many weights have one."""
    size = 0
    for weight in range(fitted.shape[0]):
        if not is_member[weight]:
            is_member[weight] = is_near_bound(
                fitted[weight], posterior[weight, weight], left[weight], right[weight]
            )
        if is_member[weight]:
            members[size] = weight
            size += 1
    return size


@part()
def propagate_target(unbounded, posterior, left, right, sites, is_member, members, normal, fitted):
    r"""Find the factors of one target.

    Parameters
    ----------
    unbounded : (K,) array
        Posterior mean of the weights without bounds.
    posterior : (K, K) array
        Their covariance.
    left, right : (K,) arrays
        Bounds.
    sites : tuple of two (K,) arrays
        The factors, :math:`a` and :math:`b`, changed in place.
    is_member : (K,) bool array
        Which weights have a factor; more may be added.
    members : (K,) int array
        Receives these weights.
    normal : tuple of a (K,), a (K, K) and a (K,) array
        The first two receive mean and covariance of these weights, the last is a workspace.
    fitted : (K,) array
        Receives the mean of all weights.

    Returns
    -------
    log_mass : float
    size : int
        How many weights have a factor.
    """
    number = unbounded.shape[0]
    precision, linear = sites
    center, covariance, row = normal
    for weight in range(number):
        fitted[weight] = unbounded[weight]
    log_mass = 0.0
    size = 0
    for _ in range(LARGEST_NUMBER_OF_ROUNDS):
        size_before = size
        size = find_members(fitted, posterior, left, right, is_member, members)
        if size == size_before:
            break
        for first in range(size):
            center[first] = unbounded[members[first]]
            for second in range(size):
                covariance[first, second] = posterior[members[first], members[second]]
        log_integral = 0.0
        for index in range(size):
            a, b = precision[members[index]], linear[members[index]]
            if a > 0.0:
                log_integral += log_tilt(center[index], covariance[index, index], a, b)
                add_site(index, size, a, b, center, covariance, row)
        log_constants = 0.0
        for _ in range(LARGEST_NUMBER_OF_SWEEPS):
            log_constants, added, change = sweep_sites(
                members, size, left, right, precision, linear, center, covariance, row
            )
            log_integral += added
            if change < TOLERANCE:
                break
        log_mass = log_constants + log_integral
        for weight in range(number):
            fitted[weight] = unbounded[weight]
        for index in range(size):
            source = members[index]
            pull = linear[source] - precision[source] * center[index]
            for weight in range(number):
                fitted[weight] += posterior[weight, source] * pull
    return log_mass, size


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
    gram,
    cross,
    total_square,
    number_of_rows,
    mean,
    precision,
    lower,
    upper,
    log_prior_odds,
    site_precision,
    site_linear,
    weights,
    log_masses,
):
    r"""Approximate the evidence and the fit of a state with the bounds.

    Parameters
    ----------
    state, noise_variance, gram, cross, total_square, number_of_rows
        As in `pymc_bid.kernels.annealing.scout_step`; nothing of these is changed.
    mean, precision, lower, upper, log_prior_odds
        As in `pymc_bid.kernels.annealing.scout_step`.
    site_precision, site_linear : (L, N) arrays
        The normal factors :math:`a` and :math:`b` to start from, changed in place; zeros will do,
        those of a similar state are faster.
    weights : (N, L) array
        The rows of active columns receive the posterior mean, within the bounds.
    log_masses : (L,) array
        Receives the log of the mass that the bounds leave to each target.

    Returns
    -------
    log_evidence : float
    bounded, unbounded : float
        Noise variance after one step of expectation-maximisation, with and without the bounds.
    """
    prior = (mean, precision, lower, upper)
    constants = prior_constants(prior, log_prior_odds)
    tableau, log_evidence = build_tableau(state, gram, cross, noise_variance, prior, constants)
    without_bounds = expected_squared_error(
        state, tableau, cross, noise_variance, prior, total_square
    )
    number_of_columns, number_of_targets = cross.shape
    entries = number_of_rows * number_of_targets
    log_evidence -= 0.5 * (
        total_square / noise_variance + entries * np.log(2.0 * np.pi * noise_variance)
    )
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
    error = total_square
    for target in range(number_of_targets):
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
def own_log_masses(state, noise_variance, gram, mean, precision, lower, upper, log_masses):
    """Find what the bounds leave to the target of each column when that column is out.

    For a pool that is the target. A column that is in explains itself; how badly the others would
    do within the bounds shows only without it.

    Parameters
    ----------
    state, noise_variance, gram, mean, precision, lower, upper
        As in `bounded_fit`.
    log_masses : (N,) array
        Log masses found by `bounded_fit`; those of active columns are replaced.
    """
    prior = (mean, precision, lower, upper)
    number_of_columns = state.shape[0]
    # The masses do not depend on them.
    constants = np.zeros(number_of_columns)
    tableau, _ = build_tableau(state, gram, gram, noise_variance, prior, constants)
    active = np.flatnonzero(state)
    number = max(active.size - 1, 0)
    members = np.empty(number, np.int64)
    normal = (np.empty(number), np.empty((number, number)), np.empty(number))
    fitted = np.empty(number)
    unbounded = np.empty(number)
    left = np.empty(number)
    right = np.empty(number)
    for target in active:
        pivot(tableau, target)
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
        pivot(tableau, target)
