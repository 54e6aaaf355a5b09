"""How ours wait for another writer, and when they do not."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from django.db import OperationalError, connection

from jobs_app.lifecycle import database
from jobs_app.lifecycle.database import prepare, while_busy
from jobs_app.models import Job
from tests.lifecycle.rows import stored
from tests.lifecycle.sessions import sessions


@pytest.mark.django_db(transaction=True)
def test_a_second_writer_waits_for_the_first(is_postgres: bool) -> None:
    if is_postgres:
        pytest.skip("PostgreSQL waits row by row")
    with sessions(2) as [one, other]:
        one.begin()
        one.do(stored)
        waiting = other.start(stored)
        other.until_blocked(waiting)
        one.commit()
        waiting.result(timeout=60)
    assert Job.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch, is_postgres: bool) -> None:
    if is_postgres:
        pytest.skip("PostgreSQL waits by itself")
    monkeypatch.setattr(database, "BUSY_FOR_SECONDS", 0.05)
    with sessions(2) as [one, other]:
        one.begin()
        one.do(stored)
        with pytest.raises(OperationalError, match="locked"):
            other.do(stored)
        one.rollback()


class Host:
    """A connection as `while_busy` sees it."""

    vendor = "sqlite"

    def __init__(self, in_atomic_block: bool = False) -> None:
        self.in_atomic_block = in_atomic_block


class Refusals:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_a_locked_database_is_asked_again() -> None:
    locked = [OperationalError("database is locked"), OperationalError("database table is locked: jobs_app_job")]
    host: Any = Host()
    assert while_busy(host, Refusals(*locked)) == "done"


def test_other_errors_are_not_waited_out() -> None:
    host: Any = Host()
    with pytest.raises(OperationalError, match="disk"):
        while_busy(host, Refusals(OperationalError("disk I/O error")))


def test_inside_a_hosts_transaction_waiting_would_not_help() -> None:
    host: Any = Host(in_atomic_block=True)
    with pytest.raises(OperationalError, match="locked"):
        while_busy(host, Refusals(OperationalError("database is locked")))


def test_a_refused_try_leaves_nothing_for_the_garbage_collector() -> None:
    """A collector in the thread that holds the lock would wait for the connection that waits for the lock."""

    class Cursor:
        pass

    cursors: list[weakref.ref[Cursor]] = []

    def act() -> str:
        cursor = Cursor()
        cursors.append(weakref.ref(cursor))
        if len(cursors) > 1:
            return "done"
        try:
            raise ValueError
        except ValueError as cause:
            error = OperationalError("database is locked")
            raise error.with_traceback(cause.__traceback__) from cause  # refers to itself, as Django's wrapper does

    gc.disable()
    try:
        host: Any = Host()
        assert while_busy(host, act) == "done"
        assert cursors[0]() is None
    finally:
        gc.enable()


@pytest.mark.django_db(transaction=True)
def test_readers_of_the_file_do_not_block_its_writer(is_postgres: bool) -> None:
    prepare(connection)
    if is_postgres:
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        assert cursor.fetchone() == ("wal",)
