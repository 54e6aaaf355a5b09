"""Is this process alive, and is it ready? Told by its own loops: the database is never asked for it.

A database that is away restarts nobody: a loop that waits for it still moves.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from jobs_app.health import Health
from jobs_app.logs import event
from jobs_app.runtime.loops import Loop

logger = logging.getLogger("jobs_app.runtime")

STILL_SECONDS = 300.0  # longer than any statement of ours takes, and than SQLite waits for another writer
WRITE_SECONDS = 1.0


Examine: TypeAlias = Callable[[], Health]
Shown: TypeAlias = Callable[[Examine], AbstractContextManager[object]]  # how monitoring sees a process, while it lasts


def examine(loops: Sequence[Loop], *, still_after: float = STILL_SECONDS) -> Health:
    """One that has not begun, or was told to stop, is not stuck."""
    now = time.monotonic()
    watched = [loop for loop in loops if not loop.is_off]
    still = [f"{loop.name} stands still" for loop in watched if loop.is_stuck(now, still_after)]
    return Health(still, [f"{loop.name} {why}" for loop in watched if (why := _why_unready(loop))])


def _why_unready(loop: Loop) -> str:
    if loop.stopping:
        return "is stopping"
    if loop.moved_at is None:
        return "has not begun"
    return "fails, and tries again" if loop.failures else ""


class HealthFile:
    """Written each second by a thread of its own, for probes that start a program and for who looks after several."""

    def __init__(self, path: Path, examine: Examine) -> None:
        self._path = path
        self._examine = examine
        self._ending = threading.Event()
        self._is_failing = False
        self._thread = threading.Thread(target=self._write_on, name="jobs-health-file", daemon=True)

    def start(self) -> None:
        self._examine().write(self._path)  # here: a path that cannot be written is told at the start
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def _write_on(self) -> None:
        while not self._ending.wait(WRITE_SECONDS):
            try:
                self._examine().write(self._path)
                self._is_failing = False
            except Exception as error:  # the probe sees that it is old
                self._say_once(error)

    def _say_once(self, error: Exception) -> None:
        if not self._is_failing:
            facts = event("heartbeat_file_failed", error=str(error))
            logger.warning("the heartbeat file %s cannot be written: %s", self._path, error, extra=facts)
        self._is_failing = True
