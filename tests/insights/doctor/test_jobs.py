"""Jobs that nobody will start, and runs that stand still."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights.doctor.jobs import (
    forgotten_pause,
    overdue_runs,
    stale_runs,
    type_unknown_here,
    type_unknown_to_workers,
)
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import Pause
from tests.insights.doctor.looking import look
from tests.lifecycle.rows import T, at, one_running, stored

pytestmark = pytest.mark.django_db


def test_a_waiting_job_whose_type_no_worker_knows_is_a_problem() -> None:
    announce(connection, Presence(id="old", job_types=["work"]))
    stored(job_type="work")
    assert look(type_unknown_to_workers).level == "ok"
    stored(job_type="newer")
    found = look(type_unknown_to_workers)
    assert (found.level, "knows: newer." in found.sentence) == ("problem", True)
    announce(connection, Presence(id="new", job_types=["work", "newer"]))
    assert look(type_unknown_to_workers).level == "ok"


def test_what_only_remote_workers_run_is_told_as_such() -> None:
    @job(name="find-shops", remote=True)
    def find_shops() -> None: ...

    announce(connection, Presence(id="local", job_types=["work"]))
    stored(job_type="find-shops")
    found = look(type_unknown_to_workers)
    assert (found.level, "remote workers" in found.sentence) == ("warning", True)
    assert "python -m jobs_app.client" in found.advice


def test_a_queue_that_nobody_serves_is_told_elsewhere() -> None:
    announce(connection, Presence(id="worker", queues=["mail"]))
    stored(queue="reports")
    assert look(type_unknown_to_workers).level == "ok"


def test_a_waiting_job_whose_type_this_code_does_not_know_is_a_warning() -> None:
    job(name="work")(lambda: None)
    stored(job_type="work")
    assert look(type_unknown_here).level == "ok"
    stored(job_type="renamed")
    found = look(type_unknown_here)
    assert (found.level, "know: renamed." in found.sentence) == ("warning", True)


def test_a_run_that_stands_still_is_a_problem() -> None:
    with at(0):
        announce(connection, Presence(id="worker-1", beat_seconds=1000))
        one_running()
        assert look(stale_runs).level == "ok"
    with at(100):
        found = look(stale_runs)
        assert (found.level, found.sentence) == ("problem", "Runs stand still: 1 expired.")
        assert "jobs reconcile" in found.advice


def test_a_run_past_its_timeout_is_a_warning_and_told_once() -> None:
    job(name="work", timeout=10)(lambda: None)
    with at(0):
        announce(connection, Presence(id="worker-1"))
        run = one_running()
        assert look(overdue_runs).level == "ok"
    with at(25):
        found = look(overdue_runs)
        assert (found.level, f"work {run.id} (15s)" in found.sentence) == ("warning", True)
        assert look(stale_runs).level == "ok"


def test_a_pause_of_more_than_a_day_is_a_warning_and_a_note_if_it_will_end() -> None:
    with at(0):
        control.pause("queue", "mail", "ann", until=T + timedelta(days=9))
    Pause.objects.update(created_at=T)
    with at(3600):
        assert look(forgotten_pause).level == "ok"
    with at(2 * 86400):
        found = look(forgotten_pause)
        assert (found.level, "queue mail (2d)" in found.sentence) == ("note", True)
        Pause.objects.update(until=None)
        assert look(forgotten_pause).level == "warning"
