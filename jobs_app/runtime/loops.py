"""A thread that does one thing again and again, whatever the database does."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_busy, is_conflict, jobs_connection
from jobs_app.logs import event

logger = logging.getLogger("jobs_app.runtime")

FIRST_BACKOFF_SECONDS = 0.1
LONGEST_BACKOFF_SECONDS = 5.0


class Loop(threading.Thread):
    """`run_once` works; the loop around it survives a lost database: it backs off, says so once, and goes on."""

    is_off = False  # switched off, and so rightly at rest

    def __init__(self, name: str) -> None:
        super().__init__(name=f"jobs-{name}", daemon=True)
        self.wake = threading.Event()
        self._ending = threading.Event()
        self.failures = 0
        self.moved_at: float | None = None  # by the monotonic clock; in the future while it rests until then

    @property
    def connection(self) -> BaseDatabaseWrapper:
        return jobs_connection()

    @property
    def stopping(self) -> bool:
        return self._ending.is_set()

    def run_once(self) -> None:
        raise NotImplementedError

    def is_done(self) -> bool:
        return self.stopping

    def run(self) -> None:
        try:
            while not self.is_done():
                self._step()
        finally:
            self.connection.close()

    def stop(self) -> None:
        self._ending.set()
        self.wake.set()

    def pause(self, seconds: float) -> bool:
        """Wait, at most so long; True if woken."""
        self.moved_at = time.monotonic() + seconds
        woken = self.wake.wait(seconds)
        self.wake.clear()
        return woken

    def is_stuck(self, now: float, after: float) -> bool:
        """Ended though nobody asked it to, or in the same step for longer than this."""
        if self.moved_at is None or self.stopping:
            return False
        return not self.is_alive() or now - self.moved_at > after

    def _step(self) -> None:
        self.moved_at = time.monotonic()
        try:
            self.run_once()
        except (OperationalError, InterfaceError) as error:
            if is_conflict(error):
                facts = event("transaction_conflict", loop=self.name, error=error)
                logger.debug("%s: another transaction came between (%s); again", self.name, error, extra=facts)
                return
            facts = event("database_lost", loop=self.name, error=error)
            self._say_once("%s: the database does not answer (%s); going on when it does", error, facts)
            self._back_off(lost=not is_busy(error))
        except Exception as error:
            facts = event("loop_failed", loop=self.name, error=error)
            self._say_once("%s failed (%s); trying again", error, facts, logging.ERROR)
            self._back_off(lost=isinstance(error, DatabaseError))
        else:
            if self.failures:
                logger.warning("%s: works again", self.name, extra=event("loop_works_again", loop=self.name))
            self.failures = 0

    def _say_once(self, text: str, error: BaseException, facts: dict[str, Any], level: int = logging.WARNING) -> None:
        """Once per streak of failures: an outage of an hour must not fill a disk."""
        if not self.failures:
            exc_info = error if level >= logging.ERROR else None
            logger.log(level, text, self.name, error, exc_info=exc_info, extra=facts)

    def _back_off(self, *, lost: bool) -> None:
        if lost:
            self._close()
        seconds = min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(self.failures, 10))
        self.failures += 1
        if self._ending.wait(seconds):
            time.sleep(FIRST_BACKOFF_SECONDS)  # the last words are still worth some tries, but no spinning

    def _close(self) -> None:
        try:
            self.connection.close()
        except (DatabaseError, InterfaceError):
            self.connection.connection = None
