"""How the kernels are compiled: as fast to compile as they can be, and kept for later processes."""

import atexit
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

import numba
from numba import njit
from numba.core import event as events

_log = logging.getLogger("pymc")


def _find_cache() -> bool:
    """Whether compiled kernels can be kept; in a temporary folder where nothing else is writable.

    The folder is a new one: whoever could write to it could have his own code run.
    """
    try:
        njit(cache=True)(_find_cache)
        return True
    except RuntimeError:
        # Neither next to the sources nor in the user's home, nor where NUMBA_CACHE_DIR says.
        nowhere = "pymc_bid: no folder for compiled kernels can be written to (NUMBA_CACHE_DIR)"
    try:
        folder = tempfile.mkdtemp(prefix="pymc_bid-")
    except OSError:
        _log.info(f"{nowhere}; every process compiles them anew")
        return False
    # Processes of chains find it by the variable.
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _log.info(f"{nowhere}; they are kept in {folder} until this process ends")
    return True


# Division by zero gives inf or nan, as in NumPy, instead of a test at every division.
kernel = partial(njit, cache=_find_cache(), error_model="numpy", no_cfunc_wrapper=True)
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
    _log.info(f"pymc_bid: compiling, once: about {USUAL_TIME} s")
