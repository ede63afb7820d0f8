r"""The noise variance of a set of columns: its density, the integral over it, and draws from it.

Everything is in :math:`x = \log σ²`, where the density (`NoiseDensity`) is smooth and as narrow as
:math:`\sqrt{2 / (M n)}`: its mode is found first, and the trapezoidal rule around it converges
faster than any power of the step. A table of the density on such a grid, log-linear in between, is
also a proposal that can be drawn from and whose density is known.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.compilation import part, spread

# Between two points of the rule, in standard deviations: for a normal density the error is
# 2 exp(-2π² / step²), 1e-9 for a step of 1; densities of few rows are skewed and need less.
STEP = 0.75
# Between two points of a table: log-linear pieces miss a normal density by step² / 8, 3 %.
TABLE_STEP = 0.5
# Beyond that, in logarithms of the density, a table goes on as an exponential.
TABLE_DROP = 10.0
# How far below its largest value the log density is left out: 1e-9 of the mass.
DROP = 21.0
MOST_POINTS = 200
_LARGEST_PRODUCT = 1e200


class NoiseTable(NamedTuple):
    """A proposal for x: log-linear between the points of a grid, exponential beyond them."""

    values: NDArray[np.float64]
    """Log density, not normalised, at the points."""
    heights: NDArray[np.float64]
    """The density there, as parts of the highest."""
    first: float
    step: float
    rising: float
    """Rate of the tail before the first point."""
    falling: float
    """Rate of the tail behind the last one."""
    highest: float
    log_mass: float
    """Log of the integral of all this."""


@part(fastmath={"reassoc", "contract"})
def log_noise_density(x, density):
    """Return the log density at x, see `NoiseDensity`."""
    variance = math.exp(x)
    inverse, explained, log_determinants = 1.0 / variance, 0.0, 0.0
    # Fields are read once: each time counts references to an array.
    targets, eigenvalues, products = density.targets, density.eigenvalues, density.explained
    for q in range(eigenvalues.shape[0]):
        if targets[q] == 0.0:
            continue
        for k in range(eigenvalues.shape[1]):
            explained += products[q, k] / (variance + eigenvalues[q, k])
        log_determinant, product = 0.0, 1.0
        for k in range(eigenvalues.shape[1]):
            # One logarithm for many factors.
            product *= 1.0 + eigenvalues[q, k] * inverse
            if product > _LARGEST_PRODUCT:
                log_determinant += math.log(product)
                product = 1.0
        log_determinants += targets[q] * (log_determinant + math.log(product))
    return -density.shape * x - density.scale * inverse - 0.5 * (explained + log_determinants)


@spread()
def noise_derivatives(x, density):
    """Return the first two derivatives of the log density at x."""
    variance = math.exp(x)
    first = density.scale / variance - density.shape
    second = -density.scale / variance
    targets, eigenvalues, products = density.targets, density.eigenvalues, density.explained
    for q in range(eigenvalues.shape[0]):
        half = 0.5 * targets[q]
        for k in range(eigenvalues.shape[1]):
            eigenvalue = eigenvalues[q, k]
            inverse = 1.0 / (variance + eigenvalue)
            pull = 0.5 * products[q, k] * variance * inverse * inverse
            share = half * eigenvalue * inverse
            first += pull + share
            second += (pull * (eigenvalue - variance) - share * variance) * inverse
    return first, second


@part()
def find_mode(density):
    """Return the mode of the log noise variance and the standard deviation there, at most 1.

    A coarse grid over all that can be, for there may be two modes, then Newton's method. With more
    columns than rows the mode may lie on a plateau, whose edges are no wider than 1.
    """
    lowest = math.log(density.scale / density.shape)
    free = density.shape - 0.5 * density.targets.sum() * density.eigenvalues.shape[1]
    most = density.scale + 0.5 * density.explained.sum()
    highest = math.log(most / max(free, 0.1 * density.shape))
    points = 2 + int(highest - lowest)
    width = (highest - lowest) / (points - 1)
    mode, best = lowest, -np.inf
    for i in range(points):
        value = log_noise_density(lowest + i * width, density)
        if value > best:
            mode, best = lowest + i * width, value
    deviation = 1.0
    for _ in range(30):
        first, second = noise_derivatives(mode, density)
        if second < 0.0:
            deviation = min(1.0 / math.sqrt(-second), 1.0)
            change = -first / second
        else:
            change = math.copysign(1.0, first)
        mode += min(max(change, -1.0), 1.0)
        if abs(change) < 0.01 * deviation:
            break
    return mode, deviation


@part()
def log_noise_integral(density):
    """Return the log of the integral of the density over x."""
    mode, deviation = find_mode(density)
    highest = log_noise_density(mode, density)
    step = STEP * deviation
    total = 1.0
    for direction in (-1.0, 1.0):
        for i in range(1, MOST_POINTS):
            value = log_noise_density(mode + direction * i * step, density) - highest
            total += math.exp(value)
            if value < -DROP:
                break
    return highest + math.log(total * step)


@part()
def tabulate_noise(density, grid):
    """Write the log density on a grid into `grid`, (2, MOST_POINTS), and return a proposal."""
    mode, deviation = find_mode(density)
    step, middle = TABLE_STEP * deviation, grid.shape[1] // 2
    highest = log_noise_density(mode, density)
    grid[0, middle], grid[1, middle] = highest, 1.0
    start, last, lowest = middle, middle, highest - TABLE_DROP
    while start > 0 and grid[0, start] >= lowest:
        start -= 1
        grid[0, start] = log_noise_density(mode + (start - middle) * step, density)
        grid[1, start] = math.exp(grid[0, start] - highest)
    while last < grid.shape[1] - 1 and grid[0, last] >= lowest:
        last += 1
        grid[0, last] = log_noise_density(mode + (last - middle) * step, density)
        grid[1, last] = math.exp(grid[0, last] - highest)
    values, heights = grid[0, start : last + 1], grid[1, start : last + 1]
    size = values.size
    rising = max((values[1] - values[0]) / step, 1e-3 / step)
    falling = max((values[size - 2] - values[size - 1]) / step, 1e-3 / step)
    total = heights[0] / rising + heights[size - 1] / falling
    for i in range(size - 1):
        total += step * piece_mass(values[i + 1] - values[i], heights[i], heights[i + 1])
    first = mode + (start - middle) * step
    log_mass = highest + math.log(total)
    return NoiseTable(values, heights, first, step, rising, falling, highest, log_mass)


@spread()
def piece_mass(slope, left, right):
    """Return the mass of a log-linear piece, 1 wide, of two heights and a difference of logs."""
    if abs(slope) < 1e-4:
        return 0.5 * (left + right)
    return (right - left) / slope


@part()
def draw_from_table(rng, table):
    """Draw x from the proposal."""
    values, heights, step = table.values, table.heights, table.step
    remaining = rng.random() * math.exp(table.log_mass - table.highest)
    mass = heights[0] / table.rising
    if remaining < mass:
        return table.first - rng.standard_exponential() / table.rising
    remaining -= mass
    for i in range(values.size - 1):
        slope = values[i + 1] - values[i]
        mass = step * piece_mass(slope, heights[i], heights[i + 1])
        if remaining < mass:
            share = remaining / mass
            if abs(slope) >= 1e-4:
                share = math.log1p(share * math.expm1(slope)) / slope
            return table.first + (i + share) * step
        remaining -= mass
    last = table.first + (values.size - 1) * step
    return last + rng.standard_exponential() / table.falling


@spread()
def log_table_density(x, table):
    """Return the log density of the proposal at x, normalised."""
    values = table.values
    place = (x - table.first) / table.step
    if place < 0.0:
        log_density = values[0] + table.rising * (x - table.first)
    elif place >= values.size - 1:
        last = table.first + (values.size - 1) * table.step
        log_density = values[values.size - 1] - table.falling * (x - last)
    else:
        i = int(place)
        log_density = values[i] + (place - i) * (values[i + 1] - values[i])
    return log_density - table.log_mass
