"""Holding Ctrl-C back while compiled code runs."""

# Not the public module, whose functions turn numbers into names and back: three steps in each
# iteration would pay for it.
import _signal
import threading
import time
from collections.abc import Callable
from functools import wraps
from types import FrameType

from pymc_bid.kernels.interrupts import GaveWay, waiting

AGAIN = 1.0
"""Seconds after which a repeated interrupt is another one, and is not held back any more: a key is
easily pressed twice, and programs that start others pass on what these got as well."""


def finish_before_interrupt(function: Callable) -> Callable:
    """Let a function end before an interrupt (SIGINT) that came in meanwhile is handled.

    Or let it get to where it gives way, in Python or in a kernel. If the handler lets the program
    go on, it starts again.

    A KeyboardInterrupt that is raised while numba loads or compiles a kernel leaves its registries
    in a state in which nothing can be loaded any more; and one that is raised while it takes a
    random generator apart, for a move of the user's own, ends the interpreter with a segmentation
    fault. A second interrupt does not wait.
    """

    @wraps(function)
    def finished(*arguments, **options):
        handler = _signal.getsignal(_signal.SIGINT)
        # Only the main thread handles signals, and it may be set to ignore this one.
        if (
            handler is _wait
            or not callable(handler)
            or threading.current_thread() is not threading.main_thread()
        ):
            return function(*arguments, **options)
        _signal.signal(_signal.SIGINT, _wait)
        gave_way = False
        try:
            result = function(*arguments, **options)
        except GaveWay:
            gave_way = True
        finally:
            _signal.signal(_signal.SIGINT, handler)
            is_waiting = bool(waiting)
            waiting.clear()
        if is_waiting:
            # Without a frame: here, between two pieces of work, it may raise what it likes.
            handler(_signal.SIGINT, None)
        return finished(*arguments, **options) if gave_way else result

    return finished


def _wait(number: int, frame: FrameType | None) -> None:
    waiting.append(time.monotonic())
    if waiting[-1] - waiting[0] > AGAIN:
        # What compilation leaves behind matters less to whoever presses twice.
        raise KeyboardInterrupt
