"""Ctrl-C and SIGTERM: the first one keeps what was drawn, a second one quits."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SAME = 1.0
"""Seconds in which a repeated signal is taken for the first: programs that start others pass on the
Ctrl-C that these got from the terminal as well, and a key is easily pressed twice."""


class Quit(BaseException):
    """Raised by a second signal; nothing but `main` catches it."""


class Interrupts:
    """Takes signals while it is entered.

    The first one ends sampling, by the KeyboardInterrupt that PyMC takes for that, or lets the work
    go on that follows. The second one ends everything.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        """The first signal."""
        self.drawn = 0
        """Draws seen so far, those while tuning aside."""
        self.written: list[Path] = []
        """Files that are complete."""
        self._since = 0.0
        # Chains in processes of their own that have not ended; 0 where there are none.
        self._running = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # Whoever started this process may have asked it to ignore them.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._leave_to_parent)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that was ended by the signal."""
        return 128 + (signal.SIGINT if self.received is None else self.received)

    def watch(self, chains: int, cores: int) -> Any:
        """Return a callback for `pm.sample` with so many chains on so many cores."""
        self._running = chains if min(chains, cores) > 1 else 0

        def callback(trace: Any, draw: Any) -> None:
            self.drawn += not draw.tuning
            if draw.is_last and self._running:
                self._running -= 1
            # One chain after the other: the next ones have to end as well.
            if self.received is not None:
                raise KeyboardInterrupt

        return callback

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is None:
            self.received, self._since = number, time.monotonic()
            if self._running:
                # The draws are here; chains may be in the middle of a long step.
                self._end_others()
            # Where chains run in this process, PyMC may be writing a draw down: the callback is a
            # place that loses none, and so are pieces of a step, which handle signals frameless.
            if self._running or not self.drawn or frame is None:
                raise KeyboardInterrupt
        elif time.monotonic() - self._since > SAME:
            self._end_others()
            raise Quit

    def _end_others(self) -> None:
        for process in multiprocessing.active_children():
            process.kill()

    def _leave_to_parent(self) -> None:
        """Chains get the terminal's Ctrl-C too, and are ended by a SIGTERM of their own."""
        for number, action in zip(SIGNALS, (signal.SIG_IGN, signal.SIG_DFL), strict=True):
            if number in self._before:
                with contextlib.suppress(ValueError):
                    signal.signal(number, action)
