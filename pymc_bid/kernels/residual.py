"""What the fit leaves over: residual sums of squares and their products with the pool."""

import numpy as np

from pymc_bid.kernels.compilation import kernel, part

TILE = 4
CANCELLED = 1e-6
"""What a difference has to be of the numbers that it is one of, for nine digits to be right."""


@part()
def pad(number):
    """Return the least multiple of TILE that is not below `number`."""
    return number + (-number) % TILE


# Contraction lets a product and a sum be one instruction.
@part(fastmath={"contract"})
def subtract_tile(values, left, first, right, columns):
    """Subtract left[first : first + 4] @ right from four rows of `values`, their first `columns`.

    Loops in a fixed order, not BLAS: the result must not depend on the number of threads. Four rows
    and four terms at a time, or the time would go into loading and storing. The number of terms has
    to be a multiple of four; pad with zeros.
    """
    for i in range(0, right.shape[0], 4):
        a, b, c, d = left[first, i], left[first, i + 1], left[first, i + 2], left[first, i + 3]
        row = first + 1
        e, f, g, h = left[row, i], left[row, i + 1], left[row, i + 2], left[row, i + 3]
        row = first + 2
        k, m, n, o = left[row, i], left[row, i + 1], left[row, i + 2], left[row, i + 3]
        row = first + 3
        p, q, r, s = left[row, i], left[row, i + 1], left[row, i + 2], left[row, i + 3]
        for column in range(columns):
            w, x, y, z = (
                right[i, column],
                right[i + 1, column],
                right[i + 2, column],
                right[i + 3, column],
            )
            values[0, column] -= a * w + b * x + c * y + d * z
            values[1, column] -= e * w + f * x + g * y + h * z
            values[2, column] -= k * w + m * x + n * y + o * z
            values[3, column] -= p * w + q * x + r * y + s * z


@part()
def subtract_fit(values, left, active, weights):
    """Subtract left[:, J] @ weights[J, :] from `values`, in place."""
    rows, columns = values.shape
    number = active.size
    packed_left = np.zeros((pad(rows), pad(number)))
    packed_right = np.zeros((pad(number), columns))
    for row in range(rows):
        for i in range(number):
            packed_left[row, i] = left[row, active[i]]
    for i in range(number):
        for column in range(columns):
            packed_right[i, column] = weights[active[i], column]
    whole = rows - rows % TILE
    for row in range(0, whole, TILE):
        subtract_tile(values[row : row + TILE], packed_left, row, packed_right, columns)
    if whole < rows:
        last = np.zeros((TILE, columns))
        last[: rows - whole] = values[whole:]
        subtract_tile(last, packed_left, whole, packed_right, columns)
        values[whole:] = last[: rows - whole]


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


@kernel()
def errors_from_products(active, weights, residual_cross, products):
    """Return the squared error of each target, (L,), from P = Bᵀ(A - B·diag(r)·Y) of the same Y.

        |a_l - Σ_k b_k y_kl|² = |a_l|² - Σ_k y_kl (b_k·a_l + P_kl)        k in J

    in O(KL), with a rounding error of some 1e-15 |a_l|².
    """
    _, _, _, cross, squares, _ = products
    errors = squares.copy()
    for row in active:
        for target in range(errors.size):
            product = cross[row, target] + residual_cross[row, target]
            errors[target] -= weights[row, target] * product
    return errors


@kernel()
def any_cancelled(errors, scale, interpolated):
    """Whether the error of an interpolated target is what is left of rounding.

    `scale` is that of the numbers that the errors are a difference of; all arrays are (L,).
    """
    for target in range(errors.size):
        if interpolated[target] != 0.0 and errors[target] <= CANCELLED * scale[target]:
            return True
    return False
