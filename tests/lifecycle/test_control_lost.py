"""Mark failed, and requeue: what people decide about jobs whose worker is gone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission, User
from django.db import IntegrityError, connection, transaction

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.lifecycle import requeue as requeueing
from jobs_app.lifecycle.presence import Presence, announce, beat
from jobs_app.models import ControlEvent, Job, JobRun
from tests.lifecycle.rows import at, done, one_running, outcomes_of, stored, take, taken_ids
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

BEAT, LEASE = 10.0, 30.0
Arrange = Callable[[], Any]


def alive(worker_id: str = "worker-1") -> None:
    announce(connection, Presence(id=worker_id, beat_seconds=BEAT))


def test_a_user_requeues_only_what_they_may_trigger() -> None:
    @job(name="work", permission="auth.add_user")
    def work() -> None: ...

    run_id = one_running().id
    user = User.objects.create_user("ann")
    user.user_permissions.add(Permission.objects.get(codename="reconcile_runs"))
    skipped = control.requeue(run_id, User.objects.get()).skipped
    assert skipped == {run_id: "needs the permission auth.add_user"}
    assert Job.objects.get().state == "running"
    user.user_permissions.add(Permission.objects.get(codename="add_user"))
    assert control.requeue(run_id, User.objects.get()).moved == [run_id]


@pytest.mark.spec("S4.21")
def test_a_job_that_waits_is_marked_failed() -> None:
    due, later = stored(1)[0], stored(1, delay=3600)[0]
    Job.objects.filter(pk=due).update(hold="pause")
    assert sorted(control.fail([due, later], "ann", "bad address").moved) == [due, later]
    for run in JobRun.objects.all():
        assert (run.state, run.outcome, run.done_reason, run.error) == ("failed", "", "marked_failed", "bad address")
        assert (run.attempts, outcomes_of(run.pk)) == (0, [])
        assert run.finished_at is not None
    assert taken_ids() == []


def test_a_job_that_waits_for_its_retry_keeps_the_attempts_it_had() -> None:
    job = one_running()
    done(job, "queued", delay=60.0)
    control.fail(job.id, "ann")
    assert outcomes_of(job.id) == ["error"]
    assert (JobRun.objects.get().done_reason, JobRun.objects.get().error) == ("marked_failed", "marked as failed")


def test_a_job_in_good_hands_is_left_there_unless_it_is_taken_by_force() -> None:
    alive()
    job = one_running()
    why = "runs on worker worker-1, which is alive: abort it, or mark it failed by force"
    assert control.fail(job.id, "ann").skipped == {job.id: why}
    assert control.fail(job.id, "ann", "stuck", force=True).moved == [job.id]
    run = JobRun.objects.get()
    assert (run.state, run.outcome, run.done_reason, run.error) == ("failed", "lost", "marked_failed", "stuck")
    assert outcomes_of(job.id) == ["lost"]
    assert not done(job)


def never_seen() -> None: ...


def silent() -> None:
    with at(-3 * BEAT - 1):
        alive()


GONE = pytest.mark.parametrize("worker_is", [never_seen, silent])


@GONE
def test_the_job_of_a_worker_that_is_gone_is_marked_failed(worker_is: Arrange) -> None:
    with at(0):
        worker_is()
        job = one_running()
        assert control.fail(job.id, "ann").moved == [job.id]
    assert JobRun.objects.get().state == "failed"


@GONE
def test_the_job_of_a_worker_that_is_gone_waits_again_at_once(worker_is: Arrange) -> None:
    with at(0):
        worker_is()
        job = one_running()
        assert control.requeue(job.id, "ann", "host is off").moved == [job.id]
        row = Job.objects.get()
        assert (row.state, row.attempts, row.free_attempts) == ("queued", 1, 0)
        assert row.last_error == "host is off (was on worker-1)"
        assert outcomes_of(job.id) == ["lost"]
        [again] = take(worker_id="worker-2")
        assert (again.id, again.attempts) == (job.id, 2)
        assert not done(job)
        assert done(again)


def test_a_late_report_is_welcome_until_the_next_claim() -> None:
    job = one_running()
    control.requeue(job.id, "ann")
    assert done(job)
    assert JobRun.objects.get().state == "succeeded"
    assert outcomes_of(job.id) == ["success"]


def test_a_worker_that_beats_keeps_its_jobs_until_their_lease_ends() -> None:
    with at(0):
        alive()
        job = one_running()
    with at(3 * BEAT):
        why = "runs on worker worker-1, which is alive: abort it, and retry it when it has ended"
        assert control.requeue(job.id, "ann").skipped == {job.id: why}
    with at(LEASE + 1):
        beat(connection, "worker-1", busy=1, draining=False, rss_bytes=0)
        assert control.requeue(job.id, "ann").moved == [job.id]


def test_what_is_not_running_is_not_requeued() -> None:
    first, [waiting] = one_running(), stored(1)
    done(first)
    acted = control.requeue([first.id, waiting, UUID(int=7)], "ann")
    assert acted.skipped == {first.id: "has already succeeded", waiting: "is queued", UUID(int=7): "does not exist"}


def test_a_job_without_attempts_left_is_not_requeued() -> None:
    job = one_running(max_attempts=1)
    assert control.requeue(job.id, "ann").skipped == {job.id: "has no attempts left: mark it failed"}


def test_a_job_that_was_asked_to_stop_ends_instead_of_waiting_again() -> None:
    job = one_running()
    control.cancel(job.id, "ann")
    assert control.requeue(job.id, "ann").moved == [job.id]
    assert JobRun.objects.get().state == "cancelled"
    assert outcomes_of(job.id) == ["lost"]


def test_the_next_with_its_key_is_looked_at_when_it_is_marked_failed() -> None:
    first, second = stored(2, policy="singleton", key="shop-7", gate=2)
    Job.objects.filter(pk=first).update(hold="")
    Job.objects.filter(pk=second).update(hold="key")
    control.fail(first, "ann")
    assert Job.objects.get().hold == "new"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize(("policy", "gate"), [("short", 0), ("stately", 2)])
def test_an_enqueue_that_takes_its_place_meanwhile_is_given_way_to(
    policy: str, gate: int, within: bool, monkeypatch: pytest.MonkeyPatch, on_postgres: None
) -> None:
    keyed = {"policy": policy, "gate": gate, "key": "k"}
    stored(**keyed)
    Job.objects.update(hold="")
    [job] = take()
    look, todo = requeueing._superseded, [lambda: stored(**keyed)]

    def looking(*arguments: Any) -> Any:
        found = look(*arguments)
        if todo:
            other.do(todo.pop())
        return found

    monkeypatch.setattr(requeueing, "_superseded", looking)
    with sessions(1) as [other], transaction.atomic() if within else nullcontext():
        stored(job_type="of the host")
        assert control.requeue(job.id, "ann").moved == [job.id]
    run = JobRun.objects.get()
    assert (run.pk, run.state, run.done_reason) == (job.id, "cancelled", "superseded")
    assert Job.objects.get(key="k").state == "queued"
    assert Job.objects.filter(job_type="of the host").exists()
    assert ControlEvent.objects.get().moved == 1


def test_a_row_that_the_database_always_refuses_is_told_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def refused(*arguments: Any) -> Any:
        tries.append(1)
        raise IntegrityError("check")

    job = one_running()
    monkeypatch.setattr(requeueing, "requeue", refused)
    with pytest.raises(IntegrityError, match="check"):
        control.requeue(job.id, "ann")
    assert len(tries) == requeueing.TRIES
    assert Job.objects.get().state == "running"


def test_both_write_an_event() -> None:
    job = one_running()
    control.requeue(job.id, "ann", "host is off")
    control.fail(job.id, "bob", "enough")
    told = ControlEvent.objects.order_by("pk").values_list("actor", "action", "target", "reason", "moved", "skipped")
    assert list(told) == [
        ("ann", "requeue", str(job.id), "host is off", 1, 0),
        ("bob", "fail", str(job.id), "enough", 1, 0),
    ]
