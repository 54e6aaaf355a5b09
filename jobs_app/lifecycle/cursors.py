"""How the statements that carry hundreds of rows get to PostgreSQL and back.

Django's own cursor binds parameters by pasting them into the text of the statement, and reads moments in Python:
measured, 3 us a row for the three moments of a job where psycopg's C code takes 0.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg.types.datetime import TimestamptzLoader

from jobs_app.lifecycle.database import BEGIN, PIN_PLAN, pinned_transaction

# What a crash of the server may forget: a claim, whose job is then due again as if its worker had gone silent. The
# report of a later end makes it durable too. Waiting for the disk was a fifth of a claimer's time.
NOT_DURABLE = ", set_config('synchronous_commit', 'off', true)"


@contextmanager
def binding_cursor(
    connection: BaseDatabaseWrapper, kind: type[psycopg.Cursor[Any]] = psycopg.Cursor
) -> Iterator[CursorWrapper]:
    """Parameters are bound by the server, which keeps the plan where the host set `prepare_threshold`. Django's
    wrappers and query logs see its statements as any others."""
    connection.ensure_connection()
    wrapped = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with kind(connection.connection) as raw:
        yield wrapped(raw)  # type: ignore[arg-type]


@contextmanager
def bulk_cursor(
    connection: BaseDatabaseWrapper, kind: type[psycopg.Cursor[Any]] = psycopg.Cursor
) -> Iterator[CursorWrapper]:
    """The same for many rows: setting it up costs 15 us, and each row takes 2 us less."""
    with binding_cursor(connection, kind) as cursor:
        cursor.cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
        yield cursor


def run_within(connection: BaseDatabaseWrapper, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of one statement, as part of the transaction that is open."""
    with bulk_cursor(connection) as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def run_pinned(
    connection: BaseDatabaseWrapper, sql: str, parameters: Mapping[str, Any], *, durable: bool = True
) -> list[tuple[Any, ...]]:
    """The rows of one statement with a pinned plan, in a transaction of its own, or within the host's."""
    connection.ensure_connection()
    if connection.in_atomic_block or not connection.get_autocommit():
        with pinned_transaction(connection):
            return run_within(connection, sql, parameters)
    return _in_one_trip(connection, f"{BEGIN}; {PIN_PLAN}{'' if durable else NOT_DURABLE}; {sql}; COMMIT", parameters)


def _in_one_trip(connection: BaseDatabaseWrapper, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Begin, pin, statement and commit in one message: three waits for the server less.

    Several statements in one message take their parameters as text. psycopg's pipeline mode would not need that, but
    its steps are in Python: among busy threads it took 3 ms to send what this sends in 0.3.
    """
    raw: psycopg.Connection[Any] = connection.connection
    try:
        with bulk_cursor(connection, psycopg.ClientCursor) as cursor:
            cursor.execute(sql, parameters)
            cursor.nextset()
            cursor.nextset()
            return cursor.fetchall()
    except BaseException:
        _clean_up(raw)
        raise


def _clean_up(raw: psycopg.Connection[Any]) -> None:
    """A connection that cannot even roll back is of no use to anybody."""
    try:
        raw.rollback()
    except psycopg.Error:
        raw.close()
