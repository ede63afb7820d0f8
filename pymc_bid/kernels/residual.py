"""What the fit leaves over: residual sums of squares and their products with the pool."""

import numpy as np

from pymc_bid.kernels.by_reference import copy_into
from pymc_bid.kernels.compilation import kernel, part, spread
from pymc_bid.kernels.interrupts import let_interrupts_in

TILE = 4
CANCELLED = 1e-6
"""What a difference has to be of the numbers that it is one of, for nine digits to be right."""


@spread()
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
        let_interrupts_in(TILE * number * columns)
        subtract_tile(values[row : row + TILE], packed_left, row, packed_right, columns)
    if whole < rows:
        last = np.zeros((TILE, columns))
        for row in range(whole, rows):
            copy_into(values[row], last[row - whole])
        subtract_tile(last, packed_left, whole, packed_right, columns)
        for row in range(whole, rows):
            copy_into(last[row - whole], values[row])


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
    grams, pattern, cross = products.grams, products.pattern, products.cross
    result = cross.copy()
    if grams.shape[0] == 1:
        subtract_fit(result, grams[0], active, weights)
        return result
    for target in range(cross.shape[1]):
        let_interrupts_in(active.size * cross.shape[0])
        gram = grams[pattern[target]]
        for column in active:
            for row in range(cross.shape[0]):
                result[row, target] -= gram[row, column] * weights[column, target]
    return result


@kernel()
def errors_from_products(active, weights, products, interpolated):
    """Return the squared error of each target, (L,), and whether some is lost to rounding.

        |a_l - Σ_k b_k y_kl|² = |a_l|² - Σ_k y_kl (2 b_k·a_l - Σ_j b_k·b_j y_jl)        k, j in J

    in O(K²L), whatever the number of rows. It is a difference of numbers that may be much larger;
    for targets that are not interpolated nobody asks.
    """
    errors = products.squares.copy()
    number = active.size
    gram, values = np.empty((number, number)), np.empty(number)
    present, lost = -1, False
    for target in range(errors.size):
        if interpolated[target] == 0.0:
            continue
        let_interrupts_in(number * number)
        if products.pattern[target] != present:
            present = products.pattern[target]
            for i in range(number):
                for j in range(number):
                    gram[i, j] = products.grams[present, active[i], active[j]]
        for i in range(number):
            values[i] = weights[active[i], target]
        largest = errors[target]
        for i in range(number):
            fitted = 0.0
            for j in range(number):
                fitted += gram[i, j] * values[j]
            twice = 2.0 * products.cross[active[i], target]
            errors[target] -= values[i] * (twice - fitted)
            largest = max(largest, abs(values[i] * twice), abs(values[i] * fitted))
        lost = lost or errors[target] <= CANCELLED * largest
    return errors, lost
