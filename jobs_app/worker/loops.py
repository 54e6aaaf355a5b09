"""A thread that does one thing again and again, whatever the database does."""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_busy, jobs_connection

logger = logging.getLogger("jobs_app.worker")

FIRST_BACKOFF_SECONDS = 0.1
LONGEST_BACKOFF_SECONDS = 5.0


class Loop(threading.Thread):
    """`run_once` works; the loop around it survives a lost database: it backs off, says so once, and goes on."""

    def __init__(self, name: str) -> None:
        super().__init__(name=f"jobs-{name}", daemon=True)
        self.wake = threading.Event()
        self.stopping = False
        self.failures = 0

    @property
    def connection(self) -> BaseDatabaseWrapper:
        return jobs_connection()

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
        self.stopping = True
        self.wake.set()

    def pause(self, seconds: float) -> bool:
        """Wait, at most so long; True if woken."""
        woken = self.wake.wait(seconds)
        self.wake.clear()
        return woken

    def _step(self) -> None:
        try:
            self.run_once()
        except (OperationalError, InterfaceError) as error:
            self._lost(error)
        except DatabaseError as error:
            logger.exception("%s: the database refused a statement; trying again", self.name)
            self._lost(error, said=True)
        except Exception:
            logger.exception("%s failed; going on", self.name)
            self._lost(None, said=True)
        else:
            if self.failures:
                logger.warning("%s: the database answers again", self.name)
            self.failures = 0

    def _lost(self, error: BaseException | None, said: bool = False) -> None:
        if not self.failures and not said:
            logger.warning("%s: the database does not answer (%s); trying again until it does", self.name, error)
        if error is None or not is_busy(error):
            self._close()
        self.failures += 1
        self.wake.wait(min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(self.failures - 1, 10)))

    def _close(self) -> None:
        try:
            self.connection.close()
        except (DatabaseError, InterfaceError):
            self.connection.connection = None
