"""The signals of the task API: when, from whom, with what."""

from __future__ import annotations

import sys
import traceback
import weakref
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from jobs_app import job
from jobs_app.errors import LeaseLost
from jobs_app.lifecycle import control
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.moves import Ended
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobRun
from jobs_app.signals import job_finished, jobs_recovered
from jobs_app.tasks_backend import JobsBackend, task, telling
from jobs_app.tasks_backend.library import IS_DJANGO, TaskResultStatus, task_finished, task_started
from jobs_app.testing import run_jobs
from jobs_app.worker.telling import tell
from tests.by_hand import HandWorker
from tests.tasks_backend import tasks
from tests.tasks_backend.conftest import Heard
from tests.waiting import until
from tests.worker.harness import working

pytestmark = pytest.mark.django_db


class Ends(list[Any]):
    """What a receiver of `task_finished` sees around it."""

    def __call__(self, sender: type, task_result: Any, **kwargs: Any) -> None:
        stored = JobRun.objects.filter(pk=task_result.id).values_list("state", flat=True).first()
        self.append((task_result.status.value, stored, sys.exc_info()[1]))


@pytest.fixture
def ends() -> Iterator[Ends]:
    found = Ends()
    task_finished.connect(found)
    yield found
    task_finished.disconnect(found)


@pytest.mark.parametrize("name", ["add", "add_async"])
def test_a_life_is_told_by_the_class_of_the_backend(name: str, heard: Heard) -> None:
    result = getattr(tasks, name).enqueue(1)
    run_jobs()
    assert heard.words() == [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "SUCCESSFUL")]
    assert {sender for _, sender, _ in heard} == {JobsBackend}
    assert {told.id for _, _, told in heard} == {result.id}
    _, (_, _, started), (_, _, finished) = heard
    assert started.started_at == started.last_attempted_at
    assert (len(started.worker_ids), started.finished_at, started.attempts) == (1, None, 1)
    assert (finished.return_value, finished.worker_ids) == (2, started.worker_ids)
    assert finished.enqueued_at <= finished.started_at <= finished.finished_at
    stored = getattr(tasks, name).get_result(result.id)
    assert (stored.return_value, stored.worker_ids) == (finished.return_value, finished.worker_ids)


def test_an_end_is_told_when_it_is_stored_with_the_error_at_hand(ends: Ends, heard: Heard) -> None:
    tasks.add.enqueue(1)
    tasks.failing.enqueue("no")
    run_jobs(raise_errors=False)
    assert ends[0] == ("SUCCESSFUL", "succeeded", None)
    status, stored, error = ends[1]
    assert (status, stored, repr(error)) == ("FAILED", "failed", "ValueError('no')")
    (told,) = [told for name, _, told in heard if name == "finished" and told.status == "FAILED"]
    assert told.errors == tasks.failing.get_result(told.id).errors
    assert sys.exc_info() == (None, None, None)


def test_the_error_at_hand_tells_where_the_task_failed_and_nothing_of_the_telling(ends: Ends) -> None:
    tasks.failing.enqueue("no")
    run_jobs(raise_errors=False)
    told = "".join(traceback.format_exception(ends[0][2]))
    assert "in failing" in told
    assert "jobs_app" not in told


@pytest.mark.django_db(transaction=True)
def test_what_a_failed_task_had_in_hand_goes_with_it(uncollected: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", logger="django.tasks" if IS_DJANGO else "django_tasks")  # pytest keeps what is logged
    alive: list[weakref.ref[Any]] = []

    def fail() -> None:
        large = set[int]()
        alive.append(weakref.ref(large))
        raise ValueError("no")

    fail.__qualname__ = "fail"  # as on a module's own level
    with working():
        result = task(fail).enqueue()
        until(lambda: JobRun.objects.filter(pk=result.id).exists())
        until(lambda: alive[0]() is None)


def test_an_error_that_is_false_is_told_as_it_is(ends: Ends) -> None:
    tasks.failing_with_nothing.enqueue()
    run_jobs(raise_errors=False)
    assert type(ends[0][2]) is tasks.Nothing


def try_again(claimed: ClaimedJob) -> None:
    """As a worker reports an attempt that failed and is not the last."""
    ended = Ended(id=claimed.id, token=claimed.token, state="queued", outcome="error", policy=claimed.policy)
    finish(connection, [ended])
    tell(claimed, ended, "worker")


def test_one_that_has_to_give_way_is_told(heard: Heard) -> None:
    """Its retry finds the place of its key taken: that is its end."""
    first = tasks.one_waits.enqueue()
    [claimed] = HandWorker().claim()
    holder = tasks.one_waits.enqueue()
    try_again(claimed)
    assert [(word, told.id, told.status) for word, _, told in heard if word == "finished"] == [
        ("finished", first.id, TaskResultStatus.FAILED)
    ]
    [claimed] = HandWorker().claim()
    assert str(claimed.id) == holder.id
    try_again(claimed)
    assert [word for word, _, _ in heard].count("finished") == 1


def test_an_attempt_that_is_tried_again_is_no_end(heard: Heard) -> None:
    tasks.third_time.enqueue()
    tasks.never.enqueue()
    run_jobs(raise_errors=False)
    ended = {told.task.name: told for word, _, told in heard if word == "finished"}
    assert [word for word, _, _ in heard].count("finished") == 2
    third, never = ended["third_time"], ended["never"]
    assert (third.status, third.attempts, len(third.errors)) == (TaskResultStatus.SUCCESSFUL, 3, 2)
    assert (never.status, never.attempts, len(never.errors)) == (TaskResultStatus.FAILED, 2, 2)
    began = [told.attempts for word, _, told in heard if word == "started" and told.task.name == "third_time"]
    assert began == [1, 2, 3]


def test_receivers_that_fail_change_nothing(heard: Heard) -> None:
    def broken(**kwargs: Any) -> None:
        raise RuntimeError("a receiver")

    for signal in (task_started, task_finished):
        signal.connect(broken)
    try:
        result = tasks.add.enqueue(1)
        run_jobs()
    finally:
        for signal in (task_started, task_finished):
            signal.disconnect(broken)
    result.refresh()
    assert result.return_value == 2
    assert len(heard) == 3


def test_one_whose_worker_was_lost_is_told(heard: Heard, ends: Ends) -> None:
    lost, tried_again = tasks.noop.enqueue(), tasks.never.enqueue()
    HandWorker().claim(2)
    with frozen_clock(timezone.now() + timedelta(hours=1)):
        jobs_recovered.tell(None, **recover(connection)._asdict())
    *_, (word, sender, told) = heard
    assert (word, sender, told.id) == ("finished", JobsBackend, lost.id)
    assert (told.status, told.attempts, told.errors[0].exception_class) == (TaskResultStatus.FAILED, 1, LeaseLost)
    assert [(status, stored, type(error)) for status, stored, error in ends] == [
        ("FAILED", "failed", telling.TaskFailed)
    ]
    tried_again.refresh()
    assert (tried_again.status, tried_again.attempts) == (TaskResultStatus.READY, 1)


def test_one_that_people_reconcile_is_told(heard: Heard, django_capture_on_commit_callbacks: Any) -> None:
    lost = tasks.noop.enqueue()
    HandWorker().claim()
    Job.objects.update(lease_expires_at=timezone.now() - timedelta(hours=1))
    with django_capture_on_commit_callbacks(execute=True):
        control.reconcile("ann")
    *_, (word, _, told) = heard
    assert (word, told.id, told.status) == ("finished", lost.id, TaskResultStatus.FAILED)


def test_one_that_nobody_started_in_time_is_told(heard: Heard) -> None:
    result = tasks.noop.enqueue()
    Job.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    jobs_recovered.tell(None, **recover(connection)._asdict())
    *_, (word, _, told) = heard
    assert (word, told.id, told.status, told.attempts) == ("finished", result.id, TaskResultStatus.FAILED, 0)
    assert len(told.errors) == 1
    assert told.errors[0].exception_class is not None


def test_other_jobs_are_not_told(heard: Heard) -> None:
    @job
    def plain() -> None: ...

    plain.enqueue()
    run_jobs()
    lost = plain.enqueue()
    HandWorker().claim()
    jobs_recovered.tell(None, requeued=set(), failed={lost.id}, expired=set())
    assert heard == []
    assert Job.objects.exists()


def test_before_the_first_task_nobody_listens() -> None:
    assert job_finished.disconnect(telling.finished)
    telling.listen()
    telling.listen()
    assert job_finished.disconnect(telling.finished)
    assert not job_finished.disconnect(telling.finished)
