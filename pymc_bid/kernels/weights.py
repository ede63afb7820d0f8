"""Gibbs sweep over the weights Y, column by column and without the rows of the data."""

import numpy as np

from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.truncated_normal import draw_truncated_normal


@kernel()
def sweep_weights(rng, active, weights, products, noise_precision, prior):
    """Draw every weight once from its full conditional, in place.

    With x_k = r_k b_k the conditional of one weight is the truncated normal

        y_kl | . ~ GTN(m, 1/t, lower, upper)
        t = x_k·x_k / σ² + τ_kl
        m = ( x_k·(a_l - Σ_{j≠k} x_j y_jl) / σ² + τ_kl μ_kl ) / t

    The columns of Y are independent given (r, σ²). For column l only the K numbers
    c_k = b_k·(a_l - Σ_j x_j y_jl) are carried along, so the sweep costs O(K²L), whatever the
    number of rows of the data. Rows that are off have x_k = 0: the formula is then the prior.

    Parameters
    ----------
    rng : numpy.random.Generator
    active : int64 array (K,)
        The chosen columns J, ascending.
    weights : float64 array (N, L)
        Updated in place.
    products : tuple
        See `pymc_bid.regression.Products`.
    noise_precision : float64 array (L,)
        1/σ² of each target, zero for those whose weights have no likelihood: they get the prior.
    prior : tuple of four float64 arrays (N, L)
        Mean, precision, lower and upper bound; broadcast views are welcome.
    """
    _, grams, pattern, cross, _, _ = products
    mean, precision, lower, upper = prior
    number_active = active.size
    rows, columns = weights.shape
    gram_active = np.empty((number_active, number_active))
    present = -1
    fitted = np.empty(number_active)
    projection = np.empty(number_active)

    for column in range(columns):
        if pattern[column] != present:
            present = pattern[column]
            for i in range(number_active):
                for j in range(number_active):
                    gram_active[i, j] = grams[present, active[i], active[j]]
        information = noise_precision[column]
        for i in range(number_active):
            fitted[i] = weights[active[i], column]
            projection[i] = cross[active[i], column]
        for i in range(number_active):
            value = fitted[i]
            for j in range(number_active):
                projection[j] -= gram_active[i, j] * value
        for i in range(number_active):
            row = active[i]
            prior_precision = precision[row, column]
            total = gram_active[i, i] * information + prior_precision
            linear = (projection[i] + gram_active[i, i] * fitted[i]) * information
            drawn = draw_truncated_normal(
                rng,
                (linear + prior_precision * mean[row, column]) / total,
                total,
                lower[row, column],
                upper[row, column],
            )
            change = drawn - fitted[i]
            fitted[i] = drawn
            for j in range(number_active):
                projection[j] -= gram_active[i, j] * change
            weights[row, column] = drawn
    # What is left to draw once the chosen rows, which come in ascending order, are passed over.
    passed = 0
    for row in range(rows):
        if passed < number_active and active[passed] == row:
            passed += 1
            continue
        for column in range(columns):
            weights[row, column] = draw_truncated_normal(
                rng,
                mean[row, column],
                precision[row, column],
                lower[row, column],
                upper[row, column],
            )
