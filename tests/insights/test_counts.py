"""How much waits, runs and ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights import counts
from jobs_app.insights.counts import QueueCounts
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import Job, JobRun
from tests.by_hand import HandWorker

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def report() -> Any:
    @job(queue="reports")
    def report(fails: bool = False) -> None:
        if fails:
            raise ValueError("no")

    return report


def at(seconds: float) -> Any:
    return frozen_clock(NOON + timedelta(seconds=seconds))


def the_queue() -> QueueCounts:
    (found,) = counts.live(connection).queues
    return found


def test_a_queue_of_a_known_type_is_there_when_it_is_empty() -> None:
    assert the_queue() == QueueCounts(queue="reports")


def test_what_waits_is_told_apart_as_people_do(report: Any) -> None:
    with at(0):
        report.options(delay=60).enqueue()
        for _ in range(3):
            report.enqueue()
        Job.objects.filter(pk=report.enqueue().id).update(attempts=1, run_at=NOON + timedelta(seconds=30))
    with at(10):
        found = the_queue()
    assert (found.queued, found.scheduled, found.retrying, found.running, found.waiting) == (3, 1, 1, 0, 5)
    assert found.oldest_due_at == NOON


def test_the_oldest_is_found_over_all_priorities_and_is_not_one_that_is_due_later(report: Any) -> None:
    for seconds, priority in ((5, 10), (2, -10), (8, 0)):
        with at(seconds):
            report.options(priority=priority).enqueue()
    with at(9):
        assert the_queue().oldest_due_at == NOON + timedelta(seconds=2)
    Job.objects.update(run_at=NOON + timedelta(seconds=99))
    with at(9):
        assert the_queue().oldest_due_at is None


def test_what_runs_is_counted_where_it_runs(report: Any) -> None:
    report.enqueue()
    report.options(queue="elsewhere").enqueue()
    assert len(HandWorker().claim(2)) == 2
    found = {each.queue: each for each in counts.live(connection).queues}
    assert {name: (each.queued, each.running) for name, each in found.items()} == {
        "elsewhere": (0, 1),
        "reports": (0, 1),
    }


def test_no_more_rows_are_counted_than_the_limit(report: Any) -> None:
    report.enqueue_many([{}] * 5)
    assert not counts.live(connection, limit=5).is_capped
    capped = counts.live(connection, limit=4)
    assert (capped.is_capped, capped.queues[0].queued) == (True, 5)
    assert counts.live(connection, limit=1).queues[0].queued == 2


def test_counting_takes_a_few_queries_whatever_waits(
    report: Any, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    report.enqueue_many([{}] * 50)
    for priority in range(20):
        report.options(priority=priority).enqueue()
    with django_assert_max_num_queries(5):
        counts.live(connection)


def test_the_system_queue_shows_only_when_it_holds_something(report: Any) -> None:
    @job(name="jobs.own", queue="jobs.system")
    def chore() -> None: ...

    assert the_queue().queue == "reports"
    chore.enqueue()
    assert [each.queue for each in counts.live(connection).queues] == ["jobs.system", "reports"]


def test_what_ended_is_counted_by_how_it_ended(report: Any) -> None:
    worker = HandWorker()
    with at(0):
        for fails in (False, False, True):
            report.options(max_attempts=1).enqueue(fails=fails)
            worker.work()
    with at(3600):
        found = counts.ended(connection)
        assert found.states == {"succeeded": 2, "failed": 1, "cancelled": 0}
        assert (found.since, found.is_capped) == (NOON - timedelta(hours=23), False)
        assert counts.ended(connection, limit=2).is_capped
    with at(25 * 3600):
        assert sum(counts.ended(connection).states.values()) == 0
    assert JobRun.objects.count() == 3


def test_the_apps_own_chores_are_not_among_what_ended(report: Any) -> None:
    @job(name="jobs.own", queue="jobs.system")
    def chore() -> None: ...

    worker = HandWorker()
    for each in (chore, report):
        each.enqueue()
        worker.work()
    assert counts.ended(connection).states == {"succeeded": 1, "failed": 0, "cancelled": 0}
