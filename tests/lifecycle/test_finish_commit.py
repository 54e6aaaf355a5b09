"""A finish and its commit: cut off, never come, or shared with the handler's own writes."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction

from jobs_app.errors import LeaseLost
from jobs_app.lifecycle.finish import finish, finish_within, settled
from jobs_app.lifecycle.recover import recover
from jobs_app.models import ControlEvent, Job, JobRun
from tests.lifecycle.rows import at, ended, one_running, stored, tables, take
from tests.lifecycle.sessions import sessions


@pytest.mark.django_db(transaction=True)
def test_a_commit_that_was_cut_off_is_told_by_the_attempt_row(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(4)
    jobs = take(4)
    reports = [
        ended(jobs[0]),
        ended(jobs[1], "failed"),
        ended(jobs[2], "queued"),
        ended(jobs[3]._replace(token=uuid4())),
    ]
    commit = connection._commit

    def commit_and_lose_the_answer() -> None:
        commit()
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(connection, "_commit", commit_and_lose_the_answer)
    with pytest.raises(OperationalError):
        finish(connection, reports)
    monkeypatch.undo()
    before = tables()
    assert finish(connection, reports) == set()
    assert settled(connection, reports) == {job.id for job in jobs[:3]}
    assert tables() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S1.9")
def test_of_a_batch_of_plain_ends_only_those_with_their_token_are_accepted() -> None:
    stored(4)
    jobs = take(4)
    reports = [ended(jobs[0]), ended(jobs[1], "failed"), ended(jobs[2]._replace(token=uuid4())), ended(jobs[3])]
    assert finish(connection, reports) == {jobs[0].id, jobs[1].id, jobs[3].id}
    assert [job.id for job in Job.objects.filter(state="running")] == [jobs[2].id]
    assert finish(connection, [ended(jobs[2])]) == {jobs[2].id}
    assert finish(connection, []) == set()
    assert (Job.objects.count(), JobRun.objects.count()) == (0, 4)


@pytest.mark.django_db(transaction=True)
def test_a_commit_that_never_came_leaves_nothing_and_the_batch_can_be_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored(2)
    reports = [ended(job) for job in take(2)]
    before = tables()

    def lose_the_connection() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(connection, "_commit", lose_the_connection)
    with pytest.raises(OperationalError):
        finish(connection, reports)
    monkeypatch.undo()
    assert tables() == before
    assert settled(connection, reports) == set()
    assert finish(connection, reports) == {report.id for report in reports}


@pytest.mark.django_db
def test_the_row_that_recovery_wrote_is_not_taken_for_our_own_report() -> None:
    """Recovery notes the lost attempt under the same token; a report that was refused must not look stored."""
    with at(0):
        job = one_running()
    with at(31):
        recover(connection)
        take(worker_id="worker-2")
    report = ended(job)
    assert finish(connection, [report]) == set()
    assert settled(connection, [report]) == set()


def work_and_finish(job: Any) -> None:
    """What an atomic handler does: its own write, and the end of its job as the last statement."""
    with transaction.atomic():
        ControlEvent.objects.create(action="paid")
        finish_within(connection, ended(job, result='"paid"'))


@pytest.mark.django_db(transaction=True)
def test_the_handlers_writes_and_the_end_of_its_job_commit_together() -> None:
    job = one_running()
    with sessions(1) as [handler]:
        handler.begin()
        handler.do(work_and_finish, job)
        assert Job.objects.filter(state="running").exists()
        assert not ControlEvent.objects.exists()
        handler.commit()
    assert JobRun.objects.get().result == "paid"
    assert ControlEvent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_lost_lease_rolls_the_handlers_writes_back() -> None:
    with at(0):
        job = one_running()
    with at(31):
        recover(connection)
        take(worker_id="worker-2")
    before = tables()
    with pytest.raises(LeaseLost, match=str(job.id)):
        work_and_finish(job)
    assert tables() == before
    assert not ControlEvent.objects.exists()
