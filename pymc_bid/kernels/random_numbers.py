"""Random generators in the form in which kernels take them: a few addresses, not a Python object.

numba takes a `numpy.random.Generator` apart in Python, which costs more than drawing a thousand
normals, at every call of a kernel. What it needs are four addresses, which can be passed as such.
"""

import ctypes
from collections.abc import Callable
from functools import update_wrapper

import numpy as np
from numba import typeof
from numba.core import cgutils, types
from numba.extending import intrinsic

from pymc_bid.kernels.compilation import kernel

Stream = tuple[int, ...]
"""Addresses of a bit generator's state and of its functions next_double, _uint64 and _uint32."""

_FUNCTIONS = ("next_double", "next_uint64", "next_uint32")
_functions_of: dict[type, tuple[int, ...]] = {}


def stream_of(rng: np.random.Generator) -> Stream:
    """Return the addresses of a generator, which has to be kept alive while they are in use."""
    bit_generator = rng.bit_generator
    kind = type(bit_generator)
    if kind not in _functions_of:
        interface = bit_generator.ctypes
        pointers = [ctypes.cast(getattr(interface, name), ctypes.c_void_p) for name in _FUNCTIONS]
        _functions_of[kind] = tuple(pointer.value or 0 for pointer in pointers)
    return (bit_generator.ctypes.state_address, *_functions_of[kind])


@intrinsic
def generator_at(typing_context, stream):
    """Inside a kernel, return the generator with these addresses."""
    generator_type = types.NumPyRandomGeneratorType("generator")
    bit_generator_type = types.NumPyRandomBitGeneratorType("bit_generator")

    def generate(context, builder, signature, arguments):
        state, *functions = cgutils.unpack_tuple(builder, arguments[0])
        bit_generator = cgutils.create_struct_proxy(bit_generator_type)(context, builder)
        bit_generator.state_address = bit_generator.state = state
        for name, address in zip(_FUNCTIONS, functions, strict=True):
            setattr(bit_generator, f"fnptr_{name}", address)
        # Without a Python object that it belongs to: a generator is never returned to Python.
        generator = cgutils.create_struct_proxy(generator_type)(context, builder)
        generator.bit_generator = bit_generator._getvalue()
        return generator._getvalue()

    return generator_type(stream), generate


class random_kernel:
    """Compile a function that Python calls with a generator as its first argument.

    The function itself receives a `Stream`, and makes a generator of it by `generator_at`.

    Attributes
    ----------
    compiled : function
        What other kernels call, with a `Stream`.
    """

    def __init__(self, function: Callable):
        self.compiled = kernel()(function)
        update_wrapper(self, function)

    def __call__(self, rng: np.random.Generator, *arguments):
        """Call the compiled function."""
        return self.compiled(stream_of(rng), *arguments)

    def compile_for(self, rng: np.random.Generator, *arguments) -> None:
        """Compile the function for such arguments, without calling it."""
        self.compiled.compile(tuple(typeof(value) for value in (stream_of(rng), *arguments)))
