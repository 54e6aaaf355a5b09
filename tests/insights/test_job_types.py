"""Job types with what the database knows of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.insights import histogram, job_types
from jobs_app.insights.histogram import Bar
from jobs_app.insights.job_types import TypeLine
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.rollups import roll_up
from jobs_app.models import JobRun, ScheduleState, StatSample
from jobs_app.registry import registry
from tests.by_hand import HandWorker
from tests.lifecycle.rows import stored

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def report() -> Any:
    @job(queue="reports", max_attempts=1)
    def report(fails: bool = False) -> None:
        if fails:
            raise ValueError("no paper")

    return report


def at(seconds: float) -> Any:
    return frozen_clock(NOON + timedelta(seconds=seconds))


def line(name: str = "report") -> TypeLine:
    found = {each.name: each for each in job_types.listing(connection).lines}
    assert found[name] == job_types.one(connection, name)
    return found[name]


def sampled(series: str, value: float, *, name: str = "report", minute: int = 0, count: int = 1) -> None:
    at = NOON + timedelta(minutes=minute)
    StatSample.objects.create(at=at, seconds=60, series=series, name=name, value=value, count=count)


def test_a_type_of_code_is_there_without_a_run(report: Any) -> None:
    found = line()
    assert (found.job_type, found.live, found.ended.runs, found.schedules) == (report.job_type, 0, 0, 0)
    assert (found.ended.failure_rate, found.ended.p50, found.last_error, found.pause) == (None, None, None, None)
    assert found.is_enabled


def test_what_only_the_database_knows_is_told_as_such(report: Any) -> None:
    stored(job_type="gone.live")
    report.enqueue()
    HandWorker().work()
    registry.unregister("report")
    found = {each.name: each.job_type for each in job_types.listing(connection).lines}
    assert found == {"gone.live": None, "report": None}
    assert job_types.one(connection, "report") is not None
    assert job_types.one(connection, "never heard of") is None


def test_runs_and_failures_are_those_of_24_hours(report: Any) -> None:
    worker = HandWorker()
    with at(0):
        for fails in (False, False, True, False):
            report.enqueue(fails=fails)
            worker.work()
    with at(60):
        roll_up(connection)
        found = line()
        assert (found.ended.runs, found.ended.failed, found.ended.failure_rate) == (4, 1, 0.25)
    with at(25 * 3600):
        assert line().ended.runs == 0


def test_one_that_was_cancelled_counts_as_a_run_and_not_for_the_rate() -> None:
    sampled("ended.cancelled", 3)
    sampled("ended.succeeded", 1)
    with at(60):
        found = line().ended
    assert (found.runs, found.failure_rate) == (4, 0.0)


@pytest.mark.spec("S4.25")
def test_durations_of_minutes_count_by_their_runs() -> None:
    sampled("ended.succeeded", 10)
    for minute, seconds, count in ((0, 1.0, 9), (1, 11.0, 1)):
        sampled("duration.p50", seconds, minute=minute, count=count)
        sampled("duration.p95", 2 * seconds, minute=minute, count=count)
    with at(120):
        assert (line().ended.p50, line().ended.p95) == (2.0, 4.0)


def test_the_last_error_is_that_of_the_newest_run_that_failed(report: Any) -> None:
    worker, runs = HandWorker(), []
    for seconds in (0, 10):
        with at(seconds):
            runs.append(report.enqueue(fails=True).id)
            worker.work()
    found = line().last_error
    assert found is not None
    assert (found.run_id, found.at) == (runs[1], NOON + timedelta(seconds=10))
    assert "no paper" in found.text


def test_of_a_long_error_only_the_beginning_is_read(report: Any) -> None:
    report.enqueue(fails=True)
    HandWorker().work()
    JobRun.objects.update(error="x" * 5000)
    found = line().last_error
    assert found is not None
    assert len(found.text) == job_types.LONGEST_ERROR


def test_what_waits_and_runs_is_counted_up_to_a_limit(report: Any) -> None:
    report.enqueue_many([{}] * 3)
    HandWorker().claim(1)
    assert (line().waiting, line().running) == (2, 1)
    assert not job_types.listing(connection, limit=3).is_capped
    assert job_types.listing(connection, limit=2).is_capped


def test_a_pause_counts_while_it_is_in_force() -> None:
    with at(0):
        control.pause("job_type", "report", "ops", "broken", until=NOON + timedelta(hours=1))
        found = line().pause
        assert found is not None
        assert (found.actor, found.reason) == ("ops", "broken")
    with at(3601):
        assert line().pause is None


def test_schedules_that_are_not_retired_are_counted() -> None:
    for subject in ("a", "b"):
        ScheduleState.objects.create(job_type="report", subject=subject, interval_seconds=60)
    ScheduleState.objects.create(job_type="report", subject="c", interval_seconds=60, retired=True)
    assert line().schedules == 2
    assert [str(each) for each in job_types.schedules_of(connection, "report", limit=2)] == ["report a", "report b"]


def test_a_switch_that_fails_is_told_and_costs_nothing_else() -> None:
    def broken() -> bool:
        raise RuntimeError

    @job(enabled=broken)
    def moody() -> None: ...

    @job(enabled=False)
    def off() -> None: ...

    assert (line("moody").is_enabled, line("off").is_enabled) == (None, False)


def test_the_apps_own_chores_are_told_apart(chores: Any) -> None:
    assert {each.name for each in job_types.listing(connection).lines if each.is_own} == {
        *(each.name for each in registry if each.queue == "jobs.system"),
        "jobs.webhook",
        "jobs.webhook_failures",
    }


def test_the_number_of_queries_is_the_same_for_any_number_of_types() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            job_types.listing(connection)
        return len(captured)

    usual = queries()
    for number in range(30):

        @job(name=f"other{number}")
        def other() -> None: ...

        sampled("ended.succeeded", 1, name=f"other{number}")
        sampled("ended.failed", 1, name=f"other{number}")
        stored(job_type=f"unknown{number}")
    assert queries() == usual


def test_each_hour_of_the_day_has_its_ends() -> None:
    sampled("ended.succeeded", 2, minute=-60)
    sampled("ended.succeeded", 3, minute=-1)
    sampled("ended.failed", 1, minute=-1)
    sampled("ended.failed", 9, minute=-24 * 60)
    with at(0):
        found = job_types.hourly(connection, "report")
    assert [each.at for each in found] == [NOON + timedelta(hours=hour) for hour in range(-23, 1)]
    assert {each.at.hour: dict(each.states) for each in found if each.states} == {11: {"succeeded": 5, "failed": 1}}


def test_subjects_to_choose_from_are_those_of_its_schedules_and_of_history(report: Any) -> None:
    ScheduleState.objects.create(job_type="report", subject="zed", interval_seconds=60)
    ScheduleState.objects.create(job_type="other", subject="other", interval_seconds=60)
    for subject in ("b", "a", "b", ""):
        report.options(subject=subject).enqueue()
        HandWorker().work()
    assert job_types.known_subjects(connection, "report") == ["zed", "a", "b"]
    assert job_types.known_subjects(connection, "report", limit=2) == ["zed", "a"]


def test_a_histogram_has_the_lengths_that_people_think_in() -> None:
    assert histogram.histogram([]) == []
    assert histogram.histogram([0.9, 1.0, 1.1, 9]) == [Bar(0.5, 1, 2), Bar(1, 2, 1), Bar(2, 5, 0), Bar(5, 10, 1)]


def test_a_histogram_has_room_for_the_shortest_and_the_longest() -> None:
    shortest, *_, longest = histogram.histogram([0.0, 1e9])
    assert (shortest, longest) == (Bar(0.0, 0.001, 1), Bar(86400, None, 1))
    assert (shortest.label, longest.label) == ("≤ 1ms", "> 1d")
