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
:math:`\bar\tau_k` is the mean of :math:`\tau_{kl}` over the targets. This is a surrogate: it shows
the way during warm-up and, afterwards, where to look (`pymc_bid.kernels.focused_flip`), but never
decides.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.oblique_row import log_prior_mass


@part()
def row_precision(row, precision):
    """Return the mean prior precision of a row of weights."""
    total = 0.0
    for target in range(precision.shape[1]):
        total += precision[row, target]
    return total / precision.shape[1]


@part()
def row_constant(row, prior, log_prior_odds):
    """Return the part of a column's log odds that depends on its prior alone."""
    mean, precision, _, _ = prior
    number_of_targets = mean.shape[1]
    everyone = np.ones(number_of_targets)
    constant = log_prior_odds[row] - log_prior_mass(row, prior, everyone)
    constant += 0.5 * number_of_targets * np.log(row_precision(row, precision))
    for target in range(number_of_targets):
        constant -= 0.5 * precision[row, target] * mean[row, target] ** 2
    return constant


@part()
def prior_constants(prior, log_prior_odds):
    """Return `row_constant` of every row."""
    constants = np.empty(log_prior_odds.shape[0])
    for row in range(log_prior_odds.shape[0]):
        constants[row] = row_constant(row, prior, log_prior_odds)
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
def log_odds_in(tableau, active, row, constant):
    """Return the log odds of a column being in against out, given all other columns."""
    number_of_targets = tableau.shape[1] - tableau.shape[0]
    diagonal = tableau[row, row]
    log_precision = -np.log(diagonal) if active else np.log(diagonal)
    quadratic = squared_norm(tableau, row) / diagonal
    return constant + 0.5 * (quadratic - number_of_targets * log_precision)


@part()
def build_tableau(state, gram, cross, noise_variance, prior, constants):
    """Return the tableau of a state, and its log evidence relative to the empty state.

    Parameters
    ----------
    state : (N,) int array
    gram : (N, N) array
    cross : (N, L) array
        Pool times target, :math:`B^T A`.
    noise_variance : float
    prior : tuple of four (N, L) arrays
        Mean, precision, lower and upper bound.
    constants : (N,) array
        See `row_constant`.

    Returns
    -------
    tableau : (N, N + L) array
    log_evidence : float
    """
    mean, precision, _, _ = prior
    number_of_columns, number_of_targets = cross.shape
    tableau = np.empty((number_of_columns, number_of_columns + number_of_targets))
    for row in range(number_of_columns):
        for column in range(number_of_columns):
            tableau[row, column] = gram[row, column] / noise_variance
        tableau[row, row] += row_precision(row, precision)
        for target in range(number_of_targets):
            tableau[row, number_of_columns + target] = (
                cross[row, target] / noise_variance + precision[row, target] * mean[row, target]
            )
    log_evidence = 0.0
    for row in range(number_of_columns):
        if state[row] == 1:
            log_evidence += log_odds_in(tableau, state[row] != 1, row, constants[row])
            pivot(tableau, row)
    return tableau, log_evidence


@part()
def expected_squared_error(state, tableau, cross, noise_variance, prior, total_square):
    r"""Return the posterior mean of the sum of squared errors of a state.

    .. math:: |A|^2 - \langle \hat Y, B^\top A \rangle + \sigma^2 \sum_{k \in J, l} \tau_{kl}
        \hat y_{kl} (\mu_{kl} - \hat y_{kl})
        + L \sigma^2 \Bigl(K - \sum_{k \in J} \bar\tau_k / q_k\Bigr)
    """
    mean, precision, _, _ = prior
    number_of_columns, number_of_targets = cross.shape
    error = total_square
    for row in range(number_of_columns):
        if state[row] == 1:
            shrinkage = row_precision(row, precision) * tableau[row, row]
            error += noise_variance * number_of_targets * (1.0 - shrinkage)
            for target in range(number_of_targets):
                weight = tableau[row, number_of_columns + target]
                error -= weight * cross[row, target]
                error += (
                    noise_variance * precision[row, target] * weight * (mean[row, target] - weight)
                )
    return max(error, 0.0)
