"""What the fit leaves over: residual sums of squares and their products with the pool."""

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
def residual_sum_of_squares(active, weights, basis, target, interpolated):
    """Return Σ_l |a_l - Σ_{k∈J} b_k y_kl|² over the targets l that are interpolated.

    The residual itself is formed, not tr(AᵀA) minus the fit, which would cancel to rounding noise
    when the fit is nearly perfect. `basis` and `target` are the data reduced by an orthogonal
    factor (see `pymc_bid.regression`), so the cost does not depend on the rows of the data.
    """
    residual = target.copy()
    subtract_fit(residual, basis, active, weights)
    total = 0.0
    for row in range(residual.shape[0]):
        for column in range(residual.shape[1]):
            total += interpolated[column] * residual[row, column] * residual[row, column]
    return total


@kernel()
def residual_cross_products(active, weights, gram, cross):
    """Return P = Bᵀ(A - B·diag(r)·Y) = BᵀA - (BᵀB)[:, J] Y[J, :], an (N, L) array."""
    result = cross.copy()
    subtract_fit(result, gram, active, weights)
    return result
