"""Functions that kernels call by address, which rests on how numba's functions call each other."""

import pickle
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import types
from numpy.typing import NDArray

from pymc_bid.kernels.by_address import ByAddress, keep_address_out
from pymc_bid.kernels.by_reference import by_reference, type_by_reference


class Data(NamedTuple):
    values: NDArray
    factor: float


class Task(NamedTuple):
    data: Data
    address: int


@partial(ByAddress, types.Tuple((types.float64, types.float64[::1])))
def scaled(first, values, data):
    return data.factor * values[first], data.factor * data.values + values


keep_address_out(Task, scaled)
call = scaled.call
DATA = Data(np.arange(3.0), 2.0)
KINDS = (types.int64, types.float64[::1], type_by_reference(numba.typeof(DATA)))


@numba.njit
def go_through(number, values, task):
    data, total = by_reference(task.data), np.zeros(values.size)
    for first in range(number):
        one, array = call(task.address, (first % values.size, values, data))
        # Memory of what is gone is used again: a reference too few would show.
        np.full(values.size, 7.0)
        total += one + array
    return total


def test_arguments_and_results_are_passed():
    values = np.array([1.0, 0.5, -3.0])
    expected = 3 * (2 * DATA.values + values) + 2 * values.sum()
    found = go_through(3, values, Task(DATA, scaled.address(*KINDS)))
    np.testing.assert_array_equal(found, expected)
    go_through(10_000, values, Task(DATA, scaled.address(*KINDS)))
    np.testing.assert_array_equal(
        go_through(3, values, Task(DATA, scaled.address(*KINDS))), expected
    )


def test_other_types_than_those_of_the_function_are_refused():
    @numba.njit
    def wrong(task):
        return call(task.address, (0, np.zeros(2, np.int64), by_reference(task.data)))

    with pytest.raises(numba.TypingError, match="No function was asked for"):
        wrong(Task(DATA, scaled.address(*KINDS)))


def test_exceptions_are_passed_on():
    def root(number):
        if number < 0.0:
            raise ValueError("negative")
        return np.sqrt(number)

    function = ByAddress(types.float64, root)
    kernel_call = function.call

    @numba.njit
    def go(address, number):
        return 1.0 + kernel_call(address, (number,))

    address = function.address(types.float64)
    assert go(address, 4.0) == 3.0
    with pytest.raises(ValueError, match="negative"):
        go(address, -1.0)


def test_another_result_is_refused():
    def whole(number):
        return number

    with pytest.raises(TypeError, match="returns int64"):
        ByAddress(types.float64, whole).address(types.int64)


def test_an_address_is_not_pickled(monkeypatch):
    task = Task(DATA, scaled.address(*KINDS))
    text = pickle.dumps(task)
    # As in another process, where the function is somewhere else.
    monkeypatch.setitem(scaled._addresses, KINDS, 17)
    assert pickle.loads(text).address == 17
    np.testing.assert_array_equal(pickle.loads(text).data.values, DATA.values)


def test_a_function_that_is_postponed_has_no_address():
    def twice(number):
        return 2.0 * number

    function = ByAddress(types.float64, twice)
    call_twice = function.call

    @numba.njit
    def go(address):
        return call_twice(address, (1.5,))

    with function.postponed():
        assert function.address(types.float64) == 0
    with pytest.raises(RuntimeError, match="not compiled"):
        go(0)
    assert go(function.address(types.float64)) == 3.0
