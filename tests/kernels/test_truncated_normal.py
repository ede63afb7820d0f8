"""The truncated normal over a grid of hard cases, against references of 60 digits and more."""

import faulthandler
import math
import sys

import mpmath
import numpy as np
import pytest
from numba import njit
from scipy import stats

from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass

INF = math.inf
LARGEST = sys.float_info.max
SMALLEST = 5e-324

# Means are given in standard deviations from the bound they are outside of, so that a case reads as
# what it tests: (name, mean, precision, lower, upper).
CASES = [
    ("untruncated", 3.0, 4.0, -INF, INF),
    ("hardly truncated", 0.3, 1e6, -1.0, 1.0),
    ("standard in unit bounds", 0.0, 1.0, -1.0, 1.0),
    ("standard in weaker bounds", 0.0, 1.0, -2.0, 2.0),
    ("mean off centre", 0.7, 9.0, -1.0, 1.0),
    ("mean on the lower bound, wide", -1.0, 1e4, -1.0, 1.0),
    ("mean on the upper bound, narrow", 1.0, 0.1, -1.0, 1.0),
    ("tie of normal and uniform", -1.0, math.pi / 2.0 * (1.0 + 1e-12), -1.0, 1.0),
    ("nearly uniform", 0.2, 1e-12, -1.0, 1.0),
    ("uniform", 0.2, 0.0, -1.0, 1.0),
    ("smallest precision", 0.2, SMALLEST, -1.0, 1.0),
    ("tiny precision, half line", 0.0, 1e-300, 1.0, INF),
    ("huge precision, mean inside", 0.0, 1e300, -1e-150, 1e-150),
    ("huge precision, mean outside", -3e-150, 1e300, 0.0, 1e-150),
    ("interval of 1e-12 of a standard deviation", 0.0, 1.0, 1.0, 1.0 + 1e-12),
    ("very wide", 1e9, 1e-18, -1e12, 1e10),
    ("huge mean and bounds", 1e150, 1e-300, -1e150, 1e300),
    ("steep over a short interval", -30.0, 1.0, 0.0, 0.1),
    ("fall of the log density at the change of proposals", -10.0, 1.0, 0.0, 0.1489),
]
for distance in (0.05, 0.4, 0.499, 0.501, 0.9, 3.0, 12.0, 40.0, 1e4, 1e8, 1e15, 1e100):
    for precision in (1.0, 1e-6, 1e8):
        deviation = 1.0 / math.sqrt(precision)
        mean = -distance * deviation
        short = deviation / max(1.0, distance)
        CASES.append((f"{distance:g} below, {precision:g}, half line", mean, precision, 0.0, INF))
        CASES.append((f"{distance:g} below, {precision:g}, short", mean, precision, 0.0, short))
        CASES.append((f"{distance:g} above, {precision:g}, half line", -mean, precision, -INF, 0.0))
        CASES.append(
            (f"{distance:g} above, {precision:g}, wide", -mean, precision, -deviation, 0.0)
        )
CASES += [
    ("1e8 below unit bounds", -1.0 - 1e8, 1.0, -1.0, 1.0),
    ("1e8 above unit bounds", 1.0 + 1e8, 1.0, -1.0, 1.0),
    ("1e5 above unit bounds, small deviation", 1.0 + 1e2, 1e6, -1.0, 1.0),
]

# Shared by the cases: each of them may fail with a probability of at most this.
ERROR = 1e-4 / len(CASES)


@pytest.fixture(scope="module", autouse=True)
def watchdog():
    """End the process if a rejection loop does not: it would hold the interpreter's lock."""
    faulthandler.dump_traceback_later(120, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@njit
def _draw_each(rng, means, precisions, lowers, uppers):
    draws = np.empty(means.size)
    for i in range(means.size):
        draws[i] = draw_truncated_normal(rng, means[i], precisions[i], lowers[i], uppers[i])
    return draws


def _draw(seed, size, *arguments):
    return _draw_each(
        np.random.default_rng(seed), *(np.full(size, float(argument)) for argument in arguments)
    )


def _exact_mass(mean, precision, lower, upper):
    """Mass of the interval and of its complement, in multiple precision."""
    mean, lower, upper = mpmath.mpf(mean), mpmath.mpf(lower), mpmath.mpf(upper)
    root = mpmath.sqrt(mpmath.mpf(precision) / 2)
    near, far = (lower - mean) * root, (upper - mean) * root
    if near + far < 0:
        near, far = -far, -near
    outside = (mpmath.erfc(-near) + mpmath.erfc(far)) / 2
    if near > 1:
        inside = (mpmath.erfc(near) - mpmath.erfc(far)) / 2
    else:
        inside = (mpmath.erf(far) - mpmath.erf(near)) / 2
    return inside, outside


def _enough_digits(mean, precision, lower, upper):
    """Set digits that survive the subtraction of nearly equal tails far from the mean."""
    nearest = min(abs(lower - mean), abs(upper - mean)) * math.sqrt(precision)
    lost = 4 * int(math.log10(nearest)) if 1.0 < nearest < INF else 0
    return mpmath.workdps(60 + lost)


def _exact_log_mass(*arguments):
    with _enough_digits(*arguments):
        inside, outside = _exact_mass(*arguments)
        return mpmath.log1p(-outside) if outside < 0.5 else mpmath.log(inside)


def _exact_cdf(points, mean, precision, lower, upper):
    if precision == 0.0:
        return (points - lower) / (upper - lower)
    with _enough_digits(mean, precision, lower, upper):
        whole = _exact_mass(mean, precision, lower, upper)[0]
        return np.array(
            [float(_exact_mass(mean, precision, lower, point)[0] / whole) for point in points]
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_draws_follow_the_exact_distribution(case):
    _, *arguments = case
    lower, upper = arguments[2:]
    size = 40_000
    draws = np.sort(_draw(CASES.index(case), size, *arguments))
    assert lower < draws[0] and draws[-1] < upper
    # The distance at some of the order statistics, a lower bound of Kolmogorov's statistic.
    ranks = np.linspace(0, size - 1, 40).astype(int)
    exact = _exact_cdf(draws[ranks], *arguments)
    distance = np.max(np.abs(exact - (ranks + 0.5) / size))
    assert distance < stats.kstwobign.isf(ERROR) / math.sqrt(size)


def test_draws_are_reproducible_and_advance_the_generator():
    first = _draw(1, 100, 0.0, 1.0, -1.0, 1.0)
    np.testing.assert_array_equal(first, _draw(1, 100, 0.0, 1.0, -1.0, 1.0))
    assert np.unique(first).size == 100


def test_wild_arguments_give_a_number_inside():
    rng = np.random.default_rng(2)
    size = 200_000

    def wild(exponent):
        return rng.choice([-1.0, 1.0], size) * 10.0 ** rng.uniform(-exponent, exponent, size)

    mean = np.where(rng.random(size) < 0.1, 0.0, wild(307.5))
    precision = np.abs(wild(307.5))
    precision[rng.random(size) < 0.02] = SMALLEST
    precision[rng.random(size) < 0.02] = LARGEST
    bounds = np.sort([wild(307.5), wild(307.5)], axis=0)
    # Some intervals hold the mean or end at it, some are only a few numbers wide.
    around = rng.random(size) < 0.3
    bounds[:, around] = mean[around]
    for _ in range(3):
        bounds[0] = np.where(
            around & (rng.random(size) < 0.5), np.nextafter(bounds[0], -INF), bounds[0]
        )
        bounds[1] = np.where(
            around & (rng.random(size) < 0.5), np.nextafter(bounds[1], INF), bounds[1]
        )
    bounds[0, rng.random(size) < 0.1] = -INF
    bounds[1, rng.random(size) < 0.1] = INF
    lower, upper = bounds

    draws = _draw_each(rng, mean, precision, lower, upper)
    masses = np.array(
        [log_interval_mass(*row) for row in zip(mean, precision, lower, upper, strict=True)]
    )

    roomy = np.nextafter(lower, upper) < upper
    assert np.all(np.isfinite(draws))
    assert np.all((lower <= draws) & (draws <= upper))
    assert np.all((lower < draws) & (draws < upper) | ~roomy)
    assert not np.any(np.isnan(masses))
    assert np.all(masses <= 0.0)


@pytest.mark.parametrize(
    ("arguments", "low", "high"),
    [
        ((0.0, 1.0, 0.5, 0.5), 0.5, 0.5),
        ((0.0, 1.0, 1.0, np.nextafter(1.0, 2.0)), 1.0, np.nextafter(1.0, 2.0)),
        ((-1e200, 1e300, 0.0, 1.0), SMALLEST, SMALLEST),
        ((-1e308, 1.0, 1e308, LARGEST), np.nextafter(1e308, INF), np.nextafter(1e308, INF)),
        ((LARGEST, 1e-300, -INF, -LARGEST / 2), -LARGEST, -LARGEST / 2),
        ((7.0, INF, -1.0, 1.0), np.nextafter(1.0, 0.0), np.nextafter(1.0, 0.0)),
        ((0.25, INF, -1.0, 1.0), 0.25, 0.25),
        ((0.0, 0.0, -LARGEST, LARGEST), -LARGEST, LARGEST),
    ],
)
def test_degenerate_intervals(arguments, low, high):
    draws = _draw(3, 1000, *arguments)
    assert np.all((low <= draws) & (draws <= high))


@pytest.mark.parametrize("position", range(4))
def test_nan_in_gives_nan_out(position):
    arguments = [0.0, 1.0, -1.0, 1.0]
    arguments[position] = math.nan
    assert math.isnan(draw_truncated_normal(np.random.default_rng(4), *arguments))
    assert math.isnan(log_interval_mass(*arguments))


@pytest.mark.parametrize(
    "arguments",
    [(0.0, 1.0, 1.0, -1.0), (0.0, -1.0, -1.0, 1.0), (0.0, 0.0, -1.0, INF), (INF, 1.0, -INF, INF)],
)
def test_no_such_distribution_gives_nan(arguments):
    assert math.isnan(draw_truncated_normal(np.random.default_rng(5), *arguments))


def _assert_log_mass(*arguments):
    exact = _exact_log_mass(*arguments)
    if exact < -LARGEST:
        assert log_interval_mass(*arguments) == -INF
    else:
        # A logarithm of -1e-100 is nothing in any sum.
        error = abs(log_interval_mass(*arguments) - exact)
        assert error <= 1e-13 * abs(exact) + 1e-100, arguments


def test_log_mass_of_the_grid():
    for _, mean, precision, lower, upper in CASES:
        if precision > 0.0:
            _assert_log_mass(mean, precision, lower, upper)


def test_log_mass_at_random():
    rng = np.random.default_rng(6)
    for _ in range(1500):
        deviation = 10.0 ** rng.uniform(-3, 3)
        lower = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-3, 3.5) * deviation
        upper = lower + rng.choice([10.0 ** rng.uniform(-14, 3), INF]) * deviation
        if rng.random() < 0.5:
            lower, upper = -upper, -lower
        if lower < upper:
            _assert_log_mass(0.0, deviation**-2, lower, upper)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0.0, 1.0, -INF, INF), 0.0),
        ((0.0, 1.0, 0.0, INF), math.log(0.5)),
        ((0.0, 1.0, 2.0, 2.0), -INF),
        ((0.0, 0.0, -1.0, 1.0), -INF),
        ((0.0, 0.0, -1.0, INF), math.log(0.5)),
        ((0.0, 0.0, -INF, INF), 0.0),
        ((0.0, INF, -1.0, 1.0), 0.0),
        ((1.0, INF, -1.0, 1.0), math.log(0.5)),
        ((2.0, INF, -1.0, 1.0), -INF),
        ((-1e200, 1e300, 0.0, 1.0), -INF),
        ((-1e308, 1.0, 1e308, LARGEST), -INF),
        # Narrower than the smallest number once it is put in standard deviations.
        (
            (0.0, 1e-300, -1e-200, 1e-200),
            math.log(2e-200) - 150 * math.log(10) - 0.5 * math.log(2 * math.pi),
        ),
    ],
)
def test_log_mass_at_the_limits(arguments, expected):
    assert log_interval_mass(*arguments) == pytest.approx(expected, rel=1e-13)
