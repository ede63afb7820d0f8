r"""The general truncated normal (GTN): exact draws, and the logarithm of the mass of its interval.

The parent normal is given by its mean :math:`m` and its *precision* :math:`t` (inverse variance),
the interval by ``lower`` and ``upper``, each of which may be infinite:

.. math::

    p(y) \propto \exp\{-t (y - m)^2 / 2\}, \qquad \text{lower} < y < \text{upper}.
"""

import math

import numpy as np

from pymc_bid.kernels.compilation import kernel, part, spread

_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF = math.sqrt(0.5)

# Where one proposal takes over from the next. At every point the acceptance is at least 0.49.
WIDE_SQUARED = 2.0 * math.pi  # squared width, in standard deviations, where normal and uniform tie
_STEEP = 1.5  # fall of the log density over the interval from which an exponential pays
_NEAR = 0.5  # distance of the mean, in standard deviations, below which a folded normal pays
_FAR = 1e8  # distance from which the density is an exponential to the last bit

# A call hands over the generator, whose reference counts cost as much as the draw: the innermost
# function of every sweep is inlined by the compiler.
_inlined = kernel(forceinline=True)


@_inlined
def draw_truncated_normal(rng, mean, precision, lower, upper):
    r"""Draw from a normal truncated to an interval, exactly, by rejection.

    Four proposals, each where it is accepted at least about half of the time:

    * mean inside, wide interval: the parent normal itself;
    * nearly flat density: a uniform on the interval, accepted with :math:`p(y) / \max p`;
    * mean a little outside: the folded normal, :math:`|z|` beyond the nearer bound;
    * mean farther outside, by :math:`\alpha` standard deviations: a translated exponential of rate
      :math:`\lambda = (\alpha + \sqrt{\alpha^2 + 4}) / 2` (Robert, 1995), whose offset :math:`x`
      from the nearer bound is accepted with :math:`\exp\{-(x - 1/\lambda)^2 / 2\}`.

    With the mean outside, the draw is the nearer bound plus an offset and never
    :math:`m + x / \sqrt t`, so that nothing cancels however far away the mean is.

    Parameters
    ----------
    rng : numpy.random.Generator
    mean, precision : float
        Of the parent normal. A precision of 0 is the uniform distribution on a bounded interval, an
        infinite precision the point of the interval nearest to the mean.
    lower, upper : float
        Bounds, possibly infinite.

    Returns
    -------
    float
        Strictly between the bounds wherever a floating-point number lies there; nan if an argument
        is nan, the bounds are reversed, or there is no such distribution.
    """
    if not (lower < upper and 0.0 < precision < np.inf and -np.inf < mean < np.inf):
        return _draw_degenerate(rng, mean, precision, lower, upper)
    width = upper - lower

    if lower <= mean <= upper:
        # Both factors in turn: the square of the width alone could overflow or underflow.
        if precision * width * width >= WIDE_SQUARED:
            deviation = 1.0 / math.sqrt(precision)
            while True:
                draw = mean + deviation * rng.standard_normal()
                if lower <= draw <= upper:
                    return _keep_inside(draw, lower, upper)
        while True:
            draw = lower + width * rng.random()
            distance = draw - mean
            if rng.standard_exponential() >= 0.5 * precision * distance * distance:
                return _keep_inside(draw, lower, upper)

    if mean < lower:
        offset = _draw_offset(rng, lower - mean, precision, width)
        return _keep_inside(lower + offset, lower, upper)
    offset = _draw_offset(rng, mean - upper, precision, width)
    return _keep_inside(upper - offset, lower, upper)


@part()
def _draw_offset(rng, distance, precision, width):
    r"""Draw how far inside the nearer bound a draw lies when the mean is outside the interval.

    The density is :math:`\propto \exp\{-t (d x + x^2 / 2)\}` on :math:`0 < x <` ``width``, with
    :math:`d > 0` the distance of the mean from the bound.
    """
    if precision * width * (distance + 0.5 * width) <= _STEEP:
        while True:
            offset = width * rng.random()
            if rng.standard_exponential() >= precision * offset * (distance + 0.5 * offset):
                return offset

    root = math.sqrt(precision)
    distance *= root
    width *= root
    if distance < _NEAR:
        while True:
            offset = abs(rng.standard_normal()) - distance
            if 0.0 <= offset <= width:
                return offset / root

    # Beyond _FAR the square root is the distance itself, and squaring could overflow.
    rate = distance
    if distance < _FAR:
        rate = 0.5 * (distance + math.sqrt(distance * distance + 4.0))
    scale = 1.0 / rate
    while True:
        offset = scale * rng.standard_exponential()
        excess = offset - scale
        if offset <= width and rng.standard_exponential() >= 0.5 * excess * excess:
            return offset / root


@spread()
def _keep_inside(draw, lower, upper):
    """Move a draw that was rounded onto a bound to the next number inside."""
    if draw <= lower:
        return np.nextafter(lower, upper)
    if draw >= upper:
        return np.nextafter(upper, lower)
    return draw


@spread()
def _draw_degenerate(rng, mean, precision, lower, upper):
    """Draw where the density is flat or a point mass; nan where there is no distribution."""
    if math.isnan(mean) or math.isnan(precision) or precision < 0.0:
        return np.nan
    if lower == upper:
        return lower
    if not lower < upper:
        return np.nan
    if precision == 0.0:
        if math.isinf(lower) or math.isinf(upper):
            return np.nan
        share = rng.random()
        # Not lower + share * width: the width of the whole number line overflows.
        return _keep_inside(lower * (1.0 - share) + upper * share, lower, upper)
    draw = min(max(mean, lower), upper)
    if math.isinf(draw):
        return np.nan
    return _keep_inside(draw, lower, upper)


@kernel()
def log_interval_mass(mean, precision, lower, upper):
    r"""Logarithm of the mass that a normal puts on an interval.

    .. math::

        \log [\Phi((\text{upper} - m) \sqrt t) - \Phi((\text{lower} - m) \sqrt t)]

    After a reflection the interval :math:`(\alpha, \beta)`, in standard deviations from the mean,
    is the one with :math:`|\alpha| \le \beta`. Each case then subtracts only what differs:

    * narrow: the Hermite expansion about the midpoint :math:`c`, with :math:`h` half the width,
      :math:`2 h \varphi(c) \sum_k \mathrm{He}_{2k}(c)\, h^{2k} / (2k + 1)!`;
    * mean inside: ``log1p`` of minus both tails, or the sum of two ``erf``;
    * mean outside: the difference of two ``erfc``, and beyond their underflow the asymptotic series
      of the upper tail.

    Parameters
    ----------
    mean, precision : float
        Of the normal.
    lower, upper : float
        Bounds, possibly infinite.

    Returns
    -------
    float
        Minus infinity for an empty interval; nan if an argument is nan or the bounds are reversed.
    """
    if not (lower < upper and 0.0 < precision < np.inf and -np.inf < mean < np.inf):
        return _log_mass_degenerate(mean, precision, lower, upper)
    root = math.sqrt(precision)
    near = (lower - mean) * root
    far = (upper - mean) * root
    if near + far < 0.0:
        near, far = -far, -near
    if near < -39.0:
        return 0.0
    width = (upper - lower) * root

    if width <= 1.0:
        centre = near + 0.5 * width
        if width * centre <= 1.0:
            # The width as a sum of logarithms: the product may have underflowed.
            return (
                math.log(upper - lower)
                + 0.5 * math.log(precision)
                - _LOG_SQRT_TWO_PI
                - 0.5 * centre * centre
                + math.log(_hermite_sum(centre, 0.5 * width))
            )
    if near <= 0.0 and width <= 2.0:
        return math.log(0.5 * (math.erf(far * _SQRT_HALF) - math.erf(near * _SQRT_HALF)))
    if near < 35.0:
        near_tail = math.erfc(abs(near) * _SQRT_HALF)
        # erfc is what the time goes into: none for a tail which is lost against the other one.
        far_tail = math.erfc(far * _SQRT_HALF) if far * far - near * near < 80.0 else 0.0
        if near <= 0.0:
            return math.log1p(-0.5 * (near_tail + far_tail))
        return math.log(0.5 * (near_tail - far_tail))

    # far² - near² without its cancellation.
    fall = width * (near + 0.5 * width)
    log_mass = -0.5 * near * near - math.log(near) - _LOG_SQRT_TWO_PI
    tail = _tail_series(near)
    if fall < 50.0:
        tail -= math.exp(-fall) * (near / far) * _tail_series(far)
    return log_mass + math.log(tail)


@spread()
def _hermite_sum(centre, half):
    r"""Sum :math:`\sum_k \mathrm{He}_{2k}(c)\, h^{2k} / (2k + 1)!` for :math:`h, c h \le 1/2`.

    The terms :math:`c_n = \mathrm{He}_n(c)\, h^n / n!` follow from
    :math:`c_{n+1} = (c h\, c_n - h^2 c_{n-1}) / (n + 1)`.
    """
    product = centre * half
    square = half * half
    total = 1.0
    even, odd = 1.0, product
    for n in range(2, 18, 2):
        even = (product * odd - square * even) / n
        odd = (product * even - square * odd) / (n + 1)
        total += even / (n + 1)
    return total


@spread()
def _tail_series(x):
    r"""Asymptotic series of :math:`x\, [1 - \Phi(x)] / \varphi(x)`, for :math:`x \ge 35`."""
    s = 1.0 / (x * x)
    return 1.0 - s * (1.0 - 3.0 * s * (1.0 - 5.0 * s * (1.0 - 7.0 * s * (1.0 - 9.0 * s))))


@spread()
def _log_mass_degenerate(mean, precision, lower, upper):
    """Logarithm of the mass for a precision of 0 or infinity, an empty interval, or nan."""
    if math.isnan(mean) or math.isnan(precision) or precision < 0.0 or math.isinf(mean):
        return np.nan
    if lower == upper:
        return -np.inf
    if not lower < upper:
        return np.nan
    if precision == 0.0:
        # Half of the mass lies on each side of the mean, none of it at a finite distance.
        infinite = math.isinf(lower) + math.isinf(upper)
        return math.log(0.5 * infinite) if infinite > 0 else -np.inf
    if lower < mean < upper:
        return 0.0
    return math.log(0.5) if mean == lower or mean == upper else -np.inf
