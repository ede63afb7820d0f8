r"""One row of weights in oblique coordinates: its conditional, its marginal, and its moves.

With the companions :math:`S` and the direction :math:`\beta` of `pymc_bid.kernels.oblique`, the
weights :math:`u_l` of row :math:`j` given :math:`y'_S = y_S + \beta u` are independent truncated
normals, and the odds of the row being in against out, with :math:`u` integrated out, are

.. math::

    \log \text{odds} = \operatorname{logit} \pi_j + \sum_l \Bigl[
        \tfrac12 \log \frac{\tau_{jl}}{t_l} + \frac{h_l^2}{2 t_l} - \tfrac12 \tau_{jl} \mu_{jl}^2
        + \log \Delta\Phi(L_l, U_l; h_l / t_l, 1 / t_l)
        - \log \Delta\Phi(a_{jl}, b_{jl}; \mu_{jl}, 1 / \tau_{jl}) \Bigr].

Everywhere below `prior` is the tuple `(mean, precision, lower, upper)` of (N, L) arrays
:math:`\mu, \tau, a, b`, and `companions`, `size`, `direction`, `gram_direction` and `curvature` are
as in `pymc_bid.kernels.oblique`, the last two for each pattern, and `pattern` says which one is a
target's, see `pymc_bid.regression.Products`. `interpolated` is 1.0 for the targets that take
part, which are all of them but for `pymc_bid.kernels.own_column`; the weights of the others have no
likelihood and stay as they are.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass


@part()
def oblique_conditional(
    row,
    companions,
    size,
    direction,
    curvature,
    pattern,
    projection,
    shifted,
    noise_variance,
    prior,
    interpolated,
    conditional,
):
    r"""Compute the truncated normals of one row of weights in the oblique coordinates.

    .. math::

        t_l &= v \cdot v / \sigma^2 + \tau_{jl} + \sum_{s \in S} \tau_{sl} \beta_s^2 \\
        h_l &= v \cdot e_l / \sigma^2 + \tau_{jl} \mu_{jl}
               + \sum_{s \in S} \tau_{sl} \beta_s (y'_{sl} - \mu_{sl}) \\
        [L_l, U_l] &= [a_{jl}, b_{jl}]
               \cap \{u : a_{sl} \le y'_{sl} - \beta_s u \le b_{sl}, s \in S\}

    where :math:`e_l` is the residual of target :math:`l` without row :math:`j`, at :math:`y'`.

    Parameters
    ----------
    row, companions, size, direction, curvature, pattern
        See above.
    projection : (L,) array
        :math:`v \cdot e_l`.
    shifted : (size, L) array
        :math:`y'_S`.
    noise_variance : (L,) array
    prior : tuple of four (N, L) arrays
    interpolated : (L,) array
    conditional : (4, L) array
        Receives :math:`h/t`, :math:`t`, :math:`L` and :math:`U`, the last two infinite for targets
        that take no part.

    Returns
    -------
    float
        :math:`\tfrac12 \sum_l [\log(\tau_{jl}/t_l) + h_l^2/t_l - \tau_{jl} \mu_{jl}^2]`: the log
        odds of in against out under even prior odds, but for the masses of the intervals.
    """
    mean, precision, lower, upper = prior
    linear, total, left, right = conditional
    number_of_targets = projection.shape[0]
    for target in range(number_of_targets):
        weight = precision[row, target]
        inverse = 1.0 / noise_variance[target]
        total[target] = curvature[pattern[target]] * inverse + weight
        linear[target] = projection[target] * inverse + weight * mean[row, target]
        left[target] = lower[row, target]
        right[target] = upper[row, target]
    for index in range(size):
        companion = companions[index]
        slope = direction[index]
        for target in range(number_of_targets):
            weight = precision[companion, target] * slope
            total[target] += weight * slope
            linear[target] += weight * (shifted[index, target] - mean[companion, target])
        narrow_intervals(slope, shifted[index], lower[companion], upper[companion], left, right)
    log_ratio = 0.0
    log_precision_ratio = 0.0
    last = -1
    for target in range(number_of_targets):
        if interpolated[target] == 0.0:
            left[target] = -np.inf
            right[target] = np.inf
            continue
        weight = precision[row, target]
        # With a prior and a noise variance shared by all targets, the common case, this is
        # evaluated once.
        if last < 0 or total[target] != total[last] or weight != precision[row, last]:
            log_precision_ratio = np.log(weight / total[target])
            last = target
        center = linear[target] / total[target]
        log_ratio += 0.5 * (
            log_precision_ratio + linear[target] * center - weight * mean[row, target] ** 2
        )
        linear[target] = center
    return log_ratio


@part()
def narrow_intervals(slope, value, lower, upper, left, right):
    r"""Intersect [left, right] with :math:`\{u : a \le y' - \beta u \le b\}`, each (L,), in place.

    A slope of zero leaves everything, or nothing.
    """
    if slope == 0.0:
        for target in range(value.shape[0]):
            if not lower[target] <= value[target] <= upper[target]:
                # Only in a swap: the companion gave way to the column that leaves, and nothing
                # brings it back within its bounds.
                left[target] = np.inf
        return
    if slope < 0.0:
        lower, upper = upper, lower
    inverse = 1.0 / slope
    for target in range(value.shape[0]):
        left[target] = max(left[target], (value[target] - upper[target]) * inverse)
        right[target] = min(right[target], (value[target] - lower[target]) * inverse)


@part()
def log_prior_mass(row, prior, interpolated):
    """Sum, over the targets, the log mass that the parent normal of a row has within its bounds."""
    mean, precision, lower, upper = prior
    total = 0.0
    value = 0.0
    last = -1
    for target in range(mean.shape[1]):
        if interpolated[target] == 0.0:
            continue
        # A prior shared by all targets, the common case, is evaluated once.
        if (
            last < 0
            or mean[row, target] != mean[row, last]
            or precision[row, target] != precision[row, last]
            or lower[row, target] != lower[row, last]
            or upper[row, target] != upper[row, last]
        ):
            value = log_interval_mass(
                mean[row, target], precision[row, target], lower[row, target], upper[row, target]
            )
            last = target
        total += value
    return total


@part()
def log_conditional_mass(conditional, enough):
    """Sum, over the targets, the log mass of the intervals of `conditional`.

    Stops once the sum is below `enough`. Every term is at most zero, so it would stay there, and
    the caller, who draws the uniform number of the decision beforehand, needs to know no more.
    """
    total = 0.0
    for target in range(conditional.shape[1]):
        left = conditional[2, target]
        right = conditional[3, target]
        if left == -np.inf and right == np.inf:
            continue
        if not left < right:
            return -np.inf
        total += log_interval_mass(conditional[0, target], conditional[1, target], left, right)
        if total < enough:
            break
    return total


@part()
def shift_companions(row, companions, size, direction, weights, active, interpolated, shifted):
    r"""Write :math:`y'_S = y_S + \beta y_j` into `shifted`, just :math:`y_S` if not active."""
    for index in range(size):
        companion = companions[index]
        slope = direction[index] if active else 0.0
        for target in range(weights.shape[1]):
            shifted[index, target] = (
                weights[companion, target] + slope * interpolated[target] * weights[row, target]
            )


@part()
def project_residual(
    row, companions, size, direction, residual_cross, overlap, pattern, removed, projection
):
    r"""Project the residual, with a row of weights taken out, onto the oblique direction.

    .. math:: v \cdot e_l = P_{jl} - \sum_{s \in S} \beta_s P_{sl} + (v \cdot v') u'_l

    where :math:`v'` and :math:`u'` are the direction and the weights of the row taken out.

    Parameters
    ----------
    row, companions, size, direction, pattern
        See above.
    residual_cross : (N, L) array
    overlap : (P,) array
        :math:`v \cdot v'` for each pattern, zero if no row is taken out.
    removed : (L,) array
        :math:`u'`.
    projection : (L,) array
        Receives :math:`v \cdot e_l`.
    """
    for target in range(projection.shape[0]):
        projection[target] = residual_cross[row, target]
        projection[target] += overlap[pattern[target]] * removed[target]
    for index in range(size):
        companion = companions[index]
        slope = direction[index]
        for target in range(projection.shape[0]):
            projection[target] -= slope * residual_cross[companion, target]


@part()
def is_within_bounds(companions, size, shifted, prior):
    """Tell whether the companions could keep the shifted weights with the row taken out."""
    _, _, lower, upper = prior
    for index in range(size):
        companion = companions[index]
        for target in range(shifted.shape[1]):
            value = shifted[index, target]
            if not lower[companion, target] <= value <= upper[companion, target]:
                return False
    return True


@part()
def add_to_residual_cross(residual_cross, gram_direction, pattern, amount):
    """Add the outer product of `gram_direction` and `amount` to `residual_cross`, in place."""
    number_of_columns, number_of_targets = residual_cross.shape
    if gram_direction.shape[0] == 1:
        # The common case, and a loop that the compiler can vectorise.
        for column in range(number_of_columns):
            factor = gram_direction[0, column]
            for target in range(number_of_targets):
                residual_cross[column, target] += factor * amount[target]
        return
    for column in range(number_of_columns):
        for target in range(number_of_targets):
            factor = gram_direction[pattern[target], column]
            residual_cross[column, target] += factor * amount[target]


@part()
def keep_inside(value, lower, upper):
    """Return the value, or the number next to the bound that it reached by rounding.

    On the bound itself a transformed weight would be infinite.
    """
    if value <= lower:
        return np.nextafter(lower, upper)
    if value >= upper:
        return np.nextafter(upper, lower)
    return value


@part()
def take_out_row(
    rng, row, companions, size, gram_direction, pattern, shifted, weights, residual_cross, prior
):
    """Take an active row out: companions keep the shifted weights, the row gets a prior draw."""
    mean, precision, lower, upper = prior
    add_to_residual_cross(residual_cross, gram_direction, pattern, weights[row])
    for index in range(size):
        companion = companions[index]
        for target in range(weights.shape[1]):
            weights[companion, target] = shifted[index, target]
    for target in range(weights.shape[1]):
        weights[row, target] = draw_truncated_normal(
            rng,
            mean[row, target],
            precision[row, target],
            lower[row, target],
            upper[row, target],
        )


@part()
def put_in_row(
    rng,
    row,
    companions,
    size,
    direction,
    gram_direction,
    pattern,
    conditional,
    shifted,
    active,
    weights,
    residual_cross,
    prior,
    interpolated,
    change,
):
    """Draw a row from its conditional, let the companions give way, and update the residual.

    An `active` row is redrawn, one that is not enters. `change` is a workspace of length L.
    """
    _, _, lower, upper = prior
    for target in range(weights.shape[1]):
        if interpolated[target] == 0.0:
            change[target] = 0.0
            continue
        before = weights[row, target] if active else 0.0
        after = before
        left = conditional[2, target]
        right = conditional[3, target]
        # Rounding can close the interval around the present value, which then stays.
        if left < right:
            after = draw_truncated_normal(
                rng, conditional[0, target], conditional[1, target], left, right
            )
            after = keep_inside(after, lower[row, target], upper[row, target])
        weights[row, target] = after
        change[target] = before - after
    for index in range(size):
        companion = companions[index]
        slope = direction[index]
        for target in range(weights.shape[1]):
            if interpolated[target] != 0.0:
                value = shifted[index, target] - slope * weights[row, target]
                # Within the bounds up to rounding, by the choice of the interval.
                weights[companion, target] = keep_inside(
                    value, lower[companion, target], upper[companion, target]
                )
    add_to_residual_cross(residual_cross, gram_direction, pattern, change)
