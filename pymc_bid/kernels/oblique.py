r"""Oblique directions: the geometry that collapsed flips and collapsed swaps share.

When column :math:`j` of the pool goes in or out, the rows of a few *companions*
:math:`S \subset J \setminus \{j\}` give way along a fixed direction :math:`\beta`. In the
coordinates

.. math:: (y_S, y_j) \to (y'_S = y_S + \beta y_j,\; u = y_j)

whose Jacobian is one, row :math:`u` given :math:`y'_S` is a truncated normal: it can be integrated
out to decide and drawn exactly to carry out (see `pymc_bid.kernels.oblique_row`).

The companions and the direction must be the same before and after the move. They are therefore
computed from the Gram matrix, the noise variance, the prior precision and the *other* active
columns alone, never from the weights or from the state of the column that moves.
"""

import numpy as np

from pymc_bid.kernels.compilation import part

# Relative to the diagonal of the Gram matrix; keeps the direction finite for identical columns.
RELATIVE_RIDGE = 1e-12
LARGEST_CLOSENESS_INVERSE = 0.02


@part()
def closeness(gram, first, second):
    r"""Return :math:`\rho^2 / (1.02 - \rho^2)` with :math:`\rho` the uncentred correlation.

    Zero for orthogonal columns, 50 for identical ones: what a column loses is made up for by its
    near copies before all others, also when there are many columns of moderate correlation.
    """
    # Roots before the product, which would overflow or vanish for data of an unusual scale.
    scale = np.sqrt(gram[first, first]) * np.sqrt(gram[second, second])
    if not scale > 0.0:
        return 0.0
    square = min((gram[first, second] / scale) ** 2, 1.0)
    return square / (1.0 + LARGEST_CLOSENESS_INVERSE - square)


@part()
def draw_index(rng, affinity, number):
    """Draw an index below `number` with probability proportional to `affinity`, -1 if all are 0."""
    total = 0.0
    for index in range(number):
        total += affinity[index]
    if not total > 0.0:
        return -1
    target = rng.random() * total
    last = -1
    for index in range(number):
        if affinity[index] > 0.0:
            last = index
            target -= affinity[index]
            if target < 0.0:
                break
    return last


@part()
def largest_size(companion_sizes):
    """Return the largest number of companions, for which workspaces have to be made."""
    # NumPy's maximum would cost a second of compilation.
    largest = 0
    for size in companion_sizes:
        largest = max(largest, size)
    return largest


@part()
def draw_companions(rng, state, gram, first, second, size, members, affinity, companions):
    """Draw up to `size` companions among the active columns other than `first` and `second`.

    They are drawn one after the other without replacement, with probability proportional to the
    closeness to `first` plus, if it is another column, that to `second`: symmetric in the two, as a
    swap needs it. A flip passes the same column twice.

    Parameters
    ----------
    rng : numpy.random.Generator
    state : (N,) int array
    gram : (N, N) array
    first, second : int
        Columns that move; their own state is not looked at.
    size : int
        Number of companions wanted; fewer are drawn if there are fewer correlated active columns.
    members : (N,) int array
        Workspace.
    affinity : (N,) array
        Workspace.
    companions : (size,) int array
        Receives the companions.

    Returns
    -------
    int
        Number of companions drawn.
    """
    if size == 0:
        return 0
    number = 0
    for other in range(state.shape[0]):
        if state[other] == 1 and other != first and other != second:
            members[number] = other
            affinity[number] = closeness(gram, first, other)
            if second != first:
                affinity[number] += closeness(gram, second, other)
            number += 1
    drawn = 0
    while drawn < size:
        index = draw_index(rng, affinity, number)
        if index < 0:
            break
        companions[drawn] = members[index]
        affinity[index] = 0.0
        drawn += 1
    return drawn


@part()
def typical_variance(noise_variance):
    """Return the harmonic mean of the targets' noise variances."""
    total = 0.0
    for target in range(noise_variance.shape[0]):
        total += 1.0 / noise_variance[target]
    return noise_variance.shape[0] / total


@part()
def mean_of_row(values, row):
    """Return the mean of a row of an array, at once if it was broadcast along its rows."""
    if values.strides[1] == 0:
        return values[row, 0]
    total = 0.0
    for column in range(values.shape[1]):
        total += values[row, column]
    return total / values.shape[1]


# Sums in any order: a few more digits of the direction would be of no use.
@part(fastmath={"reassoc", "contract"})
def oblique_direction(gram, noise_variance, precision, row, companions, size, factor, direction):
    r"""Compute the direction along which the companions give way.

    .. math:: \beta = (G_{SS} + \sigma^2 \bar\tau_S)^{-1} G_{Sj}

    with :math:`\bar\tau_s` the mean prior precision of row :math:`s`. Any :math:`\beta` gives an
    exact move; this one makes the row that is integrated out nearly independent of :math:`y'_S`.

    Parameters
    ----------
    gram : (N, N) array
        Of all targets together; one direction serves them all.
    noise_variance : float
        A typical one.
    precision : (N, L) array
        Prior precision of the weights.
    row : int
        The column :math:`j` that moves.
    companions : int array
        The first `size` entries are :math:`S`.
    size : int
    factor : (size, size) array
        Workspace.
    direction : (size,) array
        Receives :math:`\beta`.
    """
    for first in range(size):
        companion = companions[first]
        diagonal = gram[companion, companion]
        ridge = noise_variance * mean_of_row(precision, companion)
        ridge = max(ridge, RELATIVE_RIDGE * diagonal)
        # Cholesky factor row by row; forward substitution in the same pass.
        for second in range(first + 1):
            value = gram[companion, companions[second]]
            if second == first:
                value += ridge
            for inner in range(second):
                value -= factor[first, inner] * factor[second, inner]
            if second == first:
                # The pivot cannot fall below the ridge but by rounding.
                factor[first, first] = np.sqrt(max(value, ridge))
            else:
                factor[first, second] = value / factor[second, second]
        value = gram[companion, row]
        for inner in range(first):
            value -= factor[first, inner] * direction[inner]
        direction[first] = value / factor[first, first]
    for first in range(size - 1, -1, -1):
        value = direction[first]
        for inner in range(first + 1, size):
            value -= factor[inner, first] * direction[inner]
        direction[first] = value / factor[first, first]


@part()
def image_of_direction(grams, row, companions, size, direction, gram_direction, curvature):
    r"""Compute the image of :math:`v = b_j - B_S \beta` under the pool, for each pattern.

    Parameters
    ----------
    grams : (P, N, N) array
        :math:`B^\top B` of each pattern, see `pymc_bid.regression.Products`.
    row, companions, size, direction
        As in `oblique_direction`.
    gram_direction : (P, N) array
        Receives :math:`B^\top v`.
    curvature : (P,) array
        Receives :math:`v \cdot v`, never negative.
    """
    number_of_patterns, number_of_columns, _ = grams.shape
    for pattern in range(number_of_patterns):
        gram = grams[pattern]
        image = gram_direction[pattern]
        for column in range(number_of_columns):
            image[column] = gram[row, column]
        for index in range(size):
            companion = companions[index]
            for column in range(number_of_columns):
                image[column] -= direction[index] * gram[companion, column]
        square = image[row]
        for index in range(size):
            square -= direction[index] * image[companions[index]]
        curvature[pattern] = max(square, 0.0)
