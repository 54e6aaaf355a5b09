"""How the statements that carry hundreds of rows get to PostgreSQL and back.

Django's own cursor binds parameters by pasting them into the text of the statement, and reads moments in Python:
measured, 3 us a row for the three moments of a job where psycopg's C code takes 0.5.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg.types.datetime import TimestamptzLoader

from jobs_app.lifecycle.database import BEGIN, PIN_PLAN, pinned_transaction

# What a crash of the server may forget: a claim, whose job is then due again as if its worker had gone silent. The
# report of a later end makes it durable too. Waiting for the disk was a fifth of a claimer's time.
NOT_DURABLE = ", set_config('synchronous_commit', 'off', true)"

_kept = threading.local()


def binding_cursor(connection: BaseDatabaseWrapper) -> CursorWrapper:
    """Parameters are bound by the server, which keeps the plan where the host set `prepare_threshold`. Django's
    wrappers and query logs see its statements as any others."""
    connection.ensure_connection()
    return _seen_by_django(connection, psycopg.Cursor(connection.connection))


def bulk_cursor(connection: BaseDatabaseWrapper, kind: type[psycopg.Cursor[Any]] = psycopg.Cursor) -> CursorWrapper:
    """The same for many rows: setting it up costs 15 us, and each row takes 2 us less."""
    connection.ensure_connection()
    return _seen_by_django(connection, _reading_in_c(kind(connection.connection)))


def fetch_again(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> tuple[Any, ...]:
    """The one row of a statement that this thread executes over and over.

    Its cursor is kept: while the statement is the same, psycopg remembers how its parameters are written (measured, 12
    us of 80), and its moment is read in C (3 us instead of 20). Who comes in between, from a wrapper around the
    statement, has a cursor of its own.
    """
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    cursor: Any = _kept.__dict__.pop("cursor", None)
    if cursor is None or cursor.connection is not raw:
        cursor = _reading_in_c(psycopg.Cursor(raw))
    _seen_by_django(connection, cursor).execute(sql, parameters)
    row: tuple[Any, ...] = cursor.fetchone()
    _kept.cursor = cursor
    return row


def _reading_in_c(raw: psycopg.Cursor[Any]) -> psycopg.Cursor[Any]:
    raw.adapters.register_loader("timestamptz", TimestamptzLoader)
    return raw


def _seen_by_django(connection: BaseDatabaseWrapper, raw: psycopg.Cursor[Any]) -> CursorWrapper:
    wrapped = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    return wrapped(raw)  # type: ignore[arg-type]


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
