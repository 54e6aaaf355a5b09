"""Reports become rows: every one, once, whatever happens between the statement and its answer."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connections, transaction

from jobs_app import Backoff, Cancel, Fail, current_job, job
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.moves import Ended
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.signals import job_finished
from jobs_app.worker import finisher as finisher_module
from jobs_app.worker import progress as progress_module
from jobs_app.worker.finisher import BYTES_PER_STATEMENT, Finisher
from jobs_app.worker.flight import Hangar, Report
from tests.waiting import until
from tests.worker.flights import flight_of
from tests.worker.harness import finished, outcomes, state, working

database = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ends() -> Any:
    """Every job_finished signal."""
    heard: list[tuple[Any, str]] = []

    def hear(*, job: Any, ended: Any, **kwargs: Any) -> None:
        heard.append((job.id, ended.state))

    job_finished.connect(hear)
    yield heard
    job_finished.disconnect(hear)


def report_of(sample: Any, **changes: Any) -> Report:
    flight = flight_of(sample)
    ended = Ended(id=flight.job.id, token=flight.job.token, state="succeeded", outcome="success", **changes)
    return Report(flight, ended, 0.0, 0.0)


@database
@pytest.mark.parametrize("moment", ["before", "after", "both"])
def test_a_connection_cut_around_the_commit_leaves_exactly_one_outcome(
    moment: str, ends: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls = Counter[str]()

    def cut(connection: Any, reports: Sequence[Ended], straight: Any) -> Any:
        calls["finish"] += 1
        if moment in ("before", "both") and calls["finish"] % 3 == 1:
            raise OperationalError("cut before it was sent")
        accepted = finish(connection, reports, straight)
        if moment in ("after", "both") and calls["finish"] % 3 == 2:
            connection.close()
            raise OperationalError("cut after the commit")
        return accepted

    @job(backoff=Backoff(base=3600, factor=1, jitter="none"))
    def work(n: int) -> None:
        if n % 4 == 1:
            raise Fail("no")
        if n % 4 == 2:
            raise RuntimeError("again")
        if n % 4 == 3:
            raise Cancel("never mind")

    monkeypatch.setattr(finisher_module, "finish", cut)
    runs = work.enqueue_many([{"n": n} for n in range(40)])
    with working() as worker:
        until(lambda: JobAttempt.objects.count() == 40, every=0.02)
    expected = ["succeeded", "failed", "retrying", "cancelled"] * 10
    assert [run.refresh().status for run in runs] == expected
    assert (JobRun.objects.count(), Job.objects.count(), JobAttempt.objects.count()) == (30, 10, 40)
    assert worker.finisher.counts == Counter(succeeded=10, failed=10, queued=10, cancelled=10)
    states = [status.replace("retrying", "queued") for status in expected]
    assert sorted(ends) == sorted(zip((run.id for run in runs), states, strict=True))
    assert "not recorded" not in caplog.text


@database
def test_backends_that_die_under_a_finish_cost_no_outcome(
    is_postgres: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not is_postgres:
        pytest.skip("SQLite has no server that could close a connection")
    calls = Counter[str]()

    def killed(connection: Any, reports: Sequence[Ended], straight: Any) -> Any:
        calls["finish"] += 1
        if calls["finish"] % 2:
            connection.ensure_connection()
            backend = connection.connection.info.backend_pid
            with connections.create_connection("default").cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
                cursor.connection.close()
        return finish(connection, reports, straight)

    @job
    def work(n: int) -> int:
        return n

    monkeypatch.setattr(finisher_module, "finish", killed)
    with caplog.at_level(logging.WARNING), working() as worker:
        for _ in range(10):
            runs = work.enqueue_many([{"n": n} for n in range(5)])
            assert set(finished(*runs)) == {"succeeded"}
    assert worker.finisher.counts == Counter(succeeded=50)
    assert JobAttempt.objects.count() == JobRun.objects.count() == 50
    assert calls["finish"] >= 20


@database
@pytest.mark.spec("S1.4")
def test_last_words_survive_a_write_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[int] = []
    save = progress_module.save_progress

    def fail_once(connection: Any, words: Sequence[Any]) -> None:
        if words and not failures:
            failures.append(1)
            raise OperationalError("cut")
        save(connection, words)

    @job
    def work() -> None:
        current_job().progress(3, 3, cursor="end", message="done")
        current_job().save_meta(cost=2)

    monkeypatch.setattr(progress_module, "save_progress", fail_once)
    with working():
        run = work.enqueue()
        finished(run)
    assert failures
    assert (run.progress.count, run.progress.cursor, run.progress.message) == (3, "end", "done")
    assert JobRun.objects.get().meta == {"cost": 2}


@database
@pytest.mark.spec("A1.4", "S1.9")
def test_a_report_after_another_worker_claimed_the_job_changes_nothing(
    ends: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    @job
    def overtaken() -> str:
        Job.objects.filter(pk=current_job().id).update(token=uuid4(), attempts=2)
        return "late"

    run = overtaken.enqueue()
    with caplog.at_level(logging.WARNING), working() as worker:
        until(lambda: worker.finisher.counts["lost"], every=0.02)
    assert (state(run), outcomes(run), ends) == ("running", [], [])
    assert f"job={run.id} lost its lease; its success is not recorded" in caplog.text


@database
@pytest.mark.spec("A1.4")
def test_a_late_report_before_the_next_claim_is_accepted() -> None:
    """Recovery keeps the token: the work is done, and nobody else has begun it."""
    from jobs_app.lifecycle.recover import recover

    @job
    def late() -> str:
        Job.objects.filter(pk=current_job().id).update(lease_expires_at=current_job().queued_at)
        with transaction.atomic():  # or the claimer may come between
            assert recover(jobs_connection()).requeued == {current_job().id}
            Job.objects.filter(pk=current_job().id).update(hold="pause")
        return "done"

    run = late.enqueue()
    with working(recover_every=60):
        assert finished(run) == ["succeeded"]
    assert (outcomes(run), run.attempts, run.result) == (["success"], 1, "done")


def test_a_batch_is_bounded_in_bytes_and_has_each_job_once() -> None:
    sample = job(name="sample")(lambda: None)
    finisher = Finisher(Hangar(), lambda report: None)
    large = [report_of(sample, result="x" * (BYTES_PER_STATEMENT // 4)) for _ in range(6)]
    for report in large:
        finisher.put(report)
    finisher._fill_batch()
    assert finisher._batch == large[:4]
    twins = Finisher(Hangar(), lambda report: None)
    first = report_of(sample)
    for report in (first, report_of(sample), first):
        twins.put(report)
    twins._fill_batch()
    assert (len(twins._batch), twins.pending) == (2, 3)
