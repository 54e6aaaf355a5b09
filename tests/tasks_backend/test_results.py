"""A run in the words of the task API: equal to what the enqueue gave, and true at each step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.errors import JobCancelled
from jobs_app.lifecycle import control
from jobs_app.lifecycle.finish import finish
from jobs_app.models import Job
from jobs_app.tasks_backend.library import TaskResultDoesNotExist, TaskResultStatus, errors, task_backends
from jobs_app.testing import run_jobs
from jobs_app.worker.flight import board
from jobs_app.worker.runner import interrupted
from jobs_app.worker.telling import tell
from tests.by_hand import HandWorker
from tests.tasks_backend import tasks

pytestmark = pytest.mark.django_db

IN_FUTURE = datetime(2099, 12, 31, tzinfo=UTC)  # the same in every process that collects these tests
USED = [
    {},
    {"priority": 7},
    {"queue_name": "mail"},
    {"run_after": IN_FUTURE},
    {"backend": "retrying"},
    {"max_attempts": 4},
    {"timeout": "1m"},
    {"timeout": timedelta(seconds=5), "max_attempts": 1},
    {"backend": "retrying", "max_attempts": 7, "timeout": 9},
    {"priority": -3, "queue_name": "mail", "run_after": IN_FUTURE, "backend": "retrying", "max_attempts": 2},
]


@pytest.mark.parametrize("used", USED, ids=str)
@pytest.mark.parametrize("name", ["noop", "never"])
def test_what_is_read_equals_what_the_enqueue_gave(name: str, used: dict[str, Any]) -> None:
    task = getattr(tasks, name).using(**used)
    result = task.enqueue()
    with CaptureQueriesContext(connection) as queries:
        again = task_backends["default"].get_result(result.id)
    assert len(queries) == 1
    assert again == result
    assert again.task == task
    assert (again.backend, again.status) == (task.backend, TaskResultStatus.READY)
    with CaptureQueriesContext(connection) as queries:
        again.refresh()
    assert len(queries) == 1
    assert again == result


@pytest.mark.parametrize("wrong", ["0f66aac9-6a3e-4f95-bf35-feafd61e39c3", "123", "", "x" * 500, 123, "a\0b"])
def test_an_id_that_nothing_has_does_not_exist(wrong: Any) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(wrong)


def test_a_run_that_is_no_task_has_no_result() -> None:
    @job
    def plain() -> None: ...

    run = plain.enqueue()
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(str(run.id))


def test_the_result_of_another_task_is_a_mismatch() -> None:
    result = tasks.noop.enqueue()
    with pytest.raises(errors.TaskResultMismatch, match="Task does not match"):
        tasks.add.get_result(result.id)


def test_a_success_has_a_value_times_and_a_worker() -> None:
    result = tasks.add.enqueue(1, right=2)
    with pytest.raises(ValueError, match="Task has not finished yet"):
        _ = result.return_value
    run_jobs()
    result.refresh()
    assert (result.status, result.return_value, result.is_finished) == (TaskResultStatus.SUCCESSFUL, 3, True)
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert result.last_attempted_at == result.started_at
    assert (result.attempts, len(result.worker_ids), result.errors) == (1, 1, [])
    assert result == tasks.add.get_result(result.id)


FAILURES = [
    (tasks.failing, ValueError, "ValueError: on purpose\n"),
    (tasks.failing_async, ValueError, "ValueError: on purpose\n"),
    (tasks.failing_in_depth, ValueError, "ValueError: 'within'\n"),
    (tasks.exiting, SystemExit, "SystemExit: enough\n"),
]


@pytest.mark.parametrize(("task", "error", "last_line"), FAILURES)
def test_a_failure_has_its_class_and_a_traceback_that_ends_with_it(task: Any, error: type, last_line: str) -> None:
    result = task.enqueue()
    run_jobs(raise_errors=False)
    result.refresh()
    (found,) = result.errors
    assert (result.status, found.exception_class) == (TaskResultStatus.FAILED, error)
    assert found.traceback.startswith("Traceback (most recent call last):\n")
    assert found.traceback.endswith(last_line)
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert (result._return_value, result.attempts) == (None, 1)


def test_an_interrupt_that_a_task_raises_is_its_failure() -> None:
    result = tasks.interrupted.enqueue()
    assert HandWorker().work() is not None
    result.refresh()
    assert (result.status, result.errors[0].exception_class) == (TaskResultStatus.FAILED, KeyboardInterrupt)


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("object", "builtins.TypeError", "Unsupported type"),
        ("nan", "jobs_app.errors.PayloadInvalid", "the return value cannot be stored as JSON: NaN"),
        ("nul", "jobs_app.errors.PayloadInvalid", "NUL character"),
        ("key", "jobs_app.errors.PayloadInvalid", "the key 1 is not text"),
    ],
)
def test_a_value_that_cannot_be_stored_is_a_failure(kind: str, error: str, text: str) -> None:
    result = tasks.unstorable.enqueue(kind)
    run_jobs(raise_errors=False)
    result.refresh()
    assert (result.status, result._return_value) == (TaskResultStatus.FAILED, None)
    assert result.errors[0].exception_class_path == error
    assert text in result.errors[0].traceback


def test_each_attempt_has_a_worker_and_an_error_and_it_is_ready_between() -> None:
    result = tasks.third_time.enqueue()
    seen = []
    workers = [HandWorker() for _ in range(3)]
    for worker in workers:
        assert worker.work() is not None
        result.refresh()
        seen.append((result.status.value, result.attempts, len(result.errors)))
    assert seen == [("READY", 1, 1), ("READY", 2, 2), ("SUCCESSFUL", 3, 2)]
    assert result.worker_ids == [worker.id for worker in workers]
    assert [error.traceback.splitlines()[-1] for error in result.errors] == [
        "ValueError: attempt 1",
        "ValueError: attempt 2",
    ]
    assert result.return_value == [3, ["builtins.ValueError"] * 2]
    assert result.started_at < result.last_attempted_at < result.finished_at


def test_while_it_runs_it_has_the_worker_that_runs_it() -> None:
    result = tasks.noop.enqueue()
    worker = HandWorker()
    worker.claim()
    result.refresh()
    assert (result.status, result.worker_ids, result.finished_at) == (TaskResultStatus.RUNNING, [worker.id], None)
    assert result.started_at == result.last_attempted_at


@pytest.mark.parametrize("name", ["attempt_of", "attempt_of_async"])
def test_the_context_says_which_attempt_it_is(name: str) -> None:
    result = getattr(tasks, name).enqueue()
    run_jobs()
    result.refresh()
    assert result.return_value == 1


def test_the_context_has_the_result_as_it_runs() -> None:
    result = tasks.told.enqueue("ping")
    run_jobs()
    result.refresh()
    assert result.return_value == [result.id, "RUNNING", "ping", ["ping"], {}, 1]


def test_one_that_an_operator_cancelled_has_failed_and_says_so() -> None:
    result = tasks.noop.enqueue()
    operator = User.objects.create_superuser("operator")
    control.cancel([result.id], operator, "not needed")
    result.refresh()
    (found,) = result.errors
    assert (result.status, found.exception_class) == (TaskResultStatus.FAILED, JobCancelled)
    assert "ancel" in found.traceback
    assert result.is_finished
    assert result.attempts == 0


def test_one_that_its_worker_gave_up_tells_the_same_as_its_signal(heard: Any) -> None:
    result = tasks.noop.enqueue()
    worker = HandWorker()
    (claimed,) = worker.claim()
    flight = board(claimed, worker="hand", worker_id=worker.id, lease=30)
    ended = interrupted(flight, state="failed", error="Worker shutdown")
    assert finish(connection, [ended])
    tell(claimed, ended, worker.id)
    result.refresh()
    *_, (_, _, told) = heard
    assert (result.status, len(result.errors)) == (TaskResultStatus.FAILED, 1)
    assert "Worker shutdown" in result.errors[0].traceback
    assert told.errors == result.errors


def test_what_the_settings_do_not_know_any_more_is_read_all_the_same() -> None:
    moved = tasks.noop.using(backend="retrying").enqueue()
    queued = tasks.noop.using(queue_name="mail").enqueue()
    ours = {"BACKEND": "jobs_app.tasks_backend.JobsBackend", "QUEUES": ["default"]}
    with override_settings(TASKS={"default": ours}):
        for result in (moved, queued):
            found = task_backends["default"].get_result(result.id)
            assert (found.id, found.task) == (result.id, tasks.noop)


def test_a_task_that_the_code_does_not_have_any_more_has_no_result() -> None:
    result = tasks.noop.enqueue()
    Job.objects.update(job_type="gone.away")
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()
