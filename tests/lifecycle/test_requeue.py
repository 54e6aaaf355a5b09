"""Jobs that come back to a queue in which their place may be taken, or that were asked to stop meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from jobs_app.lifecycle import requeue as requeueing
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import pinned_transaction
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.moves import HELD
from jobs_app.lifecycle.recover import recover
from jobs_app.lifecycle.requeue import requeue
from jobs_app.models import Job, JobRun
from tests.lifecycle.rows import T, at, attempts_of, done, ended, one_running, outcomes_of, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

SHORT = {"policy": "short", "key": "k"}


def two_running() -> tuple[ClaimedJob, ClaimedJob]:
    """Of one key, at the same time, as short lets them."""
    return one_running(**SHORT), one_running(**SHORT)


def back(*jobs: ClaimedJob) -> set[Any]:
    return finish(connection, [ended(job, "queued", policy="short", error="busy") for job in jobs])


@pytest.mark.parametrize("policy", ["short", "stately"])
def test_alone_it_waits_again(policy: str) -> None:
    job = one_running(policy=policy, key="k")
    stored(policy=policy, key="another")
    assert done(job, "queued", policy=policy)
    assert Job.objects.filter(pk=job.id, state="queued").exists()


def test_it_gives_way_to_the_one_that_waits_and_says_so() -> None:
    job = one_running(**SHORT)
    [holder] = stored(**SHORT)
    assert back(job) == {job.id}
    run = JobRun.objects.get()
    assert (run.pk, run.state, run.done_reason, run.error) == (job.id, "cancelled", "superseded", "busy")
    assert run.result == {"superseded_by": str(holder)}
    assert outcomes_of(job.id) == ["error"]
    assert [waiting.pk for waiting in Job.objects.all()] == [holder]


def test_of_two_that_come_back_together_the_first_waits() -> None:
    first, second = two_running()
    assert back(second, first) == {first.id, second.id}
    assert (Job.objects.get().pk, JobRun.objects.get().pk) == (first.id, second.id)
    assert JobRun.objects.get().result == {"superseded_by": str(first.id)}


def test_other_jobs_of_the_batch_are_not_touched() -> None:
    first, second = two_running()
    plain = one_running()
    reports = [ended(first, "queued", policy="short"), ended(second), ended(plain, "queued")]
    assert finish(connection, reports) == {first.id, second.id, plain.id}
    assert set(Job.objects.values_list("pk", flat=True)) == {first.id, plain.id}


def test_a_moment_that_a_report_names_is_kept_beside_those_that_name_seconds() -> None:
    with at(0):
        jobs = [one_running() for _ in range(3)]
        delays: list[dict[str, Any]] = [{"due_at": T + timedelta(hours=1)}, {"delay": 90}, {"due_at": T}]
    reports = [ended(job, "queued", **delay) for job, delay in zip(jobs, delays, strict=True)]
    with at(10):
        assert len(finish(connection, reports)) == 3
    due = dict(Job.objects.values_list("pk", "run_at"))
    assert [(due[job.id] - T).total_seconds() for job in jobs] == [3600, 100, 0]


def test_of_reports_that_name_moments_some_may_give_way_and_some_be_cancelled() -> None:
    first, second = two_running()
    stopped, plain = one_running(), one_running()
    Job.objects.filter(pk=stopped.id).update(cancel_requested=True)
    given: list[dict[str, Any]] = [{"policy": "short", "due_at": T}, {"policy": "short"}, {"due_at": T}, {"delay": 5}]
    jobs = (first, second, stopped, plain)
    reports = [ended(job, "queued", **options) for job, options in zip(jobs, given, strict=True)]
    assert finish(connection, reports) == {job.id for job in jobs}
    assert set(Job.objects.values_list("pk", flat=True)) == {first.id, plain.id}


def test_that_a_job_was_deferred_is_no_error_of_it() -> None:
    job = one_running()
    assert done(job, "queued", error="busy")
    [again] = take()
    assert done(again, "queued", outcome="deferred", error="deferred to noon", free=True, due_at=T)
    assert Job.objects.get().last_error == "busy"
    assert [attempt.message for attempt in attempts_of(job.id)] == ["busy", "deferred to noon"]


@pytest.mark.parametrize("policy", ["standard", "exclusive", "short"])
def test_who_was_asked_to_stop_does_not_wait_again(policy: str) -> None:
    job = one_running(policy=policy, key="k")
    Job.objects.update(cancel_requested=True)
    assert done(job, "queued", policy=policy, error="busy")
    run = JobRun.objects.get()
    assert (run.state, run.done_reason, run.outcome) == ("cancelled", "cancelled", "error")
    assert not Job.objects.exists()


def test_a_lost_lease_moves_nothing() -> None:
    job = one_running(**SHORT)
    stored(**SHORT)
    assert back(job._replace(token=job.id)) == set()
    assert Job.objects.count() == 2
    assert attempts_of(job.id) == []


def test_recovery_ends_who_finds_its_place_taken() -> None:
    with at(0):
        first, second = two_running()
    with at(31):
        recovered = recover(connection)
    assert recovered.requeued == {first.id, second.id}
    assert (Job.objects.get().pk, JobRun.objects.get().pk) == (first.id, second.id)
    assert JobRun.objects.get().done_reason == "superseded"
    assert outcomes_of(second.id) == ["lost"]


def between(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Do something once after the look for the one that waits and before the write."""
    look = requeueing._superseded
    todo = [act]

    def looking(*arguments: Any) -> Any:
        found = look(*arguments)
        if todo:
            todo.pop()()
        return found

    monkeypatch.setattr(requeueing, "_superseded", looking)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by", ["finish", "recovery"])
def test_an_enqueue_between_the_look_and_the_write_is_given_way_to(
    by: str, monkeypatch: pytest.MonkeyPatch, on_postgres: None
) -> None:
    with at(0):
        job, plain = one_running(**SHORT), one_running()
    with sessions(1) as [other]:
        between(monkeypatch, lambda: other.do(lambda: stored(**SHORT)))
        with at(31):
            if by == "finish":
                reports = [ended(job, "queued", policy="short"), ended(plain)]
                assert finish(connection, reports) == {job.id, plain.id}
            else:
                assert recover(connection).requeued == {job.id, plain.id}
    run = JobRun.objects.get(pk=job.id)
    assert (run.state, run.done_reason) == ("cancelled", "superseded")
    assert Job.objects.filter(policy="short").get().pk != job.id


@pytest.mark.django_db(transaction=True)
def test_so_it_is_inside_a_hosts_transaction(monkeypatch: pytest.MonkeyPatch, on_postgres: None) -> None:
    job = one_running(**SHORT)
    with sessions(1) as [other], transaction.atomic():
        between(monkeypatch, lambda: other.do(lambda: stored(**SHORT)))
        assert back(job) == {job.id}
    run = JobRun.objects.get()
    assert (run.pk, run.done_reason, run.error) == (job.id, "superseded", "busy")


@pytest.mark.django_db(transaction=True)
def test_a_place_that_is_taken_again_and_again_is_given_way_to_when_it_is_seen(
    monkeypatch: pytest.MonkeyPatch, on_postgres: None
) -> None:
    with at(0):
        job = one_running(**SHORT)
    look, takes = requeueing._superseded, [1, 2, 3]
    with sessions(1) as [other]:

        def looking(*arguments: Any) -> Any:
            if takes:
                other.do(lambda: Job.objects.filter(state="queued").delete())
            found = look(*arguments)
            if takes:
                takes.pop()
                other.do(lambda: stored(**SHORT))
            return found

        monkeypatch.setattr(requeueing, "_superseded", looking)
        with at(31):
            assert recover(connection).requeued == {job.id}
    assert (JobRun.objects.get().pk, JobRun.objects.get().done_reason) == (job.id, "superseded")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_an_enqueue_that_has_not_committed_is_waited_for(ends: str, on_postgres: None) -> None:
    job = one_running(**SHORT)
    with sessions(2) as (enqueuer, finisher):
        enqueuer.begin()
        enqueuer.do(lambda: stored(**SHORT))
        report = finisher.start(back, job)
        finisher.until_blocked(report)
        getattr(enqueuer, ends)()
        assert report.result(30) == {job.id}
    assert Job.objects.count() == 1
    assert Job.objects.filter(pk=job.id).exists() == (ends == "rollback")


def test_a_cancelled_one_frees_its_key() -> None:
    stored(2, policy="singleton", key="k", gate=2)
    Job.objects.filter(pk=min(Job.objects.values_list("pk", flat=True))).update(hold="")
    [job] = take()
    Job.objects.filter(pk=job.id).update(cancel_requested=True)
    Job.objects.exclude(pk=job.id).update(hold="key")
    with pinned_transaction(connection):
        assert requeue(connection, [ended(job, "queued", policy="singleton")], HELD) == {job.id}
    assert Job.objects.get().hold == "new"
