"""How the kernels are compiled: as fast to compile as they can be, and kept for later processes."""

from functools import partial

from numba import njit

# Division by zero gives inf or nan, as in NumPy, instead of a test at every division.
_options = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}

kernel = partial(njit, **_options)
"""Compile a function that Python calls. Decorate with ``@kernel()``."""

part = partial(njit, **_options, no_cpython_wrapper=True)
"""Compile a function that only kernels call, without the code that Python needs to call it."""

inlined = partial(njit, **_options, no_cpython_wrapper=True, forceinline=True)
"""The same for small functions of large named tuples: a call counts references to every array in
them, which takes about as long as a thousand products."""
