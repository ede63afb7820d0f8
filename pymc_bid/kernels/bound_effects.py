r"""What the bounds do to the log odds of each column, to first order; for warm-up only.

Near a state the normal factors that stand for the bounds (`pymc_bid.kernels.propagation`) hardly
change when one column goes in or out. With these factors held, the weight of column :math:`k` for
target :math:`l` has the precision :math:`q` and the linear term :math:`c` before its own bounds are
looked at, all other weights integrated out; without any bounds they are :math:`q^0` and
:math:`c^0`. So the bounds add to the log odds of the column

.. math:: \sum_l \Bigl[ \tfrac12 \log \frac{q^0}{q} + \frac{c^2}{2 q} - \frac{(c^0)^2}{2 q^0}
    + \log \Delta\Phi(a, b; c / q, 1 / q) \Bigr].

The target that is the column itself is another matter: chosen, the column explains it all by
itself, and the factors vanish. What that is worth is the mass that the bounds leave to it when the
column is out.
"""

import numpy as np

from pymc_bid.kernels.bounded_evidence import covariance_of, own_log_masses
from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.tableau import build_surrogate
from pymc_bid.kernels.truncated_normal import log_interval_mass


@part()
def log_gain(precision, linear):
    """Return what a weight adds to the log evidence, but for what its prior alone makes of it."""
    return 0.5 * (linear * linear / precision - np.log(precision))


@part()
def bounded_gain(precision, linear, lower, upper):
    """Return the same within the bounds."""
    mass = log_interval_mass(linear / precision, precision, lower, upper)
    return log_gain(precision, linear) + mass


@part()
def add_factor(weight, site_precision, site_linear, center, covariance, share, precision, linear):
    """Multiply the normal by a factor of one weight, and keep up what the columns that are out see.

    Parameters
    ----------
    weight : int
        Which one of those of the active columns.
    site_precision, site_linear : float
    center, covariance : (K,) and (K, K) arrays
        Mean and covariance of the weights of the active columns.
    share : (K, N - K) array
        Covariance times the precisions that link active columns and those that are out.
    precision, linear : (N - K,) arrays
        Of the weights of the columns that are out, those of the active ones integrated out.
    """
    scale = site_precision / (1.0 + site_precision * covariance[weight, weight])
    shift = site_linear - scale * (center[weight] + covariance[weight, weight] * site_linear)
    row = covariance[weight].copy()
    seen = share[weight].copy()
    for other in range(precision.shape[0]):
        precision[other] += scale * seen[other] ** 2
        linear[other] -= shift * seen[other]
    for first in range(center.shape[0]):
        center[first] += shift * row[first]
        factor = scale * row[first]
        for second in range(center.shape[0]):
            covariance[first, second] -= factor * row[second]
        for other in range(precision.shape[0]):
            share[first, other] -= factor * seen[other]


@kernel()
def bound_effects(
    state, noise_variance, problem, site_precision, site_linear, log_masses, pool_is_target, effects
):
    """Find what the bounds add to the log odds of each column.

    Parameters
    ----------
    state, noise_variance, problem
        As in `pymc_bid.kernels.bounded_evidence.bounded_fit`; without columns that have a density
        of their own. Nothing of these is changed.
    site_precision, site_linear : (L, N) arrays
        The factors that `bounded_fit` found.
    log_masses : (L,) array
        The masses that it found.
    pool_is_target : bool
    effects : (N,) array
        Receives the effects.
    """
    moments, prior, own = problem
    _, _, lower, upper = prior
    number_of_columns, number_of_targets = lower.shape
    model = (moments, noise_variance, prior, own)
    tableau = build_surrogate(state, model, np.zeros(number_of_columns))[0]
    active = np.flatnonzero(state)
    out = np.flatnonzero(state == 0)
    without_bounds = covariance_of(active, tableau)
    own_masses = log_masses.copy()
    if pool_is_target:
        own_log_masses(state, noise_variance, problem, own_masses)
    share = np.empty((active.size, out.size))
    precision = np.empty(out.size)
    linear = np.empty(out.size)
    center = np.empty(active.size)
    effects[:] = 0.0
    for target in range(number_of_targets):
        right = number_of_columns + target
        covariance = without_bounds.copy()
        for other in range(out.size):
            precision[other] = tableau[out[other], out[other]]
            linear[other] = tableau[out[other], right]
        for weight in range(active.size):
            center[weight] = tableau[active[weight], right]
            for other in range(out.size):
                share[weight, other] = tableau[active[weight], out[other]]
        for weight in range(active.size):
            a = site_precision[target, active[weight]]
            if a > 0.0:
                b = site_linear[target, active[weight]]
                add_factor(weight, a, b, center, covariance, share, precision, linear)
        for weight in range(active.size):
            column = active[weight]
            if pool_is_target and column == target:
                effects[column] += log_masses[target] - own_masses[target]
                continue
            variance = covariance[weight, weight]
            cavity = 1.0 / variance - site_precision[target, column]
            if cavity * variance > 1e-10:
                pull = center[weight] / variance - site_linear[target, column]
                free = 1.0 / tableau[column, column]
                effects[column] += bounded_gain(
                    cavity, pull, lower[column, target], upper[column, target]
                ) - log_gain(free, tableau[column, right] * free)
        for other in range(out.size):
            column = out[other]
            free, free_linear = tableau[column, column], tableau[column, right]
            if pool_is_target and column == target:
                mass = log_interval_mass(
                    free_linear / free, free, lower[column, target], upper[column, target]
                )
                effects[column] += mass - log_masses[target]
                continue
            effects[column] += bounded_gain(
                precision[other], linear[other], lower[column, target], upper[column, target]
            ) - log_gain(free, free_linear)
