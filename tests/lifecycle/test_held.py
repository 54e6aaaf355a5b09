"""A job in the hands of a worker that reports in single requests."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction

from jobs_app.lifecycle.held import as_claimed, keep, lock_job
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job
from tests.lifecycle.rows import T, at, one_running, take

pytestmark = pytest.mark.django_db


def test_it_is_read_as_whoever_claimed_it_has_it() -> None:
    job = one_running(payload='{"city": "Kiel"}', subject="acme")
    with transaction.atomic(), at(5):
        row = lock_job(connection, job.id)
    assert row.read_at == T + timedelta(seconds=5)
    assert as_claimed(row) == job


def test_a_job_that_is_not_live_is_none() -> None:
    with transaction.atomic():
        assert lock_job(connection, UUID(int=7)) is None


def test_a_lease_is_made_longer_and_never_shorter() -> None:
    with at(0):
        job = one_running()  # until 30
    with transaction.atomic(), at(10):
        row = lock_job(connection, job.id)
        assert keep(connection, row, T + timedelta(seconds=20), {}) == T + timedelta(seconds=30)
        assert keep(connection, row, T + timedelta(seconds=90), {"cursor": "7"}) == T + timedelta(seconds=90)
    stored = Job.objects.get()
    assert (stored.lease_expires_at, stored.cursor) == (T + timedelta(seconds=90), "7")


def test_what_was_given_back_and_nobody_took_is_its_workers_again() -> None:
    with at(0):
        job = one_running()
    with at(100), transaction.atomic():
        recover(connection)
        row = lock_job(connection, job.id)
        assert row.state == "queued"
        assert keep(connection, row, T + timedelta(seconds=160), {}) == T + timedelta(seconds=160)
        assert take() == []
    stored = Job.objects.get()
    assert (stored.state, stored.token, stored.attempts) == ("running", job.token, 1)


def test_what_waits_before_a_gate_stays_there_and_keeps_what_was_said() -> None:
    with at(0):
        job = one_running()
    with at(100), transaction.atomic():
        recover(connection)
        Job.objects.update(hold="key", gate=2)
        assert keep(connection, lock_job(connection, job.id), T + timedelta(seconds=160), {"cursor": "7"}) is None
    stored = Job.objects.get()
    assert (stored.state, stored.cursor, stored.lease_expires_at) == ("queued", "7", None)
