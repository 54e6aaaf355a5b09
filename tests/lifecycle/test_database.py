"""The database of the jobs: its clock, its transactions, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.lifecycle.database import (
    database_now,
    frozen_clock,
    is_conflict,
    is_data_at_fault,
    pinned_transaction,
    read_sqlite_time,
    sqlite_after,
    sqlite_time,
    write_transaction,
)
from jobs_app.models import Job
from tests.lifecycle.rows import T, stored

MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14))]))


@given(st.lists(MOMENTS, min_size=2, max_size=5))
def test_moments_on_sqlite_sort_as_text_and_can_be_read_back(moments: list[datetime]) -> None:
    try:
        texts = {moment: sqlite_time(moment) for moment in moments}
    except OverflowError:  # the first and the last day, in another zone
        return
    assert sorted(moments) == sorted(moments, key=lambda moment: texts[moment])
    assert all(read_sqlite_time(text) == moment for moment, text in texts.items())


def test_seconds_after_a_moment_on_sqlite() -> None:
    assert read_sqlite_time(sqlite_after(sqlite_time(T), 90.5)) == T + timedelta(seconds=90.5)


@pytest.mark.django_db
def test_a_moment_is_stored_as_django_stores_it() -> None:
    with frozen_clock(T):
        stored()
    assert Job.objects.filter(queued_at=T, run_at__lte=T).exists()
    assert not Job.objects.filter(queued_at__gt=T).exists()


@pytest.mark.django_db
def test_the_clock_can_stand_still_and_goes_on_after() -> None:
    before = database_now(connection)
    with frozen_clock(T):
        assert database_now(connection) == T
        with frozen_clock(T + timedelta(days=1)):
            assert database_now(connection) == T + timedelta(days=1)
        assert database_now(connection) == T
    assert database_now(connection) >= before


@pytest.mark.django_db(transaction=True)
def test_an_error_rolls_a_write_transaction_back() -> None:
    def fail_after_a_write() -> None:
        with write_transaction(connection):
            stored()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after_a_write()
    assert not Job.objects.exists()
    with write_transaction(connection):
        stored()
    assert Job.objects.count() == 1
    assert not connection.in_atomic_block


@pytest.mark.django_db(transaction=True)
def test_a_write_transaction_belongs_to_the_transaction_around_it() -> None:
    with transaction.atomic():
        with write_transaction(connection):
            stored()
        transaction.set_rollback(True)
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_pinned_plan_ends_with_its_transaction() -> None:
    def setting() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW enable_seqscan")
            return str(cursor.fetchone()[0])

    with pinned_transaction(connection):
        assert setting() == "off"
    assert setting() == "on"


@pytest.fixture
def strict_host() -> Iterator[None]:
    """A host whose connections begin with another isolation than we need, and prepare whatever they can."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation = 'serializable'")
    connection.connection.prepare_threshold = 0
    yield
    connection.close()


def isolation() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_isolation")
        return str(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres", "strict_host")
def test_a_transaction_of_ours_is_read_committed_whatever_the_host_begins_with() -> None:
    for _ in range(2):
        with pinned_transaction(connection):
            assert isolation() == "read committed"
    assert isolation() == "serializable"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres", "strict_host")
def test_a_transaction_of_the_host_keeps_its_isolation() -> None:
    with transaction.atomic():
        assert isolation() == "serializable"
        with pinned_transaction(connection):
            assert isolation() == "serializable"


def setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return str(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_transaction_of_the_host_gets_its_plan_back() -> None:
    with transaction.atomic():
        with pinned_transaction(connection):
            assert setting("enable_sort") == "off"
        assert setting("enable_sort") == "on"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_the_server_ends_a_transaction_of_ours_that_froze_and_none_of_the_hosts() -> None:
    with pinned_transaction(connection):
        assert setting("idle_in_transaction_session_timeout") == "10s"
    with transaction.atomic(), pinned_transaction(connection):
        assert setting("idle_in_transaction_session_timeout") == "0"


class ServerError(Exception):
    def __init__(self, sqlstate: str | None) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("error", "sqlstate", "at_fault"),
    [
        (DataError("invalid byte sequence"), "22021", True),
        (OperationalError("stack depth limit exceeded"), "54001", True),
        (IntegrityError("check"), "23514", True),
        (OperationalError("deadlock detected"), "40P01", False),
        (OperationalError("terminating connection"), "57P01", False),
        (OperationalError("disk full"), "53100", False),
        (DataError("text fields cannot contain NUL"), None, True),
        (IntegrityError("CHECK constraint failed"), None, True),
        (OperationalError("database is locked"), None, False),
        (OperationalError("server closed the connection"), None, False),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), None, True),
        (OverflowError("date value out of range"), None, True),
    ],
    ids=str,
)
def test_what_would_be_refused_again_is_the_datas_fault(error: Exception, sqlstate: str | None, at_fault: bool) -> None:
    error.__cause__ = ServerError(sqlstate)
    assert is_data_at_fault(error) is at_fault


@pytest.mark.parametrize(
    ("sqlstate", "conflict"), [("40001", True), ("40P01", True), ("57P01", False), ("", False), (None, False)]
)
def test_another_transaction_that_came_between_is_told_from_a_lost_database(
    sqlstate: str | None, conflict: bool
) -> None:
    error = OperationalError("could not serialize access")
    error.__cause__ = ServerError(sqlstate)
    assert is_conflict(error) is conflict
    assert not is_conflict(OperationalError("locked"))
