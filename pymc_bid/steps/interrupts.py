"""Holding Ctrl-C back while compiled code runs."""

# Not the public module, whose functions turn numbers into names and back: three steps in each
# iteration would pay for it.
import _signal
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any


def finish_before_interrupt(function: Callable) -> Callable:
    """Let a function end before an interrupt (SIGINT) that came in meanwhile is handled.

    A KeyboardInterrupt that is raised while numba loads or compiles a kernel leaves its registries
    in a state in which nothing can be loaded any more; and one that is raised while it takes a
    random generator apart, for a move of the user's own, ends the interpreter with a segmentation
    fault.
    """

    @wraps(function)
    def finished(*arguments, **options):
        handler = _signal.getsignal(_signal.SIGINT)
        # Only the main thread handles signals, and it may be set to ignore this one.
        if not callable(handler) or threading.current_thread() is not threading.main_thread():
            return function(*arguments, **options)
        waiting: list[tuple[int, Any]] = []
        _signal.signal(_signal.SIGINT, lambda *received: waiting.append(received))
        try:
            result = function(*arguments, **options)
        finally:
            _signal.signal(_signal.SIGINT, handler)
        if waiting:
            handler(*waiting[0])
        return result

    return finished
