"""How the kernels are compiled: as fast to compile as they can be, and kept for later processes."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from numba import njit
from numba.core import event as events

# Division by zero gives inf or nan, as in NumPy, instead of a test at every division.
_options = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}

kernel = partial(njit, **_options)
"""Compile a function that Python calls. Decorate with ``@kernel()``."""

part = partial(njit, **_options, no_cpython_wrapper=True)
"""Compile a function that only kernels call, without the code that Python needs to call it."""

spread = partial(njit, **_options, no_cpython_wrapper=True, inline="always")
"""The same for functions compiled only as a part of those that call them. A function of its
own is optimised again with each one that calls it, by whatever way; a large one is better off so
all the same, since what it takes to compile grows faster than its size."""

USUAL_TIME = 45
"""Seconds that it takes to compile what the quickstart needs. Empty cache, one run on two cores at
2.5 GHz, PyMC 6.3: numba's compile events add up to 43 s, `pm.sample` with 200 draws took 45."""


class _Announcement(events.Listener):
    """Says before the first compilation of a process that there is one, and how long it takes."""

    def __init__(self):
        self._is_made = False

    def on_start(self, event: events.Event) -> None:
        """Say it, unless that was done or the function is somebody else's."""
        module = event.data["dispatcher"].py_func.__module__
        if not self._is_made and module.partition(".")[0] == "pymc_bid":
            self._is_made = True
            logging.getLogger("pymc").info(f"pymc_bid: compiling, once: about {USUAL_TIME} s")

    def on_end(self, event: events.Event) -> None:
        """Do nothing."""


_announcement = _Announcement()


@contextmanager
def announced() -> Iterator[None]:
    """Tell the user if something is compiled within; what comes from the cache is not."""
    events.register("numba:compile", _announcement)
    try:
        yield
    finally:
        events.unregister("numba:compile", _announcement)
