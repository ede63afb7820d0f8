"""Named tuples by reference, which rest on what numba calls experimental."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.by_reference import by_reference, copy_into


class Inner(NamedTuple):
    values: NDArray
    size: int


class Outer(NamedTuple):
    inner: Inner
    pair: NDArray
    is_new: bool


@numba.njit
def made_inside(number):
    """What a function makes, writes to and returns."""
    inner = by_reference(Inner(np.zeros(number), 0))
    copy_into(np.arange(3.0), inner.values)
    inner.size += 3
    return inner


@numba.njit
def grow(inner):
    values = np.zeros(2 * inner.values.size)
    copy_into(inner.values, values)
    inner.values = values


@numba.njit
def go_through(outer):
    outer = by_reference(outer)
    again = by_reference(outer)
    for _ in range(3):
        # Memory of what is gone is used again: a reference too few would show.
        grow(outer.inner)
        np.ones(outer.inner.values.size)
    again.inner.size += 1
    again.is_new = not again.is_new
    own = made_inside(5)
    grow(own)
    return outer.inner.values.copy(), outer.inner.size, outer.is_new, own.values.copy(), own.size


def test_held_tuples_are_shared_and_live_as_long_as_somebody_looks_at_them():
    values = np.arange(1.0, 5.0)
    for _ in range(1000):
        given = Outer(Inner(values, 7), np.ones(2), True)
        found, size, is_new, own, own_size = go_through(given)
        np.testing.assert_array_equal(found, np.append(np.arange(1.0, 5.0), np.zeros(28)))
        assert (size, is_new, own_size) == (8, False, 3)
        np.testing.assert_array_equal(own, [0, 1, 2, 0, 0, 0, 0, 0, 0, 0])
    # The named tuple that Python has is as it was.
    assert (given.inner.size, given.is_new) == (7, True)
    np.testing.assert_array_equal(given.inner.values, np.arange(1.0, 5.0))
