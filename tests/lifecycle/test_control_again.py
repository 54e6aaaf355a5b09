"""Retry: what waits for later is due now; what has ended is repeated by a new run that names it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission, User
from django.test import override_settings

from jobs_app import job
from jobs_app.errors import OptionInvalid, PayloadInvalid
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.acting import begin
from jobs_app.lifecycle.control.again import retry_step
from jobs_app.lifecycle.control.runs import on_runs
from jobs_app.models import ControlEvent, Job, JobRun
from tests.lifecycle.rows import T, at, done, one_running, stored, taken_ids

pytestmark = pytest.mark.django_db


@pytest.fixture
def work() -> Any:
    @job(name="work")
    def work(account: str = "main", pages: int = 1) -> None: ...

    return work


def ended(state: str = "failed", **changes: Any) -> UUID:
    running = one_running(**changes)
    assert done(running, state)
    return running.id


@pytest.mark.spec("S4.21")
def test_a_job_that_waits_for_its_retry_is_due_now() -> None:
    with at(0):
        running = one_running()
        done(running, "queued", delay=3600.0, error="busy")
        [scheduled] = stored(1, delay=7200)
        assert taken_ids() == []
        acted = control.retry([running.id, scheduled], "ann", "fixed")
        assert (sorted(acted.moved), acted.new_runs, acted.skipped) == (sorted([running.id, scheduled]), {}, {})
        assert {row.run_at for row in Job.objects.all()} == {T}
        assert Job.objects.get(pk=running.id).attempts == 1
        assert sorted(taken_ids()) == sorted([running.id, scheduled])


@pytest.mark.parametrize("hold", ["new", "key", "limit", "pause"])
def test_what_else_holds_it_goes_on_to_hold_it(hold: str) -> None:
    with at(0):
        [run_id] = stored(1, delay=3600)
        Job.objects.update(hold=hold)
        assert control.retry(run_id, "ann").moved == [run_id]
    row = Job.objects.get()
    assert (row.hold, row.run_at) == (hold, T)


def test_the_rate_of_a_key_is_kept() -> None:
    with at(0):
        [run_id] = stored(1, delay=60, gate=2, key="k")
        Job.objects.update(hold="limit")
        assert control.retry(run_id, "ann").skipped == {run_id: "waits for the rate of its key"}


def test_what_runs_or_is_due_is_skipped_and_says_why() -> None:
    [due], running = stored(1, job_type="other"), one_running()
    acted = control.retry([due, running.id, UUID(int=7)], "ann")
    assert acted.skipped == {
        due: "is due already",
        running.id: "runs on worker worker-1",
        UUID(int=7): "does not exist",
    }


@pytest.mark.parametrize("state", ["failed", "cancelled", "succeeded"])
def test_a_run_that_has_ended_is_repeated_by_a_new_one(work: Any, state: str) -> None:
    with at(0):
        columns = {"subject": "shop-7", "priority": 3, "queue": "mail", "max_attempts": 2, "timeout_seconds": 9.0}
        run_id = ended(state, payload='{"account": "north"}', meta='{"trace": "t1"}', **columns)
    before = JobRun.objects.values().get()
    with at(60):
        acted = control.retry(run_id, "ann", "once more")
    assert (acted.moved, list(acted.new_runs)) == ([run_id], [run_id])
    new = Job.objects.get()
    assert (new.pk, new.parent, new.actor, new.state) == (acted.new_runs[run_id], run_id, "ann", "queued")
    assert {name: getattr(new, name) for name in columns} == columns
    assert (new.payload, new.meta) == ({"account": "north"}, {"trace": "t1"})
    assert (new.attempts, new.queued_at, new.run_at) == (0, T + timedelta(seconds=60), T + timedelta(seconds=60))
    assert JobRun.objects.values().get() == before
    event = ControlEvent.objects.get()
    assert event.detail == {"new_runs": {str(run_id): str(new.pk)}}


def test_a_run_that_came_too_late_gets_all_its_time_again(work: Any) -> None:
    with at(0):
        run_id = ended(expires_at=T + timedelta(seconds=30))
    with at(60):
        control.retry(run_id, "ann")
        assert taken_ids() == [Job.objects.get().pk]


def test_a_changed_payload_is_checked_and_stored(work: Any) -> None:
    run_id = ended(payload='{"account": "north"}')
    control.retry(run_id, "ann", "", {"account": "south", "pages": 2})
    assert Job.objects.get().payload == {"account": "south", "pages": 2}
    with pytest.raises(PayloadInvalid, match="job 'work': pages: ") as refusal:
        control.retry(run_id, "ann", "", {"pages": "many"})
    assert "pages" in refusal.value.errors
    assert Job.objects.count() == 1


def test_a_changed_payload_is_about_one_run_that_has_ended(work: Any) -> None:
    with pytest.raises(OptionInvalid, match="about one run"):
        control.retry([ended(), ended()], "ann", "", {"pages": 2})
    [later] = stored(1, delay=3600)
    assert "has not ended" in control.retry(later, "ann", "", {"pages": 2}).skipped[later]


@pytest.mark.parametrize("option", ["subject", "key"])
@pytest.mark.parametrize("source", ["account", lambda payload: payload["account"].upper()])
def test_a_changed_payload_does_not_move_the_work_to_another_subject_or_key(option: str, source: Any) -> None:
    @job(name="work", **{option: source})  # type: ignore[misc]
    def work(account: str, pages: int = 1) -> None: ...

    run_id = ended(payload='{"account": "north"}')
    assert control.retry(run_id, "ann", "", {"account": "north", "pages": 2})
    with pytest.raises(PayloadInvalid, match=f"another {option}. Trigger a new run"):
        control.retry(run_id, "ann", "", {"account": "south"})


@pytest.mark.parametrize("option", ["subject", "key"])
def test_a_default_is_the_same_whether_it_is_spelled_out_or_not(option: str) -> None:
    @job(name="work", **{option: "account"})  # type: ignore[misc]
    def work(account: str = "main", pages: int = 1) -> None: ...

    left_out, spelled_out = ended(), ended(payload='{"account": "main"}')
    assert control.retry(left_out, "ann", "", {"account": "main", "pages": 2})
    assert control.retry(spelled_out, "ann", "", {"pages": 2})
    with pytest.raises(PayloadInvalid, match=f"another {option}"):
        control.retry(left_out, "ann", "", {"account": "south"})


def test_an_old_payload_that_cannot_tell_its_subject_is_repaired_by_one_that_gives_the_same() -> None:
    @job(name="work", subject=lambda payload: payload["account"].upper())
    def work(account: str) -> None: ...

    run_id = ended(payload='{"konto": "north"}', subject="NORTH")
    with pytest.raises(PayloadInvalid, match=r"job 'work': its subject cannot be told.*KeyError: 'account'"):
        control.retry(run_id, "ann", "", {"account": "south"})
    assert control.retry(run_id, "ann", "", {"account": "north"})
    assert (Job.objects.get().subject, Job.objects.get().payload) == ("NORTH", {"account": "north"})


def test_a_payload_that_code_has_outgrown_is_skipped(work: Any) -> None:
    old, fits = ended(payload='{"colour": "red"}'), ended()
    acted = control.retry([old, fits], "ann")
    assert acted.moved == [fits]
    assert "has a payload that does not fit any more: colour" in acted.skipped[old]


def test_a_job_type_that_is_unknown_or_switched_off_is_skipped() -> None:
    @job(name="work", enabled=False)
    def work() -> None: ...

    off, unknown = ended(), ended(job_type="gone")
    assert control.retry([off, unknown], "ann").skipped == {
        off: "is of job type 'work', which is switched off",
        unknown: "is of job type 'gone', which is not registered",
    }


def test_a_user_repeats_only_what_they_may_trigger() -> None:
    @job(name="work", permission="auth.add_user")
    def work() -> None: ...

    run_id = ended()
    user = User.objects.create_user("ann")
    user.user_permissions.add(Permission.objects.get(codename="retry_run"))
    user = User.objects.get()
    assert control.retry(run_id, user).skipped == {run_id: "needs the permission auth.add_user"}
    user.user_permissions.add(Permission.objects.get(codename="add_user"))
    assert control.retry(run_id, User.objects.get()).moved == [run_id]
    assert Job.objects.get().actor == "ann"


def test_a_user_makes_due_only_what_they_may_trigger() -> None:
    @job(name="work", permission="auth.add_user")
    def work() -> None: ...

    [run_id] = stored(1, delay=3600)
    user = User.objects.create_user("ann")
    user.user_permissions.add(Permission.objects.get(codename="retry_run"))
    user = User.objects.get()
    assert control.retry(run_id, user).skipped == {run_id: "needs the permission auth.add_user"}
    assert taken_ids() == []
    user.user_permissions.add(Permission.objects.get(codename="add_user"))
    assert control.retry(run_id, User.objects.get()).moved == [run_id]
    assert taken_ids() == [run_id]


def test_a_key_that_another_run_holds_is_not_taken_from_it(work: Any) -> None:
    first, second = (ended(policy="exclusive", key="shop-7") for _ in range(2))
    acted = control.retry([first, second], "ann")
    [(repeated, holder)] = acted.new_runs.items()
    [(other, why)] = acted.skipped.items()
    assert {repeated, other} == {first, second}
    assert why == f"has a key that run {holder} holds"
    assert control.retry(repeated, "ann").skipped == {repeated: why}


def test_the_new_run_waits_before_the_gates_of_today(work: Any) -> None:
    run_id = ended(queue="mail")
    with override_settings(JOBS={"QUEUES": {"mail": {"concurrency": 1}}}):
        control.retry(run_id, "ann")
    row = Job.objects.get()
    assert (row.gate, row.hold) == (1, "limit")


def test_thousands_are_repeated_in_chunks(work: Any) -> None:
    ids = stored(1200)
    control.cancel(ids, "ann")
    acted = control.retry(ids, "ann")
    assert (len(acted.new_runs), acted.skipped) == (1200, {})
    assert Job.objects.count() == 1200


def test_the_step_of_a_bulk_act_repeats_a_run_once_whoever_did_it_before(work: Any) -> None:
    failed, done_again = ended(), ended()
    [new] = control.retry(done_again, "ann").new_runs.values()
    act = begin("retry", "retry_run", "bob", "")
    step = partial(retry_step, once=True)
    first = on_runs([failed, done_again], act, step)
    assert (first.moved, first.skipped) == ([failed], {done_again: "was run again before"})
    assert on_runs([failed, done_again], act, step).moved == []
    for run_id in taken_ids():
        Job.objects.filter(pk=run_id).delete()
        JobRun.objects.create(**_as_run(run_id, parent=failed if run_id != new else done_again))
    assert on_runs([failed, done_again], act, step).moved == []


def _as_run(run_id: UUID, parent: UUID) -> dict[str, Any]:
    return JobRun.objects.filter(pk=parent).values().get() | {"id": run_id, "parent": parent}
