"""How the kernels are compiled: as fast to compile as they can be, and kept for later processes."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

from numba import njit
from numba.core import event as events

# Division by zero gives inf or nan, as in NumPy, instead of a test at every division.
kernel = partial(njit, cache=True, error_model="numpy", no_cfunc_wrapper=True)
"""Compile a function that Python calls. Decorate with ``@kernel()``."""

part = partial(kernel, no_cpython_wrapper=True)
"""Compile a function that only kernels call, without the code that Python needs to call it."""

spread = partial(part, inline="always")
"""The same for functions compiled only as a part of those that call them. A function of its
own is optimised again with each one that calls it, by whatever way; a large one is better off so
all the same, since what it takes to compile grows faster than its size."""

USUAL_TIME = 30
"""Seconds that it takes to compile what the quickstart needs. Empty cache, runs on two cores, 2.5
GHz, PyMC 6.3: `pm.sample` with 200 draws took 23 to 27, while the machine was slow 37 to 40."""


class CompilationNeeded(Exception):
    """Something that is not in numba's cache is about to be compiled."""


class _Guard(events.Listener):
    """Raises before a function of this package is compiled in a thread."""

    def __init__(self):
        self.thread = threading.get_ident()

    def on_start(self, event: events.Event) -> None:
        """Raise, unless the function is somebody else's or another thread's."""
        # A function made by `exec` may have no module.
        module = event.data["dispatcher"].py_func.__module__ or ""
        if module.partition(".")[0] == "pymc_bid" and self.thread == threading.get_ident():
            raise CompilationNeeded

    def on_end(self, event: events.Event) -> None:
        """Do nothing."""


@contextmanager
def from_cache_only() -> Iterator[None]:
    """Raise `CompilationNeeded` within, instead of compiling a kernel."""
    guard = _Guard()
    events.register("numba:compile", guard)
    try:
        yield
    finally:
        events.unregister("numba:compile", guard)


@cache
def announce() -> None:
    """Tell the user, once in a process, that something is compiled and how long that takes."""
    logging.getLogger("pymc").info(f"pymc_bid: compiling, once: about {USUAL_TIME} s")
