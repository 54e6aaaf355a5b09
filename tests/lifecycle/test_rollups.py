"""Minutes as numbers: right, the same when done again, and made up for when they were missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.ids import slot_id
from jobs_app.insights.samples import Point, series
from jobs_app.lifecycle.rollups import MINUTE, Sample, of_minute, roll_up, write
from jobs_app.models import JobRun, StatSample
from jobs_app.registry import SYSTEM_QUEUE
from tests.lifecycle.history import finished
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import T, at, stored

pytestmark = pytest.mark.django_db


def ended(seconds: float, length: float = 1.0, state: str = "succeeded", **columns: Any) -> None:
    """One run that ended so many seconds after T."""
    end = T + timedelta(seconds=seconds)
    moments = {"finished_at": end, "started_at": end - timedelta(seconds=length)}
    finished(0, state, attempts=0, **{"queued_at": T, **moments, **columns})


def numbers(start: datetime = T) -> dict[tuple[str, str], float]:
    return {(sample.series, sample.name): round(sample.value, 3) for sample in of_minute(connection, start)}


def test_what_ended_in_the_minute_is_counted_by_type_and_by_queue() -> None:
    ended(0), ended(59.9, queue="mail"), ended(30, state="failed"), ended(30, job_type="other")
    ended(-0.1), ended(60)
    found = numbers()
    assert found["ended", ""] == 4
    assert (found["ended.succeeded", "work"], found["ended.failed", "work"]) == (2, 1)
    assert found["ended.succeeded", "other"] == 1
    assert (found["finished", "default"], found["finished", "mail"]) == (3, 1)


def test_how_long_they_ran() -> None:
    for length in range(1, 21):
        ended(30, length)
    ended(30, 7, job_type="other")
    ended(30, job_type="unstarted", started_at=None)
    found = numbers()
    assert [found[f"duration.{name}", "work"] for name in ("p50", "p95", "max", "sum")] == [10, 19, 20, 210]
    assert [found[f"duration.{name}", "other"] for name in ("p50", "p95", "max", "sum")] == [7, 7, 7, 7]
    assert ("duration.p50", "unstarted") not in found
    counts = {sample.count for sample in of_minute(connection, T) if sample.series == "duration.p50"}
    assert counts == {20, 1}


def test_what_was_enqueued_in_the_minute_is_counted_whether_it_has_ended_or_not() -> None:
    @job(name="work", queue="mail")
    def work() -> None: ...

    work.enqueue_many([{}] * 3)
    now = datetime.now(UTC)
    start = now.replace(second=0, microsecond=0)
    if not numbers(start).get(("enqueued", "mail")):
        start -= MINUTE  # a minute ended in between
    assert numbers(start)["enqueued", "mail"] == 3
    finished(0, queue="mail", queued_at=start, finished_at=now, id=work.enqueue().id)
    assert numbers(start)["enqueued", "mail"] >= 4
    assert ("enqueued", "mail") not in numbers(start - 5 * MINUTE)


def test_a_slot_that_was_made_up_for_is_enqueued_when_its_job_was_made() -> None:
    late = T - timedelta(hours=3)
    with at(10):
        stored(id=slot_id("work", "", "", late), slot_at=late, schedule=1)
        stored(id=slot_id("work", "", "", T), slot_at=T, schedule=1)
    assert numbers()["enqueued", "default"] == 2
    assert ("enqueued", "default") not in numbers(late)


def test_the_apps_own_chores_are_not_in_it() -> None:
    ended(10, queue=SYSTEM_QUEUE)
    assert numbers() == {("ended", ""): 0}


def test_doing_it_again_gives_the_same() -> None:
    ended(10)
    for _ in range(2):
        with at(60):
            assert roll_up(connection) == 1
    first = list(StatSample.objects.order_by("pk").values())
    with at(119):
        roll_up(connection)
    assert list(StatSample.objects.order_by("pk").values()) == first
    assert {row["at"] for row in first} == {T}


def test_minutes_that_were_missed_are_made_up_for_up_to_an_hour() -> None:
    with at(60):
        assert roll_up(connection) == 1
    ended(130)
    with at(4 * 60):
        assert roll_up(connection) == 4  # the newest known once more
    assert series(connection, "ended.succeeded", "work", T) == [Point(T + 2 * MINUTE, 1, 1)]
    assert [point.at for point in series(connection, "ended", "", T)] == [T + n * MINUTE for n in range(4)]
    with at(500 * 60):
        assert roll_up(connection) == 60


def test_a_report_that_comes_late_is_counted_when_its_minute_is_done_again() -> None:
    with at(60):
        roll_up(connection)
    ended(59)
    with at(120):
        roll_up(connection)
    assert series(connection, "ended.succeeded", "work", T) == [Point(T, 1, 1)]


def test_it_stops_when_it_is_asked_to() -> None:
    with at(60):
        roll_up(connection)
    with at(600):
        assert roll_up(connection, go_on=lambda: False) == 0


def test_a_series_is_read_from_a_moment_on_and_by_its_name() -> None:
    for minute in range(3):
        write(connection, T + minute * MINUTE, [Sample("waiting", "mail", minute), Sample("waiting", "calls", 9)])
    assert [point.value for point in series(connection, "waiting", "mail", T + MINUTE)] == [1, 2]
    assert [point.value for point in series(connection, "waiting", "mail", T, limit=1)] == [0]


def test_the_cost_follows_the_minute_and_not_the_history(on_postgres: None) -> None:
    for minute in range(-40, 0):
        for second in range(0, 60, 2):
            ended(60 * minute + second, queued_at=T + timedelta(seconds=60 * minute + second))
    ended(10)
    assert JobRun.objects.count() == 1201
    with connection.cursor() as cursor:
        cursor.execute("SELECT brin_summarize_new_values('jobs_app_run_finished')")
        cursor.execute("ANALYZE jobs_app_jobrun")
    indexes = plans_of(lambda: list(of_minute(connection, T))).indexes()
    assert "jobs_app_run_type_newest" in indexes
