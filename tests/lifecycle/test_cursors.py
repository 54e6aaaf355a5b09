"""One statement with a pinned plan: a transaction of its own in one message, or a part of the host's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection, connections, transaction
from psycopg.pq import TransactionStatus

from jobs_app.lifecycle.cursors import bulk_cursor, fetch_again, run_pinned
from jobs_app.lifecycle.database import PINNED
from jobs_app.models import Job
from tests.lifecycle.rows import T, stored
from tests.lifecycle.sessions import sessions

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("on_postgres")]

NAME_ACTOR = "UPDATE jobs_app_job SET actor = %(actor)s RETURNING id, queued_at, actor"
FAIL_AFTER_A_WRITE = "UPDATE jobs_app_job SET actor = %(actor)s RETURNING 1 / priority"
BACKEND = "SELECT pg_backend_pid()"
TELL = "SELECT %s::text, %s::timestamptz"
DIVIDE = "SELECT 6 / %s::int"

AssertQueries = Callable[[int], Any]


def setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return str(cursor.fetchone()[0])


def plan() -> list[str]:
    return [setting(name) for name in PINNED]


def setting_within(name: str, **options: Any) -> str:
    [[found]] = run_pinned(connection, "SELECT current_setting(%(name)s)", {"name": name}, **options)
    return str(found)


def plan_within() -> list[str]:
    return [setting_within(name) for name in PINNED]


def actors() -> list[str]:
    return list(Job.objects.values_list("actor", flat=True))


def cut_off() -> None:
    """The server ends our connection, as at its restart."""
    connection.ensure_connection()
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid])
    other.close()


@pytest.fixture
def session_of_its_own() -> Iterator[Callable[..., None]]:
    """Settings for this session, which ends with the test."""

    def set_session(**settings: str) -> None:
        with connection.cursor() as cursor:
            for name, value in settings.items():
                cursor.execute("SELECT set_config(%s, %s, false)", [name, value])

    yield set_session
    connection.close()


def test_it_is_one_message_and_gives_the_rows(django_assert_num_queries: AssertQueries) -> None:
    [run_id] = stored()
    with django_assert_num_queries(1):
        rows = run_pinned(connection, NAME_ACTOR, {"actor": "ada"})
    assert rows == [(run_id, Job.objects.get().queued_at, "ada")]


def test_a_statement_without_rows_gives_none() -> None:
    assert run_pinned(connection, NAME_ACTOR, {"actor": "ada"}) == []


def test_what_it_wrote_is_committed() -> None:
    stored()
    run_pinned(connection, NAME_ACTOR, {"actor": "ada"})
    assert connection.get_autocommit()
    assert connection.connection.info.transaction_status == TransactionStatus.IDLE
    with sessions(1) as [other]:
        assert other.do(actors) == ["ada"]


@pytest.mark.parametrize("text", ["'; ROLLBACK; --", "100 %", "%(actor)s", "\\'", "a;b", "$1", "ä\n"], ids=repr)
def test_parameters_that_look_like_sql_are_only_text(text: str) -> None:
    stored()
    [(_, _, told)] = run_pinned(connection, NAME_ACTOR, {"actor": text})
    assert [told] == actors() == [text]


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_statement_that_fails_writes_nothing_and_leaves_the_connection_as_it_was(is_durable: bool) -> None:
    stored()
    usual = plan(), setting("synchronous_commit")
    raw = connection.connection
    with pytest.raises(DataError, match="division by zero"):
        run_pinned(connection, FAIL_AFTER_A_WRITE, {"actor": "ada"}, durable=is_durable)
    assert connection.get_autocommit()
    assert raw.info.transaction_status == TransactionStatus.IDLE
    assert (plan(), setting("synchronous_commit")) == usual
    assert actors() == [""]
    run_pinned(connection, NAME_ACTOR, {"actor": "ada"})
    assert actors() == ["ada"]
    assert connection.connection is raw


def test_the_plan_is_pinned_within_it_and_free_after_it() -> None:
    usual = plan()
    assert "on" in usual
    assert plan_within() == ["off"] * len(PINNED)
    assert plan() == usual


def test_what_need_not_be_durable_does_not_wait_for_the_disk(session_of_its_own: Callable[..., None]) -> None:
    session_of_its_own(synchronous_commit="local")
    assert setting_within("synchronous_commit") == "local"
    assert setting_within("synchronous_commit", durable=False) == "off"
    assert setting("synchronous_commit") == "local"
    assert setting_within("synchronous_commit") == "local"


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_it_is_read_committed_whatever_the_session_begins_with(
    level: str, session_of_its_own: Callable[..., None]
) -> None:
    session_of_its_own(default_transaction_isolation=level)
    assert setting_within("transaction_isolation") == "read committed"
    assert setting("transaction_isolation") == level


def test_inside_a_hosts_transaction_it_is_rolled_back_with_it() -> None:
    stored()
    with transaction.atomic():
        run_pinned(connection, NAME_ACTOR, {"actor": "ada"}, durable=False)
        assert actors() == ["ada"]
        transaction.set_rollback(True)
    assert actors() == [""]


def test_a_host_that_commits_by_hand_has_it_in_its_transaction() -> None:
    stored()
    connection.set_autocommit(False)
    try:
        run_pinned(connection, NAME_ACTOR, {"actor": "ada"})
        connection.rollback()
    finally:
        connection.set_autocommit(True)
    assert actors() == [""]


def test_a_hosts_transaction_keeps_its_own_plan_and_waits_for_the_disk_as_it_wants() -> None:
    usual = plan()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_hashjoin = off; SET LOCAL synchronous_commit = local")
        before = plan()
        assert before != usual
        assert plan_within() == ["off"] * len(PINNED)
        run_pinned(connection, BACKEND, {}, durable=False)
        assert (plan(), setting("synchronous_commit")) == (before, "local")
    assert plan() == usual


def test_a_connection_that_is_cut_is_an_error_that_django_knows_and_the_next_one_works() -> None:
    stored()
    [[first]] = run_pinned(connection, BACKEND, {})
    cut_off()
    with pytest.raises(OperationalError):
        run_pinned(connection, NAME_ACTOR, {"actor": "ada"})
    connection.close_if_unusable_or_obsolete()  # as hosts and workers do after an error
    assert actors() == [""]
    [[second]] = run_pinned(connection, BACKEND, {})
    assert first != second


def test_moments_of_many_rows_are_read_as_django_reads_them() -> None:
    stored(3)
    with bulk_cursor(connection) as cursor:
        cursor.execute("SELECT id, queued_at FROM jobs_app_job ORDER BY id")
        assert cursor.fetchall() == list(Job.objects.order_by("id").values_list("id", "queued_at"))


def test_a_statement_that_is_executed_again_gives_the_row_of_each_time(
    django_assert_num_queries: AssertQueries,
) -> None:
    with django_assert_num_queries(3):
        rows = [fetch_again(connection, TELL, given) for given in (("a", T), (None, None), ("b", T))]
    assert rows == [("a", T), (None, None), ("b", T)]
    assert rows[0][1].tzinfo is T.tzinfo


def test_it_goes_on_after_an_error_and_on_another_connection() -> None:
    assert fetch_again(connection, DIVIDE, [2]) == (3,)
    with pytest.raises(DataError, match="division by zero"):
        fetch_again(connection, DIVIDE, [0])
    assert fetch_again(connection, DIVIDE, [3]) == (2,)
    first = fetch_again(connection, BACKEND, [])
    connection.close()
    assert fetch_again(connection, BACKEND, []) != first
    with sessions(1) as [other]:
        assert other.do(fetch_again, connection, DIVIDE, [1]) == (6,)
    assert fetch_again(connection, DIVIDE, [6]) == (1,)


def test_a_wrapper_may_execute_the_same_statement_around_it() -> None:
    inner: list[Any] = []

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        done = execute(sql, params, many, context)
        if params != [2]:
            inner.append(fetch_again(connection, DIVIDE, [2]))
        return done

    with connection.execute_wrapper(wrapper):
        assert fetch_again(connection, DIVIDE, [1]) == (6,)
    assert inner == [(3,)]
