"""`@job(atomic=True)`: what the handler wrote and the end of its job commit together, or not at all."""

from __future__ import annotations

import logging
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, transaction

from jobs_app import Backoff, current_job, job
from jobs_app.models import Job, JobRun
from jobs_app.signals import job_started
from jobs_app.worker import runner as runner_module
from jobs_app.worker.context import JobContext
from jobs_app.worker.flight import Flight
from tests.by_hand import HandWorker
from tests.waiting import until
from tests.worker.harness import finished, outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = Backoff(base=0, factor=1, jitter="none")


def names() -> list[str]:
    return sorted(Group.objects.values_list("name", flat=True))


@pytest.mark.spec("S4.R3")
def test_row_and_end_are_committed_together() -> None:
    @job(atomic=True)
    def pay() -> str:
        Group.objects.create(name="paid")
        current_job().progress(1, 1, cursor="end")
        current_job().log("charged")
        return "receipt"

    run = pay.enqueue()
    with working() as worker:
        assert finished(run) == ["succeeded"]
        until(lambda: not len(worker.hangar), every=0.01)
    assert (names(), run.result, outcomes(run)) == (["paid"], "receipt", ["success"])
    assert (run.progress.cursor, worker.finisher.counts) == ("end", {"succeeded": 1})
    stored = JobRun.objects.get()
    assert stored.started_at <= stored.finished_at


def test_an_error_rolls_the_writes_back_and_is_an_attempt_like_any_other() -> None:
    @job(atomic=True, backoff=AT_ONCE)
    def pay() -> None:
        Group.objects.create(name=f"paid {current_job().attempt}")
        current_job().progress(cursor=f"tried {current_job().attempt}")
        if current_job().attempt == 1:
            raise ConnectionError("away")

    run = pay.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
    assert (names(), outcomes(run), run.progress.cursor) == (["paid 2"], ["error", "success"], "tried 2")


@pytest.mark.spec("A1.4")
def test_a_lost_lease_rolls_the_writes_back(caplog: pytest.LogCaptureFixture) -> None:
    @job(atomic=True)
    def pay() -> None:
        Group.objects.create(name="paid twice")

    def overtake(*, job: Any, **kwargs: Any) -> None:
        Job.objects.filter(pk=job.id).update(token=uuid4(), worker_id="another")

    run = pay.enqueue()
    job_started.connect(overtake)
    try:
        with caplog.at_level(logging.WARNING), working() as worker:
            until(lambda: worker.finisher.counts["lost"], every=0.01)
    finally:
        job_started.disconnect(overtake)
    row = Job.objects.get(pk=run.id)
    assert (names(), row.state, row.worker_id, outcomes(run)) == ([], "running", "another", [])
    assert "what it wrote is rolled back" in caplog.text
    assert not len(worker.hangar)


def test_a_job_that_its_worker_gave_up_cannot_commit_any_more() -> None:
    """As at the end of the grace: the release is on its way to the database while the handler still runs."""
    flights: list[Flight] = []

    @job(atomic=True)
    def pay() -> None:
        Group.objects.create(name="paid")
        assert flights[0].end()

    run = pay.enqueue()
    (claimed,) = HandWorker().claim()
    context = JobContext(claimed, worker="", worker_id="")
    flights.append(Flight(claimed, pay.job_type, context, 30, 0.0))
    assert runner_module.run(flights[0]) is None
    assert (names(), state(run), outcomes(run)) == ([], "running", [])


def test_a_commit_that_fails_is_a_failed_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    within = runner_module.finish_within
    calls: list[int] = []

    def cut(connection: Any, ended: Any) -> None:
        within(connection, ended)
        calls.append(1)
        if len(calls) == 1:
            raise OperationalError("cut before the commit")

    @job(atomic=True, backoff=AT_ONCE)
    def pay() -> None:
        Group.objects.create(name=f"paid {current_job().attempt}")

    monkeypatch.setattr(runner_module, "finish_within", cut)
    run = pay.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
    assert (names(), outcomes(run)) == (["paid 2"], ["error", "success"])


def test_a_hook_that_fails_after_the_commit_does_not_undo_the_success(caplog: pytest.LogCaptureFixture) -> None:
    @job(atomic=True)
    def pay() -> None:
        Group.objects.create(name="paid")
        transaction.on_commit(lambda: 1 / 0)

    run = pay.enqueue()
    with caplog.at_level(logging.ERROR, logger="jobs_app"), working() as worker:
        assert finished(run) == ["succeeded"]
        until(lambda: not len(worker.hangar), every=0.01)
    assert (names(), worker.finisher.counts) == (["paid"], {"succeeded": 1})
    assert "a hook after its commit failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
