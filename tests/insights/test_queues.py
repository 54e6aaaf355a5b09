"""Queues with what holds, limits and serves them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.insights import queues
from jobs_app.insights.queues import Pace, QueueLine
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.limits import NO_RULES
from jobs_app.models import StatSample, WorkerKind, WorkerState
from tests.by_hand import HandWorker
from tests.lifecycle.rows import stored

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def report() -> Any:
    @job(queue="reports")
    def report() -> None: ...

    return report


def at(seconds: float) -> Any:
    return frozen_clock(NOON + timedelta(seconds=seconds))


def alive(name: str = "one", **given: Any) -> None:
    announce(connection, Presence(id=name, name=name, **({"concurrency": 4, "job_types": ["report"]} | given)))


def line(name: str = "reports") -> QueueLine:
    return next(each for each in queues.listing(connection).lines if each.name == name)


def sampled(series: str, value: float, *, minute: int, name: str = "reports") -> None:
    at = NOON + timedelta(minutes=minute)
    StatSample.objects.create(at=at, seconds=60, series=series, name=name, value=value)


def test_a_queue_that_nobody_serves_says_so() -> None:
    with at(0):
        assert line().state == queues.UNSERVED
        alive(queues=["mail"])
        alive("scheduler", kind=WorkerKind.SCHEDULER)
        assert line().state == queues.UNSERVED
        alive("two", queues=["rep*"])
        assert (line().state, [str(each) for each in line().workers]) == (queues.IDLE, ["two"])
    with at(60):
        assert line().state == queues.UNSERVED


def test_a_worker_that_drains_serves_nothing_new() -> None:
    alive()
    WorkerState.objects.update(draining=True)
    assert line().state == queues.UNSERVED


def test_a_queue_is_behind_when_a_due_job_waits_for_long(report: Any) -> None:
    with at(0):
        report.enqueue()
    with at(120):
        alive()
        assert (line().state, line().oldest_wait) == (queues.ACTIVE, 120)
    with at(121):
        alive()
        assert line().state == queues.BEHIND


def test_a_pause_of_it_or_of_everything_is_told_first(report: Any) -> None:
    with at(0):
        control.pause("queue", "reports", "ops", "flood")
        assert (line().state, line().is_paused_itself) == (queues.PAUSED, True)
        control.resume("queue", "reports", "ops")
        control.pause("all", "", "ops", "fire")
        assert (line().state, line().is_paused_itself) == (queues.PAUSED, False)
        assert [pause.reason for pause in line().pauses] == ["fire"]


def test_the_queue_of_chores_is_never_paused_and_needs_no_worker() -> None:
    stored(job_type="jobs.own", queue="jobs.system")
    control.pause("all", "", "ops", "fire")
    found = line("jobs.system")
    assert (found.pauses, found.state, found.is_own) == ([], queues.ACTIVE, True)


def test_queues_of_settings_of_operators_and_of_pauses_are_there_too(settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"declared": {"concurrency": 2}}}
    control.limit_queue("limited", "ops", concurrency=1)
    control.pause("queue", "paused", "ops")
    assert [each.name for each in queues.listing(connection).lines] == ["declared", "limited", "paused", "reports"]


def test_limits_in_force_stand_beside_those_of_the_settings(settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"reports": {"concurrency": 5, "policy": "singleton"}}}
    assert (line().rules.concurrency, line().has_own_rules) == (5, False)
    control.limit_queue("reports", "ops", concurrency=2)
    found = line()
    assert (found.rules.concurrency, found.declared.concurrency, found.has_own_rules) == (2, 5, True)
    assert found.rules.policy == "singleton"


def test_slots_are_those_of_its_workers_up_to_its_limit() -> None:
    alive()
    alive("two", concurrency=6)
    alive("three", queues=["mail"])
    assert line().slots == 10
    control.limit_queue("reports", "ops", concurrency=3)
    assert line().slots == 3


def test_the_pace_is_that_of_the_last_minutes_that_are_over() -> None:
    for minute in range(-10, 0):
        sampled("enqueued", 6, minute=minute)
        sampled("finished", 9, minute=minute)
    sampled("enqueued", 1000, minute=-11)
    sampled("enqueued", 1000, minute=0)
    with at(30):
        assert (line().pace.in_per_minute, line().pace.out_per_minute) == (6, 9)


def test_a_minute_in_which_nobody_looked_is_like_the_one_before() -> None:
    for minute, value in ((-61, 99), (-58, 5), (-3, 7), (-2, 0)):
        sampled("waiting", value, minute=minute)
    with at(30):
        waiting = line().pace.waiting
    assert waiting == [0, 0, *[5] * 55, 7, 0]


def test_the_pace_ends_where_the_roll_ups_have_come_to() -> None:
    for minute in range(-14, -4):
        sampled("enqueued", 6, minute=minute)
        sampled("ended", 0, minute=minute, name="")
    with at(30):
        assert (line().pace.in_per_minute, line().pace.out_per_minute) == (6, 0)


def test_without_roll_ups_no_pace_is_told() -> None:
    assert line().pace == Pace()
    assert line().pace.drained_in(5) is None


@pytest.mark.parametrize(
    ("waiting", "pace", "seconds"),
    [
        (0, Pace(in_per_minute=5, out_per_minute=1), 0.0),
        (30, Pace(in_per_minute=1, out_per_minute=4), 600.0),
        (30, Pace(in_per_minute=4, out_per_minute=4), None),
        (30, Pace(in_per_minute=9, out_per_minute=4), None),
        (30, Pace(), None),
    ],
)
def test_a_queue_is_empty_when_more_goes_out_than_comes_in(waiting: int, pace: Pace, seconds: float | None) -> None:
    assert pace.drained_in(waiting) == seconds


def test_the_backlog_tells_what_waits_most_whatever_holds_it(report: Any) -> None:
    stored(3, job_type="work", queue="reports", subject="a")
    stored(2, job_type="work", queue="reports", subject="b")
    stored(1, job_type="other", queue="reports")
    stored(4, job_type="work", queue="elsewhere", subject="c")
    stored(2, job_type="work", queue="reports", subject="k", policy="singleton", key="k", gate=2)
    control.pause("subject", "b", "ops")
    assert HandWorker().claim(0) == []
    found = queues.backlog(connection, "reports")
    assert (found.size, found.is_sample) == (8, False)
    assert found.job_types == [("work", 7), ("other", 1)]
    assert found.subjects == [("a", 3), ("b", 2), ("k", 2)]


def test_what_runs_is_not_in_the_backlog() -> None:
    stored(2, job_type="report", queue="reports")
    assert len(HandWorker().claim(1)) == 1
    assert queues.backlog(connection, "reports").size == 1


def test_no_more_rows_are_sampled_than_the_limit() -> None:
    stored(5, queue="reports")
    found = queues.backlog(connection, "reports", limit=3)
    assert (found.size, found.is_sample, found.job_types) == (3, True, [("work", 3)])
    assert queues.backlog(connection, "reports", top=0).job_types == []


def test_the_number_of_queries_is_the_same_for_any_number_of_queues() -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            queues.listing(connection)
        return len(captured)

    stored(queue="reports")
    usual = queries()
    for number in range(20):
        stored(queue=f"queue{number}", priority=number)
        control.pause("queue", f"queue{number}", "ops")
        control.limit_queue(f"queue{number}", "ops", concurrency=1)
        sampled("waiting", 1, minute=-1, name=f"queue{number}")
        alive(f"worker{number}")
    assert queries() == usual
    assert line().rules == NO_RULES
