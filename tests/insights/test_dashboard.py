"""What the dashboard counts, and how many queries that takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.insights import checklist, dashboard
from jobs_app.insights.dashboard import Now, Schedules
from jobs_app.lifecycle import control
from jobs_app.models import Job, ScheduleState
from tests.insights.planning import worker
from tests.lifecycle.rows import T, at, one_running, stored

pytestmark = pytest.mark.django_db


def now(seconds: float = 0) -> Now:
    with at(seconds):
        return dashboard.read_now(connection)


def test_queues_have_their_slots_as_far_as_their_limit_lets_them() -> None:
    with at(0):
        stored(queue="mail"), stored(queue="sync")
        control.limit_queue("sync", "ann", concurrency=1)
    worker("all", 3)
    worker("mail", 2, queues=["mail"])
    found = {each.name: each for each in now().queues}
    assert [(name, each.slots, len(each.workers)) for name, each in found.items()] == [("mail", 5, 2), ("sync", 1, 1)]
    assert now().processes.slots == 5


def test_the_oldest_wait_names_the_run_that_waits() -> None:
    with at(-50):
        stored(queue="young")
    with at(-100):
        [run_id] = stored(queue="old")
        stored(queue="old", priority=-5)
    Job.objects.filter(queue="old", priority=-5).update(run_at=T - timedelta(seconds=90))
    found = now()
    assert found.oldest is not None
    assert (found.oldest.run_id, found.oldest.queue, found.oldest.due_at) == (run_id, "old", T - timedelta(seconds=100))
    assert {each.name: each.oldest_wait for each in found.queues} == {"old": 100, "young": 50}


def test_chores_are_not_counted_among_what_waits_and_runs() -> None:
    with at(0):
        stored(2, queue="mail")
        one_running(queue="sync")
        stored(queue="jobs.system")
    found = now()
    assert (found.waiting, found.running, [each.name for each in found.queues]) == (2, 1, ["mail", "sync"])


def test_the_number_of_queries_does_not_depend_on_what_there_is(django_assert_num_queries: Any) -> None:
    with at(0):
        stored(queue="q")
        with CaptureQueriesContext(connection) as few:
            dashboard.read_now(connection)
        for number in range(15):
            stored(3, queue=f"q{number}", priority=number)
            worker(f"w{number}", 1)
        with django_assert_num_queries(len(few)):
            dashboard.read_now(connection)


def schedule(name: str, *, late: float = -3600, **columns: Any) -> None:
    given = {"job_type": name, "interval_seconds": 60, "next_run_at": T - timedelta(seconds=late)}
    ScheduleState.objects.create(**given | columns)


def test_schedules_are_counted_by_what_is_wrong_with_them() -> None:
    schedule("well"), schedule("late", late=61), schedule("on time", late=59)
    (
        schedule("failing", failures=2),
        schedule("off", disabled=True, failures=9),
        schedule("paused", late=900, paused=True),
    )
    schedule("gone", retired=True, late=900), schedule("jobs.prune", late=700), schedule("over", next_run_at=None)
    with at(0):
        found = dashboard.read_schedules(connection)
    assert found == Schedules(active=4, overdue=2, disabled=1, failing=1)


def test_stale_runs_are_counted_by_kind() -> None:
    with at(0):
        one_running()
        assert dashboard.read_stale(connection).kinds == {"lost": 1}
    with at(100):
        found = dashboard.read_stale(connection)
    assert (found.kinds, found.total, found.is_capped) == ({"expired": 1}, 1, False)


def test_the_first_steps_are_ticked_by_what_is_there() -> None:
    assert checklist.read(connection) == checklist.Checklist(has_job_type=False, has_run=False)

    @job(name="jobs.own", queue="jobs.system")
    def own() -> None: ...

    own.enqueue()
    assert not checklist.read(connection).is_done

    @job
    def first() -> None: ...

    assert checklist.read(connection) == checklist.Checklist(has_job_type=True, has_run=False)
    first.enqueue()
    assert checklist.read(connection).is_done
