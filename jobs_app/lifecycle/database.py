"""The database the jobs live in: its connection, its clock, its transactions."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from django.db import DataError, IntegrityError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Model, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

from jobs_app.models import jobs_database

Result = TypeVar("Result")

# SQLSTATE classes that blame the data (bad value, constraint, too large) and not the server or the network.
DATA_AT_FAULT = ("22", "23", "54")

BUSY_FOR_SECONDS = 60  # how long our own SQLite transactions wait for another writer before they give up

# SQL for "now" on PostgreSQL. Only the database's clock decides; a test may put a moment in its place.
NOW = "coalesce(%(now)s::timestamptz, statement_timestamp())"

# Without it a table without fresh statistics is read by bitmap and sort (28 ms a claim instead of 1 to 2), and a
# well-analysed one is joined by hash over the whole backlog (10 ms). Transaction-local, so a pooler is no problem.
# Nor are such statements worth compiling: where the planner expected many rows, it did so for 14 ms.
PINNED = [*(f"enable_{node}" for node in ("bitmapscan", "sort", "seqscan", "hashjoin", "mergejoin")), "jit"]
PIN_PLAN = "SELECT " + ", ".join(f"set_config('{name}', 'off', true)" for name in PINNED)
READ_PLAN = "SELECT " + ", ".join(f"current_setting('{name}')" for name in PINNED)
SET_PLAN = "SELECT " + ", ".join(f"set_config('{name}', %s, true)" for name in PINNED)
# The first statement of a transaction of ours, whatever level the host's connections begin with: above READ COMMITTED a
# row that another worker wrote since is an error, where we want to pass it. With the pin in one round trip. A process
# that freezes in the middle, or whose host vanishes, must not keep its locks: recovery passes locked rows.
BEGIN_PINNED = (
    f"SET TRANSACTION ISOLATION LEVEL READ COMMITTED; {PIN_PLAN}, "
    "set_config('idle_in_transaction_session_timeout', '10s', true)"
)
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"  # the same for one that is sent as a whole, and never idle
TRY_AGAIN = "40"  # SQLSTATE class of serialization failures and deadlocks

_writers: dict[str, threading.RLock] = defaultdict(threading.RLock)
_frozen: datetime | None = None


def jobs_connection() -> BaseDatabaseWrapper:
    """This thread's connection to the database that holds the jobs."""
    return connections[jobs_database()]


def is_postgres(connection: BaseDatabaseWrapper) -> bool:
    return connection.vendor == "postgresql"


def prepare(connection: BaseDatabaseWrapper) -> None:
    """What a worker or scheduler asks of its database once: readers of an SQLite file must not block its writer."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            while_busy(connection, lambda: cursor.execute("PRAGMA journal_mode = WAL"))


@contextmanager
def frozen_clock(moment: datetime) -> Iterator[None]:
    """Let `moment` be the database's time for everything this app does. For tests."""
    global _frozen
    before, _frozen = _frozen, moment
    try:
        yield
    finally:
        _frozen = before


def frozen_moment() -> datetime | None:
    """Where a test has put the clock."""
    return _frozen


def now_parameter(connection: BaseDatabaseWrapper) -> Any:
    """The value of `%(now)s`: nothing on PostgreSQL, where the server knows; this host's clock on SQLite."""
    if is_postgres(connection):
        return _frozen
    return sqlite_time(_frozen or datetime.now(UTC))


def now_sql(connection: BaseDatabaseWrapper) -> str:
    """The SQL that goes with it, for statements that both databases share."""
    return NOW if is_postgres(connection) else "%(now)s"


def now_expression(connection: BaseDatabaseWrapper) -> Combinable:
    """The same for a queryset, which has the time from the query that uses it."""
    moment = _frozen if is_postgres(connection) else database_now(connection)
    return Now() if moment is None else Value(moment, output_field=DateTimeField())


def database_now(connection: BaseDatabaseWrapper) -> datetime:
    """The time that decides what is due, leased or expired."""
    if _frozen is not None:
        return _frozen
    if not is_postgres(connection):
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cursor.fetchone()[0]


def sqlite_time(moment: datetime) -> str:
    """A moment as Django stores it on SQLite, so that text compares as time does."""
    return str(moment.astimezone(UTC).replace(tzinfo=None))


def sqlite_after(now: str, seconds: float) -> str:
    return str(datetime.fromisoformat(now) + timedelta(seconds=seconds))


def read_sqlite_time(value: str | datetime) -> datetime:
    """The other way; a column comes back as a naive datetime, an expression as text."""
    return (datetime.fromisoformat(value) if isinstance(value, str) else value).replace(tzinfo=UTC)


def read_moment(value: str | datetime) -> datetime:
    """A moment as raw SQL gives it: PostgreSQL knows the type."""
    return value if isinstance(value, datetime) and value.tzinfo else read_sqlite_time(value)


def first_row(connection: BaseDatabaseWrapper, model: type[Model], sql: str, parameters: dict[str, Any]) -> Any:
    """The first row of plain SQL as its model has it, with the moment of its column `read_at`; None: there is none."""
    rows: Any = model._default_manager.using(connection.alias).raw(sql, parameters)
    row = next(iter(rows), None)
    if row is not None:
        row.read_at = read_moment(row.read_at)
    return row


def read_uuid(value: UUID | str) -> UUID:
    """An id as raw SQL gives it: PostgreSQL knows the type, SQLite has text."""
    return value if isinstance(value, UUID) else UUID(value)


@contextmanager
def write_transaction(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """A short transaction. On SQLite it begins IMMEDIATE: one that reads first and writes later fails at once when
    another writer came between, whatever the timeout."""
    if is_postgres(connection) or connection.in_atomic_block:
        with transaction.atomic(using=connection.alias, savepoint=False):
            yield
        return
    with _writers[connection.alias]:
        atomic = transaction.atomic(using=connection.alias)
        while_busy(connection, lambda: _enter_immediate(connection, atomic))
        try:
            yield
        except BaseException:
            atomic.__exit__(*sys.exc_info())
            raise
        atomic.__exit__(None, None, None)


def write_savepoint(connection: BaseDatabaseWrapper) -> AbstractContextManager[None]:
    """The same where an error takes back our writes only, and leaves a host's transaction as it was."""
    if connection.in_atomic_block:
        return transaction.atomic(using=connection.alias)
    return write_transaction(connection)


@contextmanager
def pinned_transaction(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """The same with the plan pinned: rows are looked up by index, in the order given."""
    is_ours = connection.get_autocommit()
    with write_transaction(connection), own_plan(connection, is_ours=is_ours):
        if is_postgres(connection):
            with connection.wrap_database_errors:
                pin(connection.connection, is_ours=is_ours)
        yield


def pinned_reading(connection: BaseDatabaseWrapper) -> AbstractContextManager[None]:
    """The same for who only reads, and takes no write lock of SQLite: without fresh statistics a table is otherwise
    read as a whole, and sorted."""
    return pinned_transaction(connection) if is_postgres(connection) else nullcontext()


@contextmanager
def own_plan(connection: BaseDatabaseWrapper, *, is_ours: bool = False) -> Iterator[None]:
    """A pin lasts until the transaction ends. A host's transaction, which goes on after us, gets its own plan back."""
    if is_ours or not (is_postgres(connection) and connection.in_atomic_block):
        yield
        return
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        before = cursor.execute(READ_PLAN).fetchone()
    yield
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(SET_PLAN, before)


def pin(raw: psycopg.Connection[Any], *, is_ours: bool) -> None:
    """Pin the plan; `is_ours` where nobody began the transaction before us, who could want another isolation."""
    with psycopg.Cursor(raw) as cursor:
        cursor.execute(BEGIN_PINNED if is_ours else PIN_PLAN, prepare=False)  # two statements cannot be prepared


def apart(connection: BaseDatabaseWrapper) -> AbstractContextManager[None]:
    """Inside a host's transaction, what is refused takes back our writes only. Elsewhere nothing begins: who pins a
    plan within must see that the transaction is its own."""
    return transaction.atomic(using=connection.alias) if connection.in_atomic_block else nullcontext()


def while_busy(connection: BaseDatabaseWrapper, act: Callable[[], Result]) -> Result:
    """Do `act`, again and again while another SQLite writer is in the way, or a transaction that waits for us as we do
    for it. Inside a host's transaction only once."""
    give_up = time.monotonic() + BUSY_FOR_SECONDS
    while True:
        try:
            return act()
        except OperationalError as error:
            in_the_way = is_busy(error) or is_conflict(error)
            if not in_the_way or connection.in_atomic_block or time.monotonic() > give_up:
                raise
            _clear(error)


def is_busy(error: BaseException) -> bool:
    return "database is locked" in str(error) or "database table is locked" in str(error)


def is_conflict(error: BaseException) -> bool:
    """Did another transaction come between? Then the same again is all there is to do."""
    return (getattr(error.__cause__, "sqlstate", None) or "").startswith(TRY_AGAIN)


def is_data_at_fault(error: BaseException) -> bool:
    """Would the same rows be refused again? Then the rows are wrong, not the moment."""
    state = getattr(error.__cause__, "sqlstate", None)
    if state is not None:
        return state[:2] in DATA_AT_FAULT
    return isinstance(error, DataError | IntegrityError | ValueError | TypeError | OverflowError)


def _enter_immediate(connection: BaseDatabaseWrapper, atomic: transaction.Atomic) -> None:
    connection.ensure_connection()  # the mode is known only then
    mode = connection.transaction_mode  # type: ignore[attr-defined]
    connection.transaction_mode = "IMMEDIATE"  # type: ignore[attr-defined]
    try:
        atomic.__enter__()
    finally:
        connection.transaction_mode = mode  # type: ignore[attr-defined]


def _clear(error: BaseException | None) -> None:
    """Let go of the cursor of a refused try. Its frames refer to each other, so the garbage collector would: if that is
    in the thread that holds the write lock, it waits for this connection, and this connection for the lock."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__
