"""A second session on the same database: a thread with a connection of its own."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from django.db import connection, connections, transaction

from jobs_app.lifecycle import database
from tests.waiting import until

Result = TypeVar("Result")

SQLITE_PATIENCE_MS = 20  # how long SQLite itself waits, so that our own waiting begins soon and can be seen


class Session:
    """Does what it is told, one thing after another, on its own connection."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._atomic: transaction.Atomic | None = None
        self._number = self.do(self._connect)

    def start(self, act: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Begin to do it; it may have to wait for another session."""
        return self._thread.submit(act, *arguments)

    def do(self, act: Callable[..., Result], *arguments: Any) -> Result:
        return self.start(act, *arguments).result(timeout=60)

    def begin(self) -> None:
        self._atomic = transaction.atomic()
        self.do(self._atomic.__enter__)

    def commit(self) -> None:
        assert self._atomic is not None
        self.do(self._atomic.__exit__, None, None, None)

    def rollback(self) -> None:
        self.do(transaction.set_rollback, True)
        self.commit()

    def until_blocked_or_done(self, work: Future[Any]) -> None:
        until(lambda: work.done() or self._is_blocked(), every=0.005)

    def until_blocked(self, work: Future[Any]) -> None:
        self.until_blocked_or_done(work)
        assert not work.done(), work.result()

    def close(self) -> None:
        self._thread.submit(connections.close_all)
        self._thread.shutdown()

    def _connect(self) -> int:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(f"PRAGMA busy_timeout = {SQLITE_PATIENCE_MS}")
                return threading.get_ident()
            cursor.execute("SELECT pg_backend_pid()")
            return int(cursor.fetchone()[0])

    def _is_blocked(self) -> bool:
        if connection.vendor == "sqlite":
            return self._number in _met_a_lock
        with connection.cursor() as cursor:
            cursor.execute("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", [self._number])
            return bool(cursor.fetchone()[0])


_met_a_lock: set[int] = set()  # threads that SQLite has turned away at least once


@contextmanager
def sessions(count: int) -> Iterator[list[Session]]:
    """So many sessions. On SQLite they share no lock but the file's, as processes do, and whoever is turned away is
    noted, since no table tells who waits."""
    is_busy, writers = database.is_busy, database._writers
    _met_a_lock.clear()

    def noting(error: BaseException) -> bool:
        if busy := is_busy(error):
            _met_a_lock.add(threading.get_ident())
        return busy

    database.is_busy = noting
    database._writers = defaultdict(nullcontext)  # type: ignore[assignment]
    opened = [Session() for _ in range(count)]
    try:
        yield opened
    finally:
        for session in opened:
            session.close()
        database.is_busy, database._writers = is_busy, writers
