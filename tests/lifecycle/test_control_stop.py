"""Cancel and abort: what waits ends at once, what runs is asked to stop, what has ended stays as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from jobs_app.errors import OptionInvalid, RunNotFound
from jobs_app.handles import RunHandle
from jobs_app.lifecycle import control, moves
from jobs_app.lifecycle.control.acting import Act
from jobs_app.lifecycle.control.runs import RUNS_PER_CHUNK
from jobs_app.lifecycle.heartbeat import Held, extend
from jobs_app.lifecycle.recover import recover
from jobs_app.models import ControlEvent, Job, JobAttempt, JobRun
from tests.lifecycle.rows import at, done, one_running, stored, tables, take, taken_ids
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

STOPS = [control.cancel, control.abort]
Stop = Callable[..., control.Acted]


@pytest.mark.spec("A3.6", "S3.R5")
@pytest.mark.parametrize("stop", STOPS)
def test_a_job_that_waits_is_cancelled_at_once_and_never_claimed(stop: Stop) -> None:
    due, later = stored(1)[0], stored(1, delay=3600)[0]
    acted = stop([due, later], "ann", "not needed")
    assert (sorted(acted.moved), acted.asked, acted.skipped) == ([due, later], [], {})
    assert taken_ids() == []
    for run in JobRun.objects.all():
        assert (run.state, run.outcome, run.done_reason, run.error) == ("cancelled", "", "cancelled", "not needed")
    assert not JobAttempt.objects.exists()


@pytest.mark.parametrize("hold", ["new", "key", "limit", "pause"])
def test_whatever_it_waits_for(hold: str) -> None:
    [run_id] = stored(1)
    Job.objects.update(hold=hold)
    assert control.cancel(run_id, "ann").moved == [run_id]
    assert JobRun.objects.get().state == "cancelled"


@pytest.mark.parametrize(("stop", "by_force"), [(control.cancel, False), (control.abort, True)])
def test_a_job_that_runs_is_asked_to_stop_and_told_with_the_next_beat(stop: Stop, by_force: bool) -> None:
    job = one_running()
    acted = stop(job.id, "ann", "wrong file")
    assert (acted.moved, acted.asked, acted.skipped) == ([job.id], [job.id], {})
    live = Job.objects.get()
    assert (live.state, live.cancel_requested, live.abort_requested) == ("running", True, by_force)
    assert bool(extend(connection, [Held(job.id, job.token, 30.0)])[job.id])
    assert done(job)
    assert JobRun.objects.get().state == "succeeded"  # it came first


def test_asking_twice_changes_nothing_and_force_comes_after_asking() -> None:
    job = one_running()
    assert control.cancel(job.id, "ann")
    assert control.cancel(job.id, "ann").skipped == {job.id: "was asked to stop before"}
    assert control.abort(job.id, "ann").moved == [job.id]
    assert control.abort(job.id, "ann").skipped == {job.id: "was asked to stop before"}
    assert control.cancel(job.id, "ann").skipped == {job.id: "was asked to stop before"}
    assert Job.objects.get().abort_requested


@pytest.mark.parametrize("stop", STOPS)
def test_what_has_ended_or_never_was_is_skipped_and_says_why(stop: Stop) -> None:
    first, second = one_running(), one_running()
    done(first)
    done(second, "failed")
    third, fourth = stored(1)[0], uuid4()
    control.cancel(third, "ann")
    acted = stop([first.id, second.id, third, fourth], "ann")
    assert not acted
    assert acted.skipped == {
        first.id: "has already succeeded",
        second.id: "has already failed",
        third: "has already been cancelled",
        fourth: "does not exist",
    }


def test_a_recovered_job_that_is_cancelled_takes_no_late_report() -> None:
    with at(0):
        job = one_running()
    with at(60):
        recover(connection, random=lambda: 0.0)
        assert control.cancel(job.id, "ann").moved == [job.id]
        assert not done(job)
    assert JobRun.objects.get().state == "cancelled"


def test_runs_are_given_as_ids_text_handles_or_rows_alone_or_many() -> None:
    ids = stored(5)
    assert control.cancel(ids[0], "ann").moved == [ids[0]]
    assert control.cancel(str(ids[1]), "ann").moved == [ids[1]]
    assert control.cancel(RunHandle(ids[2]), "ann").moved == [ids[2]]
    assert control.cancel(Job.objects.filter(pk=ids[3]), "ann").moved == [ids[3]]
    assert control.cancel([ids[4], str(ids[4]), RunHandle(ids[4])], "ann").moved == [ids[4]]
    assert control.cancel([], "ann") == control.Acted()


@pytest.mark.parametrize("given", ["seven", 7, None, ["seven"], [None]])
def test_what_is_no_id_is_refused_before_anything_changes(given: Any) -> None:
    [run_id] = stored(1)
    with pytest.raises(RunNotFound, match="is not the id of a run"):
        control.cancel([run_id, *given] if isinstance(given, list) else given, "ann")
    assert Job.objects.count() == 1
    assert not ControlEvent.objects.exists()


def test_thousands_go_in_chunks_of_a_few_statements(django_assert_max_num_queries: Any) -> None:
    count = 2 * RUNS_PER_CHUNK + 1
    ids = [*stored(count - 1), one_running(job_type="other").id]
    with django_assert_max_num_queries(3 * 15):
        acted = control.cancel(ids, "ann", "flood")
    assert (len(acted.moved), len(acted.asked)) == (count, 1)
    assert JobRun.objects.filter(state="cancelled").count() == count - 1
    events = ControlEvent.objects.order_by("pk")
    assert [event.moved for event in events] == [RUNS_PER_CHUNK, RUNS_PER_CHUNK, 1]
    assert {UUID(run_id) for event in events[:2] for run_id in event.detail["moved"]} == set(ids[:-1])


def test_an_event_tells_who_did_what_to_which_run_and_why() -> None:
    job, [queued] = one_running(), stored(1)
    control.cancel(job.id, "ann", "wrong file")
    control.abort([job.id, queued, UUID(int=7)], "bob")
    alone, many = ControlEvent.objects.order_by("pk")
    assert (alone.actor, alone.action, alone.reason, alone.moved, alone.skipped) == (
        "ann",
        "cancel",
        "wrong file",
        1,
        0,
    )
    assert (alone.target_kind, alone.target, alone.detail) == ("run", str(job.id), {"asked": [str(job.id)]})
    assert (many.actor, many.action, many.moved, many.skipped) == ("bob", "abort", 2, 1)
    assert (many.target_kind, many.target) == ("runs", "3 runs")
    assert sorted(many.detail["moved"]) == sorted([str(job.id), str(queued)])
    assert (many.detail["asked"], many.detail["skipped"]) == ([str(job.id)], {"does not exist": 1})


@pytest.mark.django_db(transaction=True)
def test_the_act_and_its_event_stand_or_fall_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [*stored(1), one_running(job_type="other").id]
    before = tables()
    monkeypatch.setattr(Act, "record", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        control.cancel(ids, "ann")
    assert tables() == before


@pytest.mark.parametrize(("actor", "reason"), [(None, ""), (7, ""), ("ann", None), ("ann", 7)])
def test_an_actor_is_a_user_or_a_name_and_a_reason_is_text(actor: Any, reason: Any) -> None:
    with pytest.raises(OptionInvalid, match="cannot be used"):
        control.cancel(stored(1), actor, reason)
    assert Job.objects.count() == 1


def test_what_cannot_be_stored_of_a_reason_is_left_out() -> None:
    [run_id] = stored(1)
    control.cancel(run_id, "ann\x00" + "n" * 200, "why\x00 not" + "!" * 5000)
    event = ControlEvent.objects.get()
    assert event.reason.startswith("why not!!!")
    assert len(event.actor) <= 150
    assert JobRun.objects.get().error == event.reason


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("commits", [True, False])
def test_a_job_that_is_just_being_claimed_is_asked_to_stop_or_cancelled(commits: bool) -> None:
    ids = stored(3)
    with sessions(2) as (worker, operator):
        worker.begin()
        taken = worker.do(take, 2)
        waiting = operator.start(control.cancel, ids, "ann")
        operator.until_blocked(waiting)
        (worker.commit if commits else worker.rollback)()
        acted = waiting.result(timeout=60)
    assert sorted(acted.moved) == sorted(ids)
    asked = {job.id for job in taken} if commits else set()
    assert set(acted.asked) == asked
    assert set(Job.objects.filter(cancel_requested=True).values_list("pk", flat=True)) == asked
    assert set(JobRun.objects.values_list("pk", flat=True)) == set(ids) - asked


@pytest.mark.django_db(transaction=True)
def test_two_who_wait_for_each_other_both_come_to_an_end(on_postgres: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wakes the next with the key, which the other has in hand."""
    ids = stored(4, policy="singleton", key="k", gate=2)
    Job.objects.filter(pk__in=ids).update(hold="key")
    both_have_locked, arrived = threading.Barrier(2), threading.local()

    def remove(*arguments: Any) -> set[UUID]:
        if not hasattr(arrived, "once"):
            arrived.once = both_have_locked.wait(timeout=30)
        return moves.remove(*arguments)

    monkeypatch.setattr("jobs_app.lifecycle.control.stop.remove", remove)
    with sessions(2) as (ann, bob):
        waiting = [ann.start(control.cancel, ids[::2], "ann"), bob.start(control.cancel, ids[1::2], "bob")]
        assert [len(each.result(timeout=60).moved) for each in waiting] == [2, 2]
    assert not Job.objects.exists()
    assert ControlEvent.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_claim_passes_what_is_just_being_cancelled() -> None:
    ids = stored(2)
    with sessions(2) as (operator, worker):
        operator.begin()
        operator.do(control.cancel, ids[0], "ann")
        claiming = worker.start(taken_ids)
        if connection.vendor == "postgresql":
            assert claiming.result(timeout=60) == ids[1:]
        operator.commit()
        assert claiming.result(timeout=60) == ids[1:]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("commits", [True, False])
def test_a_job_that_is_just_being_finished_is_finished_or_asked_to_stop(commits: bool) -> None:
    job = one_running()
    with sessions(2) as (worker, operator):
        worker.begin()
        worker.do(done, job)
        waiting = operator.start(control.cancel, job.id, "ann")
        operator.until_blocked(waiting)
        (worker.commit if commits else worker.rollback)()
        acted = waiting.result(timeout=60)
    assert acted.skipped == ({job.id: "has already succeeded"} if commits else {})
    assert acted.asked == ([] if commits else [job.id])
