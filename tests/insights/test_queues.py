"""Queues with what holds, limits and serves them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.insights import queue_states, queues
from jobs_app.insights.queues import QueueLine
from jobs_app.insights.throughput import NO_HOUR, QueueHour
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
        assert line().state == queue_states.UNSERVED
        alive(queues=["mail"])
        alive("scheduler", kind=WorkerKind.SCHEDULER)
        assert line().state == queue_states.UNSERVED
        alive("two", queues=["rep*"])
        assert (line().state, [str(each.row) for each in line().workers]) == (queue_states.IDLE, ["two"])
    with at(60):
        assert line().state == queue_states.UNSERVED


def test_a_worker_that_drains_has_no_slot_and_counts_until_it_is_replaced_or_gone() -> None:
    with at(0):
        alive()
        WorkerState.objects.update(draining=True)
        assert (line().state, line().slots, len(line().workers)) == (queue_states.IDLE, 0, 1)
    with at(60):
        assert (line().state, line().workers) == (queue_states.UNSERVED, [])


def test_a_backlog_that_becomes_larger_and_larger_is_growing() -> None:
    with at(0):
        alive()
        stored(queue_states.MANY_WAIT, queue="reports")
        for minute in range(-5, 0):
            sampled("waiting", 100 + 10 * minute, minute=minute)
        assert (line().hour.trend, line().state) == (pytest.approx(10), queue_states.GROWING)


def test_a_queue_is_behind_when_a_due_job_waits_for_long(report: Any) -> None:
    with at(0):
        report.enqueue()
    with at(120):
        alive()
        assert (line().state, line().oldest_wait) == (queue_states.ACTIVE, 120)
    with at(121):
        alive()
        assert line().state == queue_states.BEHIND


def test_a_pause_of_it_or_of_everything_is_told_first(report: Any) -> None:
    with at(0):
        control.pause("queue", "reports", "ops", "flood")
        assert (line().state, line().is_paused_itself) == (queue_states.PAUSED, True)
        control.resume("queue", "reports", "ops")
        control.pause("all", "", "ops", "fire")
        assert (line().state, line().is_paused_itself) == (queue_states.PAUSED, False)
        assert [pause.reason for pause in line().pauses] == ["fire"]


def test_the_queue_of_chores_is_never_paused_and_needs_no_worker() -> None:
    stored(job_type="jobs.own", queue="jobs.system")
    control.pause("all", "", "ops", "fire")
    found = line("jobs.system")
    assert (found.pauses, found.state, found.is_own) == ([], queue_states.ACTIVE, True)


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


def test_the_last_hour_is_that_of_the_queue() -> None:
    for minute in range(-10, 0):
        sampled("ended", 100, minute=minute, name="")
        sampled("enqueued", 6, minute=minute)
        sampled("finished", 9, minute=minute)
        sampled("enqueued", 1000, minute=minute, name="mail")
    sampled("waiting", 30, minute=-1)
    with at(30):
        stored(30, queue="reports")
        found = line()
    assert found.hour == QueueHour(waiting=[30], per_minute_in=6, per_minute_out=9)
    assert found.drained_in == 600


def test_hours_that_were_read_before_are_not_read_again() -> None:
    sampled("waiting", 1, minute=-1)
    with CaptureQueriesContext(connection) as captured:
        given = queues.listing(connection, {"reports": QueueHour(waiting=[7])})
    assert [each.hour.waiting for each in given.lines] == [[7]]
    assert not any("statsample" in query["sql"] for query in captured)


def test_without_roll_ups_no_speed_is_told() -> None:
    assert (line().hour, line().drained_in) == (NO_HOUR, 0.0)
    stored(queue="reports")
    assert line().drained_in is None


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
