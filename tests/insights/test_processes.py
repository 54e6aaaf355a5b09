"""Who is alive and who has gone silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from jobs_app.insights import processes
from jobs_app.models import Job, WorkerState

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def process(name: str, *, silent: float = 0, **columns: Any) -> WorkerState:
    seen_at = NOW - timedelta(seconds=silent)
    return WorkerState.objects.create(id=name, started_at=seen_at, seen_at=seen_at, **columns)


def slots_for(queue: str) -> int:
    return sum(each.slots for each in processes.all_of(connection, NOW).serving(queue))


@pytest.mark.parametrize(
    ("silent", "draining", "status"),
    [(0, False, "alive"), (30, False, "alive"), (30.1, False, "late"), (0, True, "draining"), (31, True, "late")],
)
def test_a_process_is_late_after_a_lease_without_a_word(silent: float, draining: bool, status: str) -> None:
    assert processes.status_of(process("a", silent=silent, draining=draining), now=NOW) == status


def test_late_follows_the_lease(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECONDS": 10}  # of this process; what another one promised is in its row
    assert processes.status_of(process("short", silent=6, beat_seconds=5 / 3), now=NOW) == "late"
    assert processes.status_of(process("long", silent=200, beat_seconds=100), now=NOW) == "alive"
    assert processes.status_of(process("gone", silent=301, beat_seconds=100), now=NOW) == "late"


def test_those_seen_last_come_first() -> None:
    for name, silent in (("old", 9), ("new", 1), ("middle", 5)):
        process(name, silent=silent)
    assert [each.id for each in processes.newest(connection)] == ["new", "middle", "old"]
    assert [each.id for each in processes.newest(connection, limit=1)] == ["new"]


def test_who_is_silent_for_two_leases_is_lost() -> None:
    assert processes.status_of(process("late", silent=60, beat_seconds=10), now=NOW) == "late"
    assert processes.status_of(process("lost", silent=60.1, beat_seconds=10), now=NOW) == "lost"
    assert processes.status_of(process("patient", silent=500, beat_seconds=100), now=NOW) == "late"


def test_who_was_asked_to_drain_counts_as_draining_before_it_has_heard_of_it() -> None:
    assert processes.status_of(process("a", drain_requested=True), now=NOW) == "draining"


def test_slots_and_queues_are_those_of_workers_that_take_jobs() -> None:
    process("all", concurrency=3)
    process("mail", concurrency=2, queues=["mail"])
    process("not mail", concurrency=5, excluded=["mail"])
    process("leaving", concurrency=7, draining=True)
    process("gone", concurrency=9, silent=100)
    process("clock", kind="scheduler")
    found = processes.all_of(connection, NOW)
    assert (found.slots, slots_for("mail"), slots_for("other")) == (10, 5, 8)
    assert found.has_scheduler
    assert found.statuses == {"alive": 3, "draining": 1, "lost": 1}


def test_a_queue_is_served_by_who_drains_but_not_by_who_is_gone_or_a_scheduler() -> None:
    process("clock", kind="scheduler")
    process("gone", silent=100)
    assert processes.all_of(connection, NOW).serving("mail") == []
    process("leaving", draining=True, queues=["mail"])
    found = processes.all_of(connection, NOW)
    assert [each.row.id for each in found.serving("mail")] == ["leaving"]
    assert (found.serving("other"), slots_for("mail")) == ([], 0)


def test_versions_are_those_of_what_lives_and_has_the_code() -> None:
    process("old", version="1.0"), process("new", version="1.1"), process("clock", version="1.1", kind="scheduler")
    process("gone", version="0.9", silent=500), process("far", version="client-3", kind="remote")
    assert processes.all_of(connection, NOW).versions == {"1.0": 1, "1.1": 2}


def running(worker: str, count: int, queue: str = "default") -> None:
    moments = {"run_at": NOW, "queued_at": NOW, "lease_expires_at": NOW + timedelta(minutes=1)}
    for number in range(count):
        given = {"job_type": f"work{number}", "queue": queue, "state": "running", "worker_id": worker, "payload": {}}
        started = {"started_at": NOW - timedelta(seconds=number), "token": uuid4(), "max_attempts": 1}
        Job.objects.create(**given, **moments, **started)


def test_what_each_runs_is_told_with_a_constant_number_of_queries(django_assert_num_queries: Any) -> None:
    for name in ("a", "b"):
        process(name)
    running("a", 7)
    running("a", 1, queue="jobs.system")
    with django_assert_num_queries(3):
        first, second = processes.at_work(connection, NOW).found
    assert (first.running, [job.job_type for job in first.jobs]) == (7, ["work6", "work5", "work4", "work3", "work2"])
    assert (second.running, second.jobs) == (0, [])
    for name in "cdefgh":
        process(name)
        running(name, 3)
    with django_assert_num_queries(3):
        processes.at_work(connection, NOW)


def test_one_process_is_found_with_what_it_runs() -> None:
    process("a")
    running("a", 3)
    found = processes.one(connection, "a", NOW)
    assert found is not None
    assert (found.status, found.running, len(found.jobs)) == ("alive", 3, 3)
    assert processes.one(connection, "nobody", NOW) is None
