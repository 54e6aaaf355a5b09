"""What stands still is moved on: by kind, judged again, with an event and a reason each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied
from django.db import DataError, connection

from jobs_app import job as define
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle import control
from jobs_app.lifecycle import requeue as requeuing
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.control import reconciling as module
from jobs_app.lifecycle.heartbeat import Held, extend
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ControlEvent, Job, JobRun
from jobs_app.retry import Backoff
from tests.lifecycle.rows import T, at, attempts_of, done, one_running, outcomes_of, stored, tables, take

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def by_reconciliation_alone(settings: Any) -> None:
    settings.JOBS = {"AUTO_RECOVER": False}


def alive(worker_id: str = "worker-1") -> None:
    announce(connection, Presence(id=worker_id, beat_seconds=10_000, job_types=["work"]))


def expired(**columns: Any) -> ClaimedJob:
    with at(0):
        alive()
        return one_running(**columns)


def lost(**columns: Any) -> ClaimedJob:
    job = expired(**columns)
    Job.objects.filter(pk=job.id).update(worker_id="gone", lease_expires_at=T + timedelta(hours=1))
    return job


def stuck(**columns: Any) -> ClaimedJob:
    @define(name="work", timeout=10)
    def work() -> None: ...

    job = expired(**columns)
    Job.objects.filter(pk=job.id).update(lease_expires_at=T + timedelta(hours=1))
    return job


def reconciled(seconds: float = 31, actor: Any = "ann", **options: Any) -> control.Reconciled:
    with at(seconds):
        return control.reconcile(actor, "sweep", **options)


@pytest.mark.spec("S2.18", "S3.20", "S3.R4")
def test_what_expired_waits_again_and_its_attempt_says_why() -> None:
    job = expired()
    assert reconciled().moved == [job.id]
    row = Job.objects.get()
    assert (row.state, row.run_at, row.attempts) == ("queued", T + timedelta(seconds=31), 1)
    [attempt] = attempts_of(job.id)
    assert (attempt.outcome, attempt.error_class) == ("lost", "Reconciled")
    assert attempt.message == "Job stuck in running for 0min - lease: expired (was on worker-1)"
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.reason, event.moved) == ("ann", "reconcile", "sweep", 1)
    assert event.target == str(job.id)


@pytest.mark.spec("S3.20")
def test_what_expired_with_its_last_attempt_is_failed() -> None:
    job = expired(max_attempts=1)
    assert reconciled(35 * 60).moved == [job.id]
    run = JobRun.objects.get()
    assert (run.state, run.outcome, run.done_reason) == ("failed", "lost", "lost")
    assert run.error == "Job stuck in running for 35min - lease: expired (was on worker-1)"


def test_what_was_asked_to_stop_is_cancelled() -> None:
    expired()
    Job.objects.update(cancel_requested=True)
    assert reconciled()
    assert JobRun.objects.get().state == "cancelled"


def test_a_second_loss_waits_by_the_backoff_of_the_type() -> None:
    @define(name="work", backoff=Backoff(base=10, jitter="none"))
    def work() -> None: ...

    expired()
    reconciled()
    with at(31):
        take()
    reconciled(100)
    assert Job.objects.get().run_at == T + timedelta(seconds=100 + 40)


def test_a_late_report_is_welcome_until_the_next_claim() -> None:
    job = expired()
    reconciled()
    assert done(job)
    assert outcomes_of(job.id) == ["success"]


@pytest.mark.spec("S2.19", "S3.20")
@pytest.mark.parametrize("arrange", [lost, stuck])
def test_what_has_a_valid_lease_is_left_alone_unless_its_kind_is_asked_for(arrange: Any) -> None:
    job = arrange()
    before = tables()
    kept = reconciled()
    assert (kept.moved, list(kept.skipped), len(kept.found)) == ([], [job.id], 1)
    assert tables() == before
    assert not ControlEvent.objects.exists()
    assert reconciled(apply=["lost", "stuck"]).moved == [job.id]


def test_a_lost_one_waits_again_before_its_lease_ends() -> None:
    job = lost()
    assert reconciled(1, apply=["lost"]).moved == [job.id]
    assert Job.objects.get().last_error == "Worker crashed or timed out (stalled job recovery, was on gone)"


@pytest.mark.spec("S3.R4")
def test_a_stuck_one_is_failed_under_the_hands_of_its_worker_which_is_refused() -> None:
    job = stuck(max_attempts=5)
    reconciled(35 * 60, apply=["stuck"])
    run = JobRun.objects.get()
    assert (run.state, run.done_reason) == ("failed", "stuck")
    assert run.error == "Job stuck in running for 35min - past its timeout for 34min"
    assert not done(job)


def test_a_job_that_nobody_serves_is_kept_and_it_is_told_what_to_do() -> None:
    with at(0):
        [run_id] = stored(queue="mail")
    kept = reconciled(601, apply=["expired", "lost", "stuck"])
    assert kept.skipped == {
        run_id: "no live worker serves queue mail: start one with manage.py runworker --queues mail"
    }
    assert not kept


def test_a_dry_run_only_tells() -> None:
    job = expired()
    before = tables()
    told = reconciled(dry_run=True)
    assert [(stale.job.pk, stale.kind, stale.verdict) for stale in told.found] == [(job.id, "expired", "requeue")]
    assert told.skipped == {job.id: told.found[0].reason}
    assert tables() == before
    assert not ControlEvent.objects.exists()


def test_a_run_is_judged_again_as_it_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker came back between the look and the act; another one ended."""
    back, over = expired(), expired()
    find = module.find_stale

    def meanwhile(*given: Any) -> Any:
        found = find(*given)
        extend(connection, [Held(back.id, back.token, 600)])
        done(over)
        return found

    monkeypatch.setattr(module, "find_stale", meanwhile)
    told = reconciled()
    assert told.moved == []
    assert told.skipped == {back.id: "stands still no more", over.id: "has already succeeded"}


@pytest.mark.spec("S3.R4")
def test_one_that_cannot_be_moved_does_not_stop_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [expired() for _ in range(3)]
    bad, real = jobs[1].id, requeuing.requeue

    def refused(own: Any, ended: Any, *guard: Any) -> set[UUID]:
        if any(one.id == bad for one in ended):
            raise DataError("bad row")
        return real(own, ended, *guard)

    monkeypatch.setattr(requeuing, "requeue", refused)
    told = reconciled()
    assert sorted(told.moved) == sorted(job.id for job in jobs if job.id != bad)
    assert told.skipped == {bad: "could not be moved: bad row"}
    assert Job.objects.get(pk=bad).state == "running"


def test_many_are_moved_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RUNS_PER_CHUNK", 4)
    with at(0):
        alive()
        stored(10)
        take(10)
    assert len(reconciled().moved) == 10
    assert list(ControlEvent.objects.order_by("pk").values_list("moved", flat=True)) == [4, 4, 2]


@pytest.mark.parametrize("kind", ["unserved", "old"])
def test_a_kind_that_cannot_be_applied_is_refused(kind: str) -> None:
    with pytest.raises(OptionInvalid, match=f"'{kind}' cannot be applied. Known are: expired, lost, stuck"):
        control.reconcile("ann", apply=[kind])


def user_with(*codenames: str) -> User:
    user = User.objects.create_user("bob")
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs_app", codename__in=codenames))
    return User.objects.get()


def test_each_verdict_needs_its_own_permission() -> None:
    again, over = expired(), expired(max_attempts=1)
    told = reconciled(actor=user_with("reconcile_runs"))
    assert told.moved == [again.id]
    assert told.skipped == {over.id: "needs the permission jobs_app.fail_run"}
    User.objects.all().delete()
    assert reconciled(actor=user_with("reconcile_runs", "fail_run")).moved == [over.id]


def test_nothing_is_told_to_who_may_not() -> None:
    expired()
    with pytest.raises(PermissionDenied, match=r"bob has no permission jobs_app\.reconcile_runs"):
        reconciled(actor=user_with("fail_run"), dry_run=True)


def test_only_the_runs_that_were_chosen_are_moved_and_each_other_wish_is_answered() -> None:
    chosen, left, over = expired(), expired(), expired()
    done(over)
    told = reconciled(runs=[chosen.id, str(over.id)], apply=["expired", "lost", "stuck"])
    assert (told.moved, told.skipped) == ([chosen.id], {over.id: "has already succeeded"})
    assert [stale.job.pk for stale in told.found] == [chosen.id]
    assert Job.objects.get(pk=left.id).state == "running"


def test_a_chosen_run_that_stands_still_no_more_is_left_alone() -> None:
    job = expired()
    told = reconciled(5, runs=job.id, apply=["expired", "lost", "stuck"])
    assert (told.moved, told.skipped) == ([], {job.id: "stands still no more"})


def test_a_dry_run_over_chosen_runs_moves_none() -> None:
    job, other = expired(), expired()
    told = reconciled(runs=[job.id], dry_run=True)
    assert ([stale.job.pk for stale in told.found], told.moved) == ([job.id], [])
    assert set(Job.objects.values_list("state", flat=True)) == {"running"}
    assert other.id not in told.skipped
