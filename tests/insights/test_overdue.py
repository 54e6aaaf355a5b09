"""Which running runs are past their timeout."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import get_run, job
from jobs_app.insights.overdue import overdue, overdue_seconds
from jobs_app.models import Job, Run
from tests.lifecycle.rows import T, at, stored, take

pytestmark = pytest.mark.django_db
TYPES = ["plain", "timed", "by-pages", "broken", "gone"]


@pytest.fixture
def types() -> Any:
    job(name="plain")(lambda: None)
    job(name="timed", timeout=60)(lambda: None)
    job(name="by-pages", timeout=lambda payload: payload["pages"] * 60)(lambda: None)
    job(name="broken", timeout=lambda payload: payload["missing"])(lambda: None)


@pytest.mark.usefixtures("types")
def test_what_runs_past_its_timeout_and_the_grace_is_overdue() -> None:
    with at(0):
        for name in TYPES:
            stored(job_type=name, payload='{"pages": 2}')
        take(job_types=TYPES)
    Job.objects.filter(job_type="gone").update(timeout_seconds=90)
    found = {}
    for seconds in (0, 64, 65, 94, 95, 124, 125):
        with at(seconds):
            found[seconds] = {one.job.job_type: one.seconds for one in overdue(connection)}
    assert found == {
        0: {},
        64: {},
        65: {"timed": 5},
        94: {"timed": 34},
        95: {"timed": 35, "gone": 5},
        124: {"timed": 64, "gone": 34},
        125: {"timed": 65, "gone": 35, "by-pages": 5},
    }


@pytest.mark.usefixtures("types")
def test_what_waits_or_has_ended_is_never_overdue() -> None:
    with at(0):
        [run_id] = stored(job_type="timed")
    assert overdue_seconds(Job.objects.get(), T + timedelta(days=1)) is None
    with at(0):
        take(job_types=TYPES)
    run = Run.objects.get(pk=get_run(run_id).id)
    assert overdue_seconds(run, T + timedelta(seconds=70)) == 10


@pytest.mark.usefixtures("types")
def test_no_more_is_looked_at_than_was_asked_for_and_the_oldest_first() -> None:
    for moment in (20, 0, 10):
        with at(moment):
            stored(job_type="timed")
            take(1, job_types=TYPES)
    with at(1000):
        assert [one.seconds for one in overdue(connection, limit=2)] == [940, 930]
