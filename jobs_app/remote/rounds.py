"""What workers do now and then, done by pulls: where only remote workers live nobody else gives back what was lost, or
opens what a pause held."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.pause_walks import Walker
from jobs_app.lifecycle.pauses import read_pauses
from jobs_app.logs import event
from jobs_app.runtime.recovery import recover_silent

logger = logging.getLogger("jobs_app.remote")

PAUSES_SECONDS = 0.2  # of one round: somebody waits for an answer


class Rounds:
    """Of this process: one at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._walker = Walker()
        self._ended_at = float("-inf")

    def go(self, connection: BaseDatabaseWrapper, *, every: float) -> bool:
        """Unless that was done in the last so many seconds. True if it was done."""
        if self._clock() - self._ended_at < every or not self._lock.acquire(blocking=False):
            return False
        try:
            self._go(connection)
        except (OperationalError, InterfaceError):
            raise  # the database is away, and whoever asks will hear so
        except Exception:
            logger.exception("a round of recovery failed; pulls go on without it", extra=event("recovery_failed"))
        finally:
            self._ended_at = self._clock()
            self._lock.release()
        return True

    def forget(self) -> None:
        self._ended_at = float("-inf")

    def _go(self, connection: BaseDatabaseWrapper) -> None:
        recover_silent(connection)
        if read_pauses(connection).are_unfinished:
            self._walker.go_on(connection, PAUSES_SECONDS)


rounds = Rounds()
