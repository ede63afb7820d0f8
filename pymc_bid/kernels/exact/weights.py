"""Gibbs sweep over the weights Y, many columns at a time and without the rows of the data."""

import math

import numpy as np

from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.interrupts import OF_A_DRAW, let_interrupts_in
from pymc_bid.kernels.prior.weights import draw_row_from_prior, read_prior
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.residual import TILE, pad, subtract_tile
from pymc_bid.kernels.truncated_normal import WIDE_SQUARED, draw_truncated_normal

BLOCK = 256
"""Columns of Y that are drawn side by side."""


@spread()
def fill_with_normals(rng, values, width):
    """Draw the first `width` numbers of each row from the standard normal distribution."""
    for row in range(values.shape[0]):
        for column in range(width):
            values[row, column] = rng.standard_normal()


@part()
def draw_weights(rng, normal, linear, total, lower, upper, drawn, width):
    """Draw from truncated normals with precisions `total` and means `linear` / `total`.

    All at once as normals, from standard ones that were drawn before; where the mean is out of
    bounds, the interval narrow, or the draw outside, once more and one by one. A rejected proposal
    does not matter to the next one, so this is exact.
    """
    outside = 0
    for column in range(width):
        mean = linear[column] / total[column]
        value = mean + normal[column] / math.sqrt(total[column])
        low, high = lower[column], upper[column]
        # Comparisons with nan are false.
        accepted = (
            (low <= mean)
            & (mean <= high)
            & (total[column] * (high - low) * (high - low) >= WIDE_SQUARED)
            & (low < value)
            & (value < high)
        )
        outside += 0 if accepted else 1
        drawn[column] = value if accepted else np.nan
    if outside > 0:
        for column in range(width):
            if math.isnan(drawn[column]):
                drawn[column] = draw_truncated_normal(
                    rng, linear[column] / total[column], total[column], lower[column], upper[column]
                )


@spread()
def add_data(projection, fitted, noise_precision, square, linear, total):
    """Turn mean and precision of the prior into those of the conditional, times its precision.

    `linear` and `total` hold the prior's mean and precision, `projection` the products of the
    column with the residuals, and `square` its square.
    """
    for column in range(noise_precision.size):
        information = noise_precision[column]
        linear[column] = (
            total[column] * linear[column]
            + (projection[column] + square * fitted[column]) * information
        )
        total[column] += square * information


@spread()
def take_over(drawn, fitted, width):
    """Let `fitted` be what was drawn, and `drawn` be the change."""
    for column in range(width):
        change = drawn[column] - fitted[column]
        fitted[column] = drawn[column]
        drawn[column] = change


@random_kernel
def sweep_weights(stream, active, weights, products, noise_precision, prior, rows_off):
    """Draw every weight once from its full conditional, in place.

    With x_k = r_k b_k the conditional of one weight is the truncated normal

        y_kl | . ~ GTN(m, 1/t, lower, upper)
        t = x_k·x_k / σ² + τ_kl
        m = ( x_k·(a_l - Σ_{j≠k} x_j y_jl) / σ² + τ_kl μ_kl ) / t

    The columns of Y are independent given (r, σ²), and a block of them is drawn side by side. What
    b_k·(a_l - Σ_j x_j y_jl) is takes a product of Gram matrix and weights, O(K²L) in all, whatever
    the number of rows of the data: four rows of weights at a time, and corrected for each of the
    four that is drawn. Rows that are off have x_k = 0: the formula is then the prior.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
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
    rows_off : bool
        Whether to draw the rows that are off as well.
    """
    rng = generator_at(stream)
    grams, pattern, cross = products.grams, products.pattern, products.cross
    number = active.size
    rows, columns = weights.shape
    largest = min(columns, BLOCK)
    gram = np.zeros((pad(number), pad(number)))
    present = -1
    fitted = np.zeros((pad(number), largest))
    normal = np.empty((number, largest))
    projections = np.zeros((TILE, largest))
    linear, total, low, high, drawn = np.empty((5, largest))

    first = 0
    while first < columns:
        width = 1
        while (
            width < largest and first + width < columns and pattern[first + width] == pattern[first]
        ):
            width += 1
        if pattern[first] != present:
            present = pattern[first]
            for i in range(number):
                for j in range(number):
                    gram[i, j] = grams[present, active[i], active[j]]
        for i in range(number):
            for column in range(width):
                fitted[i, column] = weights[active[i], first + column]
        fill_with_normals(rng, normal, width)
        for i in range(number):
            inner = i % TILE
            if inner == 0:
                let_interrupts_in(TILE * number * width)
                for other in range(min(TILE, number - i)):
                    for column in range(width):
                        projections[other, column] = cross[active[i + other], first + column]
                subtract_tile(projections, gram, i, fitted, width)
            read_prior(prior, active[i], first, width, linear, total, low, high)
            diagonal = gram[i, i]
            noise = noise_precision[first : first + width]
            add_data(projections[inner], fitted[i], noise, diagonal, linear, total)
            draw_weights(rng, normal[i], linear, total, low, high, drawn, width)
            take_over(drawn, fitted[i], width)
            for other in range(inner + 1, TILE):
                # Zero beyond the last row.
                coupling = gram[i + other - inner, i]
                for column in range(width):
                    projections[other, column] -= coupling * drawn[column]
        for i in range(number):
            for column in range(width):
                weights[active[i], first + column] = fitted[i, column]
        first += width

    if not rows_off:
        return
    # What is left to draw once the chosen rows, which come in ascending order, are passed over.
    passed = 0
    for row in range(rows):
        let_interrupts_in(OF_A_DRAW * columns)
        if passed < number and active[passed] == row:
            passed += 1
        else:
            draw_row_from_prior(rng, row, weights, prior)
