"""Rows that cannot be are refused by the database itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, models, transaction

from jobs_app.models import IdempotencyKey, Job, JobAttempt, JobRun, Pause, ScheduleState, StatSample
from tests.lifecycle.rows import T, at, done, one_running, stored

pytestmark = pytest.mark.django_db

LEASE = {"lease_expires_at": T, "token": uuid4()}


def refused(rows: models.QuerySet[Any], **changes: Any) -> bool:
    try:
        with transaction.atomic():
            rows.update(**changes)
    except IntegrityError:
        return True
    return False


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "done", ""])
def test_a_job_is_live(state: str) -> None:
    stored()
    assert refused(Job.objects.all(), state=state)


@pytest.mark.parametrize("state", ["queued", "running", ""])
def test_a_finished_run_is_finished(state: str) -> None:
    assert done(one_running())
    assert refused(JobRun.objects.all(), state=state)
    assert refused(JobRun.objects.all(), finished_at=None)


def test_a_lease_is_there_exactly_while_a_job_runs() -> None:
    stored()
    jobs = Job.objects.all()
    assert refused(jobs, state="running")
    assert refused(jobs, state="running", lease_expires_at=T)
    assert refused(jobs, state="running", token=LEASE["token"])
    assert refused(jobs, lease_expires_at=T)
    assert not refused(jobs, token=LEASE["token"])
    assert not refused(jobs, state="running", **LEASE)
    assert refused(jobs, state="queued")
    assert refused(jobs, token=None)


def test_an_attempt_has_one_row_and_a_run_one_end() -> None:
    job = one_running()
    assert done(job)
    [attempt], [run] = JobAttempt.objects.all(), JobRun.objects.all()
    with pytest.raises(IntegrityError), transaction.atomic():
        JobAttempt.objects.bulk_create([attempt])
    with pytest.raises(IntegrityError), transaction.atomic():
        JobRun.objects.bulk_create([run])


def test_a_key_is_taken_once() -> None:
    given = {"scope": "work", "key": "k", "body_hash": "", "created_at": T, "expires_at": T}
    IdempotencyKey.objects.create(**given, run_id=uuid4())
    with pytest.raises(IntegrityError), transaction.atomic():
        IdempotencyKey.objects.bulk_create([IdempotencyKey(**given, run_id=uuid4())])


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"interval_seconds": 0},
        {"interval_seconds": -5},
        {"interval_seconds": 60, "cron": "* * * * *"},
        {"interval_seconds": 60, "once_at": T},
        {"cron": "* * * * *", "once_at": T},
    ],
    ids=str,
)
def test_a_schedule_has_exactly_one_rule(rule: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        ScheduleState.objects.create(job_type="work", **rule)


def test_one_schedule_per_type_subject_and_name() -> None:
    given: list[dict[str, Any]] = [{}, {"subject": "a"}, {"name": "b"}, {"subject": "a", "name": "b"}]
    for names in given:
        ScheduleState.objects.create(job_type="work", interval_seconds=60, **names)
    for names in given:
        with pytest.raises(IntegrityError), transaction.atomic():
            ScheduleState.objects.create(job_type="work", cron="* * * * *", **names)


def test_one_pause_per_scope_and_name_and_one_sample_per_moment() -> None:
    Pause.objects.create(scope="queue", name="mail")
    with pytest.raises(IntegrityError), transaction.atomic():
        Pause.objects.create(scope="queue", name="mail")
    sample = {"at": T, "seconds": 60, "series": "finished", "name": "mail"}
    StatSample.objects.create(**sample, value=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        StatSample.objects.create(**sample, value=2)


def test_a_job_made_by_hand_has_an_id_that_sorts_by_time() -> None:
    given = {"state": "queued", "job_type": "work", "queue": "q", "max_attempts": 1, "payload": {}}
    with at(0):
        ids = [Job.objects.create(**given, run_at=T + timedelta(seconds=n), queued_at=T).id for n in range(5)]
    assert ids == sorted(ids)
    assert str(Job.objects.get(pk=ids[0])) == f"work {ids[0]}"
