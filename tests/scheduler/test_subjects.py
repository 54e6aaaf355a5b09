"""Subjects of a source become schedules."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from jobs_app import job, subjects
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ControlEvent, ScheduleState
from jobs_app.scheduler import subjects as subjects_module
from jobs_app.scheduler.reading import SourceFailed, read_source
from jobs_app.scheduler.subjects import SubjectsSynced, sync_subjects
from jobs_app.sources import Source, sources
from tests.scheduler.schedules import NOON, after, schedule

pytestmark = pytest.mark.django_db

registered: list[Any] = []


@pytest.fixture(autouse=True)
def at_noon() -> Iterator[None]:
    registered[:] = []
    declare(per_hour=4)
    with frozen_clock(NOON):
        yield


def declare(**options: Any) -> None:
    @job(name="deal", subject="provider", **options)
    def deal(provider: str) -> None: ...

    @job(name="retrieval", per_hour=6, subject="provider")
    def retrieval(provider: str) -> None: ...

    @subjects("deal", "retrieval")
    def providers() -> Any:
        return iter(registered)


def the_source() -> Source:
    source = sources.of("deal")
    assert source is not None
    return source


def sync(*now_registered: Any) -> SubjectsSynced:
    registered[:] = now_registered
    return sync_subjects(connection, the_source())


def names(**conditions: Any) -> set[str]:
    return {str(row) for row in ScheduleState.objects.filter(**conditions)}


@pytest.mark.spec("S0.1", "S0.13", "S0.15")
def test_each_subject_gets_a_schedule_for_each_job_type_of_the_source() -> None:
    assert sync("f01", "f02").created == 4
    assert names(origin="source") == {"deal f01", "deal f02", "retrieval f01", "retrieval f02"}
    row = ScheduleState.objects.get(job_type="deal", subject="f01")
    assert (row.interval_seconds, row.next_run_at, row.last_run_at, row.paused) == (900, NOON, None, False)
    assert (row.catch_up, row.catch_up_max, row.spread_seconds) == ("all", 10, 10800)
    assert row.payload == {"provider": "f01"}


def test_repeating_it_changes_nothing_and_writes_nothing(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    sync("f01", "f02")
    before = list(ScheduleState.objects.order_by("pk").values())
    with frozen_clock(after(100)), django_assert_num_queries(3):
        # The rows of the chunk, and a look through the subjects of each of the two types.
        assert sync("f01", "f02") == SubjectsSynced()
    assert list(ScheduleState.objects.order_by("pk").values()) == before


@pytest.mark.spec("S0.14", "S0.16")
def test_a_subject_that_is_gone_takes_its_schedules_along() -> None:
    sync("f01", "f02")
    schedule("deal", subject="f02", name="by hand", origin="admin")
    assert sync("f01").deleted == 2
    assert names() == {"deal f01", "retrieval f01", "deal f02 by hand"}


@pytest.mark.spec("S0.R6", "A0.7")
def test_a_source_that_comes_back_empty_deletes_nothing_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    sync("f01")
    registered[:] = []
    with caplog.at_level(logging.WARNING, "jobs_app"):
        for _ in range(3):
            read_source(connection, the_source(), lambda: True)
    assert names() == {"deal f01", "retrieval f01"}
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["job_schedule_deletion_skipped"]
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.target_kind, event.moved) == ("scheduler", "keep_schedules", "source", 0)
    registered[:] = ["f01"]
    read_source(connection, the_source(), lambda: True)
    registered[:] = []
    read_source(connection, the_source(), lambda: True)
    assert ControlEvent.objects.count() == 2, "a new streak is told anew"


@pytest.mark.spec("S0.R6")
def test_a_source_of_which_no_row_can_be_read_deletes_nothing_either() -> None:
    sync("f01", "f02")
    done = sync(("f01",), ("f02",))  # values_list without flat=True
    assert (done.deleted, done.is_empty, len(done.refused)) == (0, True, 4)
    assert names(job_type="deal") == {"deal f01", "deal f02"}


def test_an_empty_source_without_schedules_is_nothing_to_tell() -> None:
    assert sync() == SubjectsSynced()


@pytest.mark.spec("S0.R1", "S0.R3", "A0.7")
def test_another_rate_changes_the_interval_and_neither_the_pause_nor_the_next_slot() -> None:
    sync("f01")
    control.pause_schedule(("deal", "f01", ""), "ann")
    declare(per_hour=2)
    with frozen_clock(after(600)):
        assert sync("f01").changed == 1
    row = ScheduleState.objects.get(job_type="deal")
    assert (row.interval_seconds, row.next_run_at, row.paused) == (1800, NOON, True)


def test_what_an_operator_overrode_stays() -> None:
    sync("f01")
    control.change_schedule(("deal", "f01", ""), "ann", every=60)
    declare(per_hour=2, catch_up="skip")
    assert sync("f01").changed == 1
    row = ScheduleState.objects.get(job_type="deal")
    assert (row.interval_seconds, row.catch_up) == (60, "skip")
    assert sync("f01") == SubjectsSynced()


@pytest.mark.spec("S0.R1")
def test_what_an_operator_said_about_a_subject_outlives_its_absence() -> None:
    sync("f01", "f02")
    control.pause_schedule(("deal", "f02", ""), "ann", "under repair")
    assert sync("f01").deleted == 2
    assert names(retired=True) == {"deal f02"}
    assert sync("f01").deleted == 0
    with frozen_clock(after(7200)):
        assert sync("f01", "f02").created == 2
    row = ScheduleState.objects.get(job_type="deal", subject="f02")
    assert (row.retired, row.paused, row.next_run_at) == (False, True, after(7200))


def test_rows_with_a_rate_of_their_own_differ() -> None:
    sync({"subject": "f01", "per_hour": 1}, {"subject": "f02", "cron": "0 9 * * *"}, "f03")
    rows = {row.subject: row for row in ScheduleState.objects.filter(job_type="deal")}
    assert (rows["f01"].interval_seconds, rows["f02"].cron, rows["f03"].interval_seconds) == (3600, "0 9 * * *", 900)
    assert (rows["f01"].catch_up, rows["f02"].catch_up) == ("all", "once")


def test_a_row_that_cannot_be_used_costs_no_other_and_loses_no_schedule(caplog: pytest.LogCaptureFixture) -> None:
    sync("f01", "f02")
    done = sync("f01", {"subject": "f02", "per_hour": -1}, "", "f03")
    assert (done.created, done.deleted, len(done.refused)) == (2, 0, 4)
    assert names(job_type="deal") == {"deal f01", "deal f02", "deal f03"}
    registered[:] = ["f01", ""]
    with caplog.at_level(logging.ERROR, "jobs_app"):
        for _ in range(2):
            read_source(connection, the_source(), lambda: True)
    assert len(caplog.records) == 1
    assert "2 rows cannot be used" in caplog.text


def test_a_payload_that_does_not_fit_costs_no_other_row() -> None:
    done = sync("f01", {"subject": "f02", "payload": {"provider": object()}}, {"subject": "f03", "payload": {}})
    assert names() == {"deal f01", "retrieval f01"}
    assert len(done.refused) == 4
    assert done.refused[-1].endswith("job 'retrieval': provider: is missing")


def test_a_job_type_that_says_no_time_is_named() -> None:
    declare()
    done = sync("f01")
    assert names() == {"retrieval f01"}
    assert "when? Give per_hour=" in done.refused[0]


def test_a_source_that_fails_half_way_deletes_nothing_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    sync("f01", "f02")

    def broken() -> Iterator[str]:
        yield "f03"
        raise RuntimeError("the registry is away")

    source = Source(name="broken", function=broken, job_types=("deal", "retrieval"), kind="subjects")
    with caplog.at_level(logging.ERROR, "jobs_app"):
        for _ in range(2):
            assert isinstance(read_source(connection, source, lambda: True), SourceFailed)
    assert names(job_type="deal") == {"deal f01", "deal f02"}
    assert len([record for record in caplog.records if "source_failed" in record.getMessage()]) == 1


def test_a_source_that_was_not_read_to_its_end_deletes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sync("f01", "f02")
    monkeypatch.setattr(subjects_module, "ROWS_PER_STATEMENT", 1)
    registered[:] = ["f03", "f04"]
    assert sync_subjects(connection, the_source(), lambda: False).deleted == 0
    assert names(job_type="deal") == {"deal f01", "deal f02", "deal f03"}


def test_the_number_of_statements_follows_the_chunks_and_not_the_subjects(
    django_assert_max_num_queries: Callable[[int], Any],
) -> None:
    with django_assert_max_num_queries(30):
        sync(*(f"f{n:05}" for n in range(2000)))
    with django_assert_max_num_queries(30):
        assert sync(*(f"f{n:05}" for n in range(1000, 3000))).deleted == 2000
    assert ScheduleState.objects.count() == 4000


def test_a_source_may_be_a_queryset() -> None:
    from django.contrib.auth.models import User

    User.objects.create(username="f01")

    @job(name="greet", every=60)
    def greet() -> None: ...

    @subjects("greet")
    def active() -> Any:
        return User.objects.filter(is_active=True).values_list("username", flat=True)

    source = sources.of("greet")
    assert source is not None
    assert sync_subjects(connection, source).created == 1
    assert names(job_type="greet") == {"greet f01"}
