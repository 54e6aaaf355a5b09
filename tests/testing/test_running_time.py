"""`run_jobs` and the clock: what is due later, what came too late, and whose time it is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.database import database_now
from jobs_app.testing import freeze_clock, run_jobs


@pytest.mark.django_db
def test_what_is_due_later_waits() -> None:
    @job
    def remind() -> None: ...

    remind.options(delay="1h").enqueue()

    assert not run_jobs()
    assert [run.status for run in run_jobs(at="1h")] == ["succeeded"]


@pytest.mark.django_db
def test_what_expired_ends_unstarted_and_is_told() -> None:
    ran: list[str] = []

    @job
    def offer() -> None:
        ran.append("offer")

    with freeze_clock() as clock:
        run = offer.options(expires_at=clock.now + timedelta(minutes=5)).enqueue()
        clock.move("5m")
        found = run_jobs()

    assert [(one.id, one.status) for one in found.failed] == [(run.id, "failed")]
    assert ran == []


@pytest.mark.django_db
def test_the_clock_is_the_databases_own_without_a_frozen_one() -> None:
    @job
    def ping() -> None: ...

    before = database_now(connection)
    ping.enqueue()
    [run] = run_jobs()

    assert before <= run.finished_at <= database_now(connection)
