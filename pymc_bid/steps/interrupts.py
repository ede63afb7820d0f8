"""Holding Ctrl-C back while compiled code runs."""

import signal
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any


def finish_before_interrupt(function: Callable) -> Callable:
    """Let a function end before an interrupt (SIGINT) that came in meanwhile is handled.

    numba does not look for exceptions while it takes a random generator apart, so a
    KeyboardInterrupt that is raised there ends the whole interpreter with a segmentation fault.
    """

    @wraps(function)
    def finished(*arguments, **options):
        handler = signal.getsignal(signal.SIGINT)
        # Only the main thread handles signals, and it may be set to ignore this one.
        if not callable(handler) or threading.current_thread() is not threading.main_thread():
            return function(*arguments, **options)
        waiting: list[tuple[int, Any]] = []
        signal.signal(signal.SIGINT, lambda *received: waiting.append(received))
        try:
            result = function(*arguments, **options)
        finally:
            signal.signal(signal.SIGINT, handler)
        if waiting:
            handler(*waiting[0])
        return result

    return finished
