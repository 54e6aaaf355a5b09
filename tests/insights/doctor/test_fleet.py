"""Workers and schedulers that are missing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights.doctor.fleet import no_scheduler, no_worker, queue_unserved, silent_workers, versions_differ
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ScheduleState, WorkerKind
from tests.insights.doctor.looking import look
from tests.lifecycle.rows import T, at, stored

pytestmark = pytest.mark.django_db


def arrive(name: str = "worker", **columns: Any) -> None:
    announce(connection, Presence(id=name, name=name, **columns))


def plan() -> None:
    ScheduleState.objects.create(job_type="report", interval_seconds=60, next_run_at=T + timedelta(days=1))


def test_no_worker_is_a_warning_and_a_problem_when_jobs_wait(settings: Any) -> None:
    found = look(no_worker)
    assert (found.level, found.advice) == ("warning", "Start manage.py runworker.")
    stored(queue="mail")
    found = look(no_worker)
    assert (found.level, "jobs wait in mail" in found.sentence) == ("problem", True)
    assert look(queue_unserved).level == "ok"  # is the same fault
    arrive()
    assert look(no_worker).level == "ok"


def test_nobody_misses_workers_where_jobs_run_at_once(settings: Any) -> None:
    settings.JOBS = {"EAGER": True}
    assert look(no_worker).level == "ok"


def test_a_scheduler_is_no_worker() -> None:
    arrive(kind=WorkerKind.SCHEDULER)
    assert look(no_worker).level == "warning"


def test_a_queue_with_jobs_that_nobody_serves_is_a_problem() -> None:
    arrive(queues=["mail"])
    stored(queue="mail")
    assert look(queue_unserved).level == "ok"
    stored(queue="reports")
    found = look(queue_unserved)
    assert (found.level, "serves: reports." in found.sentence) == ("problem", True)
    assert "runworker --queues reports," in found.advice
    arrive("other", queues=["rep*"])
    assert look(queue_unserved).level == "ok"


def test_schedules_without_a_scheduler_are_a_warning() -> None:
    assert look(no_scheduler).level == "ok"
    plan()
    found = look(no_scheduler)
    assert (found.level, "runscheduler" in found.advice) == ("warning", True)
    arrive(kind=WorkerKind.SCHEDULER)
    assert look(no_scheduler).level == "ok"


def test_schedules_while_the_scheduler_is_switched_off_are_a_warning(settings: Any) -> None:
    settings.JOBS = {"SCHEDULER_ENABLED": False}
    plan()
    arrive(kind=WorkerKind.SCHEDULER)
    found = look(no_scheduler)
    assert (found.level, "SCHEDULER_ENABLED" in found.advice) == ("warning", True)


def test_processes_of_different_versions_are_a_note() -> None:
    arrive("one", version="1.0")
    assert look(versions_differ).level == "ok"
    arrive("two", version="1.1")
    found = look(versions_differ)
    assert (found.level, "1.0 (1), 1.1 (1)" in found.sentence) == ("note", True)


def test_a_process_that_went_silent_lately_is_a_warning() -> None:
    with at(0):
        arrive("killed")
        assert look(silent_workers).level == "ok"
    with at(60):
        found = look(silent_workers)
        assert (found.level, "silent: killed." in found.sentence) == ("warning", True)
    with at(3600):
        assert look(silent_workers).level == "ok"  # it was replaced, or no_worker tells
