"""When a process is asked to stop: signals, told apart by their number and their time."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

IGNORE_SECONDS = 2.0  # supervisors and terminals often send a signal twice; a later one means it


class StopSignals:
    """The first TERM or INT asks to stop; another within two seconds is the same one; a later one forces."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: float | None = None
        self.forced = False
        self.received = threading.Event()

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.receive)

    def receive(self, number: int, frame: FrameType | None = None) -> None:
        now = self._clock()
        if self._first is None:
            self._first = now
            self.received.set()
        elif now - self._first > IGNORE_SECONDS:
            self.forced = True
