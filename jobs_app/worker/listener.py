"""Hearing about new work: LISTEN on PostgreSQL, a changed file on SQLite. Polling alone is correct; this is sooner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from jobs_app.lifecycle.database import is_postgres
from jobs_app.lifecycle.wakeup import CHANNEL, read_message
from jobs_app.runtime.loops import Loop

HEAR_SECONDS = 1.0  # how long one wait lasts, and so how soon a stop is seen
SQLITE_LOOK_SECONDS = 0.01  # a look takes some 20 us


class Listener(Loop):
    def __init__(self, told: Callable[[tuple[str, int] | None], None]) -> None:
        super().__init__("listener")
        self._told = told
        self._raw: psycopg.Connection[Any] | None = None
        self._version = 0

    def run_once(self) -> None:
        if is_postgres(self.connection):
            self._hear()
        else:
            self._look()

    def _hear(self) -> None:
        self.connection.ensure_connection()
        raw = self.connection.connection
        if raw is not self._raw:
            with self.connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._raw = raw
            self._told(None)  # something may have been said while nobody listened
        with self.connection.wrap_database_errors:
            for notify in raw.notifies(timeout=HEAR_SECONDS, stop_after=1):
                self._told(read_message(notify.payload))

    def _look(self) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute("PRAGMA data_version")
            (version,) = cursor.fetchone()
        if version != self._version:
            self._version = version
            self._told(None)
        self.wake.wait(SQLITE_LOOK_SECONDS)
