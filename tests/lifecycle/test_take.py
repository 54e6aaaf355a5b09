"""A job taken by its id: under the conditions of a claim, and by one only."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db import connection

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.take import take
from jobs_app.models import Job
from tests.lifecycle.rows import T, at, done, outcomes_of, stored
from tests.lifecycle.rows import take as claim

pytestmark = pytest.mark.django_db


def taken(run_id: UUID) -> ClaimedJob | None:
    return take(connection, run_id, worker_id="worker-1", lease=60)


def test_the_job_is_ours_for_the_lease() -> None:
    with at(0):
        first, second = stored(2, payload='{"n": 1}')
        job = taken(second)

    assert job is not None
    row = Job.objects.get(pk=second)
    assert (job.id, job.token, job.attempts, job.payload.replace(" ", "")) == (second, row.token, 1, '{"n":1}')
    assert (row.state, row.worker_id, row.started_at, row.first_started_at) == ("running", "worker-1", T, T)
    assert (row.lease_expires_at - T).total_seconds() == 60
    assert Job.objects.get(pk=first).state == "queued"


def test_it_is_the_same_as_one_that_was_claimed() -> None:
    with at(0):
        first, second = stored(2, subject="s", meta='{"m": 1}', parent=uuid4())
        job = taken(first)
        [claimed] = claim()

    assert job is not None
    assert job._replace(id=second, token=claimed.token) == claimed


def test_a_second_one_gets_nothing_until_it_is_free_again() -> None:
    with at(0):
        [run_id] = stored()
        job = taken(run_id)
        assert job is not None
        assert taken(run_id) is None
        assert done(job, "queued")
        assert taken(run_id) is not None
    assert outcomes_of(run_id) == ["error"]


def test_what_is_not_due_held_or_expired_stays() -> None:
    with at(0):
        [later] = stored(delay=1)
        [held] = stored()
        [late] = stored(expires_at=T)
        Job.objects.filter(pk=held).update(hold="pause")
        assert [taken(run_id) for run_id in (later, held, late, uuid4())] == [None] * 4
    with at(1):
        assert taken(later) is not None
