"""When a process is asked to stop: signals, told apart by their number and their time."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

LOOK_SECONDS = 0.1
IGNORE_SECONDS = 2.0  # supervisors and terminals often send a signal twice; a later one means it


class Asked:
    """An event that a signal handler may set. `threading.Event` may not: its lock is not reentrant, so that a signal
    which comes just as the main thread begins to wait would stop the process for good."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        self._set = True

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> bool:
        """Wait, at most so long; True if it is set."""
        give_up = time.monotonic() + seconds
        while not self._set and (left := give_up - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_SECONDS))  # in small steps: a signal just before a long one would not end it
        return self._set


class StopSignals:
    """The first TERM or INT asks to stop; another within two seconds is the same one; a later one forces."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: float | None = None
        self._before: dict[signal.Signals, Any] = {}
        self.forced = False
        self.received = Asked()

    def install(self) -> None:
        """In the main thread; Python takes signals nowhere else."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self.receive)

    def uninstall(self) -> None:
        """A command that was called from Python gives its caller's signals back."""
        while self._before:
            signal.signal(*self._before.popitem())

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        now = self._clock()
        if self._first is None:
            self._first = now
            self.received.set()
        elif now - self._first > IGNORE_SECONDS:
            self.forced = True
