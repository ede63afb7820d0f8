r"""States without weights: the log evidence of every flip and every swap, with the bounds left out.

Without bounds the weights integrate out in closed form, and all targets share one precision matrix.
For the active columns :math:`J` a principal pivot transform of the tableau

.. math:: \bigl[ G / \sigma^2 + \operatorname{diag} \bar\tau
    \;\big|\; B^\top A / \sigma^2 + \tau \mu \bigr]

at the rows in :math:`J` holds, for a column :math:`k` that is out, the precision :math:`q_k` (on
the diagonal) and the linear term :math:`c_{kl}` (on the right) of its weights, those of all active
columns integrated out; for one that is in, the posterior variance :math:`1 / q_k` and mean
:math:`c_{kl} / q_k`. Either way

.. math:: \log \text{odds}_k = \operatorname{logit} \pi_k - \log(\text{prior mass in bounds})
    + \tfrac12 \sum_l \Bigl[\log \frac{\bar\tau_k}{q_k} + \frac{c_{kl}^2}{q_k}
    - \tau_{kl} \mu_{kl}^2\Bigr].

Taking a column in or out is one pivot, O(N (N + L)), whatever the number of active columns.
:math:`\bar\tau_k` is the mean of :math:`\tau_{kl}` over the targets. In the model with the identity
the sum goes over the targets that are interpolated with column :math:`k` in, and the column as a
target adds :math:`\log p_0(a_k) - \log E_k`, its own density against its evidence given the others.

This is a surrogate: it shows the way during warm-up and, afterwards, where to look
(`pymc_bid.kernels.focused_flip`), but never decides. Everywhere below `surrogate` is the tuple of
the tableau, the part of the sum that depends on the prior alone (N, L), its sum with the logit (N,)
and, as an array of one number, the log determinant of the precision matrix of the active columns;
`model` is the tuple `(products, noise_variance, prior, own)`, all as in
`pymc_bid.kernels.collapsed_flip.collapsed_flips`, but with one noise variance and one pattern for
all targets: `pymc_bid.steps.likeness` makes it so.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.truncated_normal import log_interval_mass


@part()
def row_precision(row, precision):
    """Return the mean prior precision of a row of weights."""
    total = 0.0
    for target in range(precision.shape[1]):
        total += precision[row, target]
    return total / precision.shape[1]


@part()
def weight_constants(prior):
    """Return what each weight adds to the log odds of its column, whatever the data, (N, L)."""
    mean, precision, lower, upper = prior
    constants = np.empty(mean.shape)
    log_mass = 0.0
    for row in range(mean.shape[0]):
        log_precision = np.log(row_precision(row, precision))
        for target in range(mean.shape[1]):
            # A prior shared by all targets, the common case, is evaluated once for each row.
            if (
                target == 0
                or mean[row, target] != mean[row, target - 1]
                or precision[row, target] != precision[row, target - 1]
                or lower[row, target] != lower[row, target - 1]
                or upper[row, target] != upper[row, target - 1]
            ):
                log_mass = log_interval_mass(
                    mean[row, target],
                    precision[row, target],
                    lower[row, target],
                    upper[row, target],
                )
            constants[row, target] = (
                0.5 * (log_precision - precision[row, target] * mean[row, target] ** 2) - log_mass
            )
    return constants


@part()
def pivot(tableau, row):
    """Exchange a column between in and out, in place; doing it twice changes nothing."""
    inverse = 1.0 / tableau[row, row]
    pivot_row = tableau[row]
    for column in range(tableau.shape[1]):
        pivot_row[column] *= inverse
    pivot_row[row] = inverse
    for other in range(tableau.shape[0]):
        if other != row:
            factor = tableau[other, row]
            other_row = tableau[other]
            for column in range(tableau.shape[1]):
                other_row[column] -= factor * pivot_row[column]
            other_row[row] = -factor * inverse


@part()
def squared_norm(tableau, row):
    """Return the squared norm of the right part of a row."""
    total = 0.0
    for column in range(tableau.shape[0], tableau.shape[1]):
        total += tableau[row, column] ** 2
    return total


@part()
def log_own_evidence(state, row, model, surrogate):
    r"""Return the log evidence of a column as a target, given the other active columns.

    .. math:: \log E_k = \sum_{j \in J \setminus k} \bigl[ \text{constant}_j
        + \tfrac12 h_j \hat y_j \bigr] - \tfrac12 \log |\Lambda| - \tfrac12 |a_k|^2 / \sigma^2
        - \tfrac{M}{2} \log \sigma^2, \qquad h = B^\top a_k / \sigma^2 + \tau \mu
    """
    products, noise_variance, prior, own = model
    _, _, _, cross, squares, rows = products
    mean, precision, _, _ = prior
    targets, _ = own
    tableau, constants, _, log_determinant = surrogate
    number_of_columns = state.shape[0]
    active = state[row] == 1
    log_evidence = 0.0
    for target in targets[row]:
        log_evidence -= 0.5 * (squares[target] / noise_variance + log_determinant[0])
        log_evidence -= 0.5 * rows[target] * np.log(noise_variance)
        if active:
            log_evidence -= 0.5 * np.log(tableau[row, row])
        for other in range(number_of_columns):
            if state[other] == 0 or other == row:
                continue
            fitted = tableau[other, number_of_columns + target]
            if active:
                share = tableau[other, row] / tableau[row, row]
                fitted -= share * tableau[row, number_of_columns + target]
            linear = cross[other, target] / noise_variance
            linear += precision[other, target] * mean[other, target]
            log_evidence += constants[other, target] + 0.5 * linear * fitted
    return log_evidence


@part()
def log_odds_in(state, row, model, surrogate):
    """Return the log odds of a column being in against out, given all other columns."""
    tableau, constants, totals, _ = surrogate
    targets, own_densities = model[3]
    number_of_columns = state.shape[0]
    number_of_targets = tableau.shape[1] - number_of_columns
    diagonal = tableau[row, row]
    log_precision = -np.log(diagonal) if state[row] == 1 else np.log(diagonal)
    quadratic = squared_norm(tableau, row) / diagonal
    log_odds = totals[row] + 0.5 * (quadratic - number_of_targets * log_precision)
    if targets.shape[1] > 0:
        for other in range(number_of_columns):
            if state[other] == 0 and other != row:
                continue
            for target in targets[other]:
                value = tableau[row, number_of_columns + target]
                log_odds -= constants[row, target]
                log_odds -= 0.5 * (value * value / diagonal - log_precision)
        log_odds += own_densities[row]
        log_odds -= log_own_evidence(state, row, model, surrogate)
    return log_odds


@part()
def pivot_surrogate(surrogate, row):
    """Exchange a column between in and out, in place."""
    tableau, _, _, log_determinant = surrogate
    log_determinant[0] += np.log(tableau[row, row])
    pivot(tableau, row)


@part()
def movable_members(state, log_prior_odds, members):
    """Write the active columns that no prior forces in into `members`; return how many."""
    number = 0
    for row in range(state.shape[0]):
        if state[row] == 1 and np.isfinite(log_prior_odds[row]):
            members[number] = row
            number += 1
    return number


@part()
def build_surrogate(state, model, log_prior_odds):
    """Return the surrogate of a state."""
    products, noise_variance, prior, _ = model
    gram, _, _, cross, _, _ = products
    mean, precision, _, _ = prior
    number_of_columns, number_of_targets = cross.shape
    tableau = np.empty((number_of_columns, number_of_columns + number_of_targets))
    constants = weight_constants(prior)
    totals = log_prior_odds.copy()
    for row in range(number_of_columns):
        for column in range(number_of_columns):
            tableau[row, column] = gram[row, column] / noise_variance
        tableau[row, row] += row_precision(row, precision)
        for target in range(number_of_targets):
            tableau[row, number_of_columns + target] = (
                cross[row, target] / noise_variance + precision[row, target] * mean[row, target]
            )
            totals[row] += constants[row, target]
    surrogate = (tableau, constants, totals, np.zeros(1))
    for row in range(number_of_columns):
        if state[row] == 1:
            pivot_surrogate(surrogate, row)
    return surrogate


@part()
def log_state_evidence(state, model, log_prior_odds, interpolated, surrogate):
    r"""Return the log evidence of a state, bounds left out of the likelihood.

    But for :math:`-\tfrac12 M L \log 2 \pi`.
    """
    products, noise_variance, prior, own = model
    _, _, _, cross, squares, rows = products
    mean, precision, _, _ = prior
    _, own_densities = own
    tableau, constants, _, log_determinant = surrogate
    number_of_columns, number_of_targets = cross.shape
    log_evidence = 0.0
    for row in range(number_of_columns):
        if state[row] == 1:
            log_evidence += log_prior_odds[row] + own_densities[row]
    for target in range(number_of_targets):
        if interpolated[target] == 0.0:
            continue
        log_evidence -= 0.5 * (
            squares[target] / noise_variance
            + rows[target] * np.log(noise_variance)
            + log_determinant[0]
        )
        for row in range(number_of_columns):
            if state[row] == 1:
                linear = cross[row, target] / noise_variance
                linear += precision[row, target] * mean[row, target]
                fitted = tableau[row, number_of_columns + target]
                log_evidence += constants[row, target] + 0.5 * linear * fitted
    return log_evidence


@part()
def expected_squared_error(state, model, interpolated, surrogate):
    r"""Return the posterior mean of the sum of squared errors of a state.

    .. math:: |A|^2 - \langle \hat Y, B^\top A \rangle + \sigma^2 \sum_{k \in J, l} \tau_{kl}
        \hat y_{kl} (\mu_{kl} - \hat y_{kl})
        + L \sigma^2 \Bigl(K - \sum_{k \in J} \bar\tau_k / q_k\Bigr)

    over the targets that are interpolated.
    """
    products, noise_variance, prior, _ = model
    _, _, _, cross, squares, _ = products
    mean, precision, _, _ = prior
    tableau = surrogate[0]
    number_of_columns, number_of_targets = cross.shape
    error = 0.0
    for target in range(number_of_targets):
        error += interpolated[target] * squares[target]
    for row in range(number_of_columns):
        if state[row] == 1:
            shrinkage = row_precision(row, precision) * tableau[row, row]
            for target in range(number_of_targets):
                if interpolated[target] == 0.0:
                    continue
                weight = tableau[row, number_of_columns + target]
                error += noise_variance * (1.0 - shrinkage)
                error -= weight * cross[row, target]
                error += (
                    noise_variance * precision[row, target] * weight * (mean[row, target] - weight)
                )
    return max(error, 0.0)
