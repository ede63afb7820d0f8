r"""One column of weights drawn within its bounds, one weight after the other.

The weights :math:`y` of the active columns :math:`J` in one target :math:`a` have, without bounds,
the posterior :math:`N(\hat y, \Lambda^{-1})`,

.. math:: \Lambda = G_{JJ} / \sigma^2 + \operatorname{diag} \tau, \qquad
    \Lambda \hat y = B_J^\top a / \sigma^2 + \tau \mu .

With the Cholesky factor :math:`\Lambda = F F^\top` the last weight is a normal number, the one
before is normal given the last, and so on. Drawing each of them within its bounds gives a density
:math:`q(y)` that is known (Geweke, Hajivassiliou, Keane), and with the mass :math:`m_k(y)` that
each of these normals has within its bounds

.. math:: \frac{p(y)\, N(a \mid B_J y, \sigma^2 I)}{q(y)} = E \prod_{k \in J} m_k(y)

where :math:`E` is the evidence of the target with the bounds left out of the likelihood. Its mean
over :math:`q` is the evidence with the bounds.
"""

import numpy as np

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass


@part()
def factor_precision(members, number, gram, noise_variance, precision, target, factor):
    r"""Write the Cholesky factor of :math:`\Lambda` into the lower triangle of `factor`."""
    for first in range(number):
        for second in range(first + 1):
            value = gram[members[first], members[second]] / noise_variance
            if first == second:
                value += precision[members[first], target]
            for inner in range(second):
                value -= factor[first, inner] * factor[second, inner]
            if first == second:
                # The pivot cannot fall below the prior precision but by rounding.
                factor[first, first] = np.sqrt(max(value, precision[members[first], target]))
            else:
                factor[first, second] = value / factor[second, second]


@part()
def log_column_evidence(members, number, products, noise_variance, prior, target, factor, center):
    r"""Return the log evidence of a target, bounds left out.

    Parameters
    ----------
    members : int array
        The first `number` entries are the active columns :math:`J`.
    number : int
    products : tuple
        See `pymc_bid.regression.Products`.
    noise_variance : float
        Of this target.
    prior : tuple of four (N, L) arrays
        Mean, precision, lower and upper bound.
    target : int
        Which target :math:`a` is.
    factor : (number, number) array
        Receives the Cholesky factor of :math:`\Lambda`.
    center : (number,) array
        Receives :math:`\hat y`.

    Returns
    -------
    float
        :math:`\log E` but for :math:`-\tfrac{M}{2} \log 2 \pi \sigma^2`.
    """
    mean, precision, lower, upper = prior
    _, grams, pattern, cross, squares, _ = products
    gram = grams[pattern[target]]
    factor_precision(members, number, gram, noise_variance, precision, target, factor)
    log_evidence = -0.5 * squares[target] / noise_variance
    for first in range(number):
        row = members[first]
        tau = precision[row, target]
        value = cross[row, target] / noise_variance + tau * mean[row, target]
        for inner in range(first):
            value -= factor[first, inner] * center[inner]
        center[first] = value / factor[first, first]
        log_evidence += 0.5 * (
            center[first] ** 2
            + np.log(tau)
            - 2.0 * np.log(factor[first, first])
            - tau * mean[row, target] ** 2
        )
        log_evidence -= log_interval_mass(
            mean[row, target], tau, lower[row, target], upper[row, target]
        )
    for first in range(number - 1, -1, -1):
        value = center[first]
        for inner in range(first + 1, number):
            value -= factor[inner, first] * center[inner]
        center[first] = value / factor[first, first]
    return log_evidence


@part()
def sequential_log_mass(rng, drawing, members, number, factor, center, prior, target, values):
    r"""Return :math:`\sum_k \log m_k(y)`, of the weights given or of new ones.

    Parameters
    ----------
    rng : numpy.random.Generator
    drawing : bool
        Whether to draw weights into `values`, or to take those that are there.
    members, number, factor, center, prior, target
        As in `log_column_evidence`.
    values : (number,) array
        The weights :math:`y`.

    Returns
    -------
    float
    """
    _, _, lower, upper = prior
    log_mass = 0.0
    for first in range(number - 1, -1, -1):
        row = members[first]
        conditional = center[first]
        for inner in range(first + 1, number):
            offset = values[inner] - center[inner]
            conditional -= factor[inner, first] * offset / factor[first, first]
        concentration = factor[first, first] ** 2
        left = lower[row, target]
        right = upper[row, target]
        log_mass += log_interval_mass(conditional, concentration, left, right)
        if drawing:
            values[first] = draw_truncated_normal(rng, conditional, concentration, left, right)
    return log_mass
