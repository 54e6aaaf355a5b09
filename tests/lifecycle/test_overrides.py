"""What operators changed of the settings comes into a process: cheaply, and without ever stopping it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.conf import forget_overrides, get_settings
from jobs_app.lifecycle import control, overrides
from jobs_app.lifecycle.overrides import keep_up, read_overrides
from jobs_app.models import Job, RuntimeSetting

Queries = Callable[[int], Any]
committing = pytest.mark.django_db(transaction=True)


def stored(**values: Any) -> None:
    for name, value in values.items():
        RuntimeSetting.objects.update_or_create(name=name, defaults={"value": value})


@pytest.fixture
def process() -> None:
    """One that has asked for nothing yet."""
    forget_overrides()


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    overrides._said.clear()


@pytest.mark.django_db
def test_rows_come_into_force_with_one_query(django_assert_num_queries: Queries) -> None:
    stored(lease_seconds=60, reconcile_applies=["lost"], max_timeout_seconds="none")
    with django_assert_num_queries(1):
        assert read_overrides(connection)
    settings = get_settings()
    assert (settings.lease_seconds, settings.reconcile_applies, settings.max_timeout_seconds) == (60, ("lost",), None)
    assert not read_overrides(connection)
    RuntimeSetting.objects.all().delete()
    assert read_overrides(connection)
    assert get_settings().lease_seconds == 30


@pytest.mark.django_db
def test_a_broken_value_is_left_out_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    stored(lease_seconds=60, max_attempts={"a": 1}, dance=1)
    for _ in range(3):
        read_overrides(connection)
    assert (get_settings().lease_seconds, get_settings().max_attempts) == (60, 5)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [line.partition(":")[0] for line in told] == [
        "the override of dance is left out",
        "the override of max_attempts is left out",
    ]


@committing
@pytest.mark.usefixtures("process")
def test_an_enqueue_asks_once_in_a_while_and_not_each_time(django_assert_num_queries: Queries) -> None:
    @job
    def plain() -> None: ...

    stored(max_attempts=9)
    with CaptureQueriesContext(connection) as first:
        plain.enqueue()
    with CaptureQueriesContext(connection) as second:
        plain.enqueue()
    assert len(first) == len(second) + 1
    assert set(Job.objects.values_list("max_attempts", flat=True)) == {9}


@committing
@pytest.mark.usefixtures("process")
def test_an_enqueue_in_a_transaction_asks_too() -> None:
    @job
    def plain() -> None: ...

    stored(max_attempts=9)
    with transaction.atomic():
        plain.enqueue()
        plain.enqueue_many([{}])
    assert set(Job.objects.values_list("max_attempts", flat=True)) == {9}


@committing
@pytest.mark.usefixtures("process")
@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite has deferred transactions")
def test_an_enqueue_in_a_deferred_transaction_does_not_read_before_it_writes(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Queries
) -> None:
    stored(max_attempts=9)
    with monkeypatch.context() as patch:
        patch.setattr(connections["default"], "transaction_mode", "DEFERRED")
        with transaction.atomic(), django_assert_num_queries(0):
            keep_up()
    keep_up()
    assert get_settings().max_attempts == 9


@pytest.mark.django_db
@pytest.mark.usefixtures("process")
def test_inside_a_test_case_nothing_is_asked_for_that_nobody_changed(django_assert_num_queries: Queries) -> None:
    with django_assert_num_queries(0):
        keep_up()


@pytest.mark.django_db
@pytest.mark.usefixtures("process")
def test_a_test_that_changes_a_setting_has_it_and_the_next_one_does_not() -> None:
    stored(max_attempts=9)
    read_overrides(connection)
    assert get_settings().max_attempts == 9
    RuntimeSetting.objects.all().delete()  # as the end of a test case does
    keep_up()
    assert get_settings().max_attempts == 5


@committing
@pytest.mark.usefixtures("process")
def test_an_enqueue_works_while_the_table_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @job
    def plain() -> None: ...

    monkeypatch.setattr(RuntimeSetting._meta, "db_table", "jobs_app_gone")
    with transaction.atomic():
        run = plain.enqueue()
    assert run.refresh().status == "queued"
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@committing
def test_a_change_holds_at_once_where_it_was_made_and_with_its_commit() -> None:
    with transaction.atomic():
        control.change_setting("max_attempts", 9, actor="ann")
        assert get_settings().max_attempts == 5
    assert get_settings().max_attempts == 9
    with transaction.atomic():
        control.change_setting("max_attempts", 7, actor="ann")
        transaction.set_rollback(True)
    assert get_settings().max_attempts == 9


@committing
@pytest.mark.usefixtures("process")
def test_threads_that_begin_together_agree() -> None:
    stored(max_attempts=9)
    found: list[int] = []

    def ask() -> None:
        try:
            keep_up()
            read_overrides(connection)
            found.append(get_settings().max_attempts)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [9] * 8
