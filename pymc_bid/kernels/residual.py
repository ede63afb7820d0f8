"""What the fit leaves over: residual sums of squares and their products with the pool."""

import numpy as np

from pymc_bid.kernels.compilation import kernel, part


@part()
def subtract_fit(values, left, active, weights):
    """Subtract left[:, J] @ weights[J, :] from `values`, in place.

    Loops in a fixed order, not BLAS: the result must not depend on the number of threads. Four
    terms at a time, or the time would go into loading and storing `values`.
    """
    rows, columns = values.shape
    number = active.size
    whole = number - number % 4
    for row in range(rows):
        for i in range(0, whole, 4):
            a, b, c, d = active[i], active[i + 1], active[i + 2], active[i + 3]
            left_a, left_b, left_c, left_d = left[row, a], left[row, b], left[row, c], left[row, d]
            for column in range(columns):
                values[row, column] -= (
                    left_a * weights[a, column]
                    + left_b * weights[b, column]
                    + left_c * weights[c, column]
                    + left_d * weights[d, column]
                )
        for i in range(whole, number):
            a = active[i]
            left_a = left[row, a]
            for column in range(columns):
                values[row, column] -= left_a * weights[a, column]


@kernel()
def squared_errors(active, weights, basis, target):
    """Return |a_l - Σ_{k∈J} b_k y_kl|² of each target l, an (L,) array.

    The residual itself is formed, not |a_l|² minus the fit, which would cancel to rounding noise
    when the fit is nearly perfect. `basis` and `target` are the data reduced by an orthogonal
    factor (see `pymc_bid.regression`), so the cost does not depend on the rows of the data.
    """
    residual = target.copy()
    subtract_fit(residual, basis, active, weights)
    squares = np.zeros(residual.shape[1])
    for row in range(residual.shape[0]):
        for column in range(residual.shape[1]):
            squares[column] += residual[row, column] * residual[row, column]
    return squares


@kernel()
def residual_cross_products(active, weights, products):
    """Return P = Bᵀ(A - B·diag(r)·Y) = BᵀA - (BᵀB)[:, J] Y[J, :], an (N, L) array.

    With several patterns of missing entries BᵀB is that of the target's own pattern.
    """
    _, grams, pattern, cross, _, _ = products
    result = cross.copy()
    if grams.shape[0] == 1:
        subtract_fit(result, grams[0], active, weights)
        return result
    for target in range(cross.shape[1]):
        gram = grams[pattern[target]]
        for column in active:
            for row in range(cross.shape[0]):
                result[row, target] -= gram[row, column] * weights[column, target]
    return result
