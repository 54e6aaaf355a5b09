"""Recovery goes by the job alone."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobAttempt, WorkerState
from tests.lifecycle.rows import at, done, one_running, outcomes_of, take


@pytest.mark.django_db
@pytest.mark.spec("S2.22", "S2.R3")
def test_a_job_is_given_back_whatever_is_known_of_its_worker_and_its_past() -> None:
    with at(0):
        assert done(one_running(), "queued", error="not yet")
        [job] = take(worker_id="")
    JobAttempt.objects.all().delete()
    assert not WorkerState.objects.exists()
    with at(31):
        assert recover(connection).requeued == {job.id}
    assert (Job.objects.get().state, outcomes_of(job.id)) == ("queued", ["lost"])
