"""Enqueue by the task API: what is checked, what is stored, in what order it runs."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs_app.errors import PayloadInvalid
from jobs_app.models import Job, Run
from jobs_app.tasks_backend import JobsBackend
from jobs_app.tasks_backend.library import IS_DJANGO, InvalidTask, InvalidTaskBackend, task, task_backends
from jobs_app.testing import run_jobs
from tests.tasks_backend import tasks
from tests.tasks_backend.conftest import Heard

LOGGER = "django.tasks" if IS_DJANGO else "django_tasks"
OURS = "jobs_app.tasks_backend.JobsBackend"
ASYNC_WORD = "Tasks" if IS_DJANGO else "tasks"


def with_tasks(**default: Any) -> override_settings:
    return override_settings(TASKS={"default": {"BACKEND": OURS, **default}})


def test_it_is_the_backend_and_says_what_it_can_do() -> None:
    backend = task_backends["default"]
    assert type(backend) is JobsBackend
    flags = ("supports_defer", "supports_async_task", "supports_get_result", "supports_priority")
    assert all(getattr(backend, flag) for flag in flags)
    assert (backend.alias, backend.options, backend.queues) == ("default", {}, set())
    assert task_backends["retrying"].options == {"max_attempts": 3, "timeout": 60}


@pytest.mark.django_db
def test_an_enqueue_is_one_statement_that_stores_the_call() -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        result = tasks.noop.enqueue(1, (2, b"three"), four={"five": None})
    assert len(queries) == 1
    run = Run.objects.get()
    assert (str(run.pk), run.job_type, run.queue) == (result.id, "tests.tasks_backend.tasks.noop", "default")
    assert (run.max_attempts, run.priority, run.state) == (1, 0, "queued")
    assert (result.args, result.kwargs) == ([1, [2, "three"]], {"four": {"five": None}})
    assert len(result.id) < 64


@pytest.mark.django_db
def test_it_joins_the_transaction() -> None:
    with transaction.atomic():
        result = tasks.noop.enqueue()
        assert result.enqueued_at is not None
        assert tasks.noop.get_result(result.id) == result
        transaction.set_rollback(True)
    assert not Run.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["add", "add_async"])
def test_async_code_enqueues_reads_and_calls(name: str) -> None:
    one = getattr(tasks, name)

    async def ask() -> Any:
        result = await one.aenqueue(2, right=3)
        assert await one.aget_result(result.id) == result
        assert await one.acall(1) == 2
        return result

    result = async_to_sync(ask)()
    run_jobs()
    async_to_sync(result.arefresh)()
    assert (result.return_value, result.attempts) == (5, 1)


@pytest.mark.django_db
def test_a_later_moment_is_waited_for() -> None:
    run_after = timezone.now() + timedelta(hours=1)
    result = tasks.add.using(run_after=run_after).enqueue(1)
    assert Job.objects.get().run_at == run_after
    assert not run_jobs()
    assert run_jobs(at="2h").succeeded
    result.refresh()
    assert (result.return_value, result.task.run_after) == (2, run_after)


@pytest.mark.django_db
def test_the_most_urgent_runs_first_and_then_the_oldest() -> None:
    numbers = [0, -100, 100, 0, 7]
    results = [tasks.noop.using(priority=priority).enqueue() for priority in numbers]
    ran = [str(run.id) for run in run_jobs()]
    assert ran == [results[place].id for place in (2, 4, 0, 3, 1)]


INVALID = [
    (lambda: task()(any), "Task function must be defined at a module level."),
    (lambda: task()(tasks.inner()), "Task function must be defined at a module level."),
    (
        lambda: task(takes_context=True)(tasks.not_a_task),
        "Task takes context but does not have a first argument of 'context'.",
    ),
    (lambda: tasks.noop.using(priority=101), "priority must be a whole number between -100 and 100."),
    (lambda: tasks.noop.using(priority=1.5), "priority must be a whole number between -100 and 100."),
    (
        lambda: tasks.noop.using(run_after=datetime(2126, 1, 1)),
        "run_after must be an aware datetime.",
    ),
]


@pytest.mark.parametrize(("make", "text"), INVALID)
def test_a_task_that_cannot_be_is_refused_in_the_words_of_the_task_api(make: Any, text: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        make()
    assert str(caught.value) == text


def test_the_first_fault_in_the_order_of_the_task_api_is_told() -> None:
    faults = {"priority": 101, "run_after": datetime(2126, 1, 1), "queue_name": "other"}
    told = []
    with with_tasks(QUEUES=["default"]):
        while faults:
            with pytest.raises(InvalidTask) as caught:
                tasks.noop.using(**faults)
            told.append(str(caught.value).split()[0])
            faults.pop(next(iter(faults)))
    assert told == ["priority", "run_after", "Queue"]


def test_a_backend_that_allows_less_says_so() -> None:
    backend = task_backends["default"]
    with mock.patch.multiple(backend, supports_async_task=False), pytest.raises(InvalidTask) as caught:
        task()(tasks.coroutine)
    assert str(caught.value) == f"Backend does not support async {ASYNC_WORD}."


@pytest.mark.parametrize("name", ["", "two words", "x" * 200])
def test_a_queue_that_no_worker_could_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidTask, match="cannot be used"):
        tasks.noop.using(queue_name=name or " ")


@pytest.mark.django_db
def test_a_queue_that_the_settings_do_not_name_is_refused_at_each_enqueue() -> None:
    elsewhere = tasks.noop.using(queue_name="mail")
    elsewhere.enqueue()
    with with_tasks(QUEUES=["default"]):
        for enqueue in (elsewhere.enqueue, async_to_sync(elsewhere.aenqueue)):
            with pytest.raises(InvalidTask) as caught:
                enqueue()
            assert str(caught.value) == "Queue 'mail' is not valid for backend."
    assert Run.objects.get().queue == "mail"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "NaN and Infinity are not JSON"),
        ("a\0b", "NUL character"),
        ({1: 2}, "the key 1 is not text"),
    ],
)
def test_what_would_come_back_changed_is_refused_before_it_is_stored(value: Any, text: str) -> None:
    for call in (lambda: tasks.noop.enqueue(value), lambda: tasks.noop.enqueue(named=value)):
        with CaptureQueriesContext(connection) as queries, pytest.raises(PayloadInvalid, match=text):
            call()
        assert not queries
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_what_is_no_json_is_a_type_error_of_the_task_api() -> None:
    with pytest.raises(TypeError, match="Unsupported type"):
        tasks.noop.enqueue(datetime.now())  # noqa: DTZ005
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_one_attempt_is_usual_and_options_may_say_otherwise() -> None:
    usual = tasks.noop.enqueue()
    of_backend = tasks.noop.using(backend="retrying").enqueue()
    of_task = tasks.never.enqueue()
    of_enqueue = tasks.never.using(max_attempts=5, timeout="1m").enqueue()
    both = tasks.noop.using(backend="retrying", max_attempts=4).enqueue()
    found = {str(run.pk): (run.max_attempts, run.timeout_seconds) for run in Run.objects.all()}
    assert found == {
        usual.id: (1, None),
        of_backend.id: (3, 60.0),
        of_task.id: (2, None),
        of_enqueue.id: (5, 60.0),
        both.id: (4, 60.0),
    }


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_attempt": 3}, "Did you mean 'max_attempts'"),
        ({"timeout": -1}, "timeout"),
        ({"queue": "mail"}, "queue"),
        ({"takes_context": True}, "takes_context"),
    ],
)
def test_options_that_no_task_could_use_are_told_at_once(options: dict[str, Any], text: str) -> None:
    with with_tasks(OPTIONS=options), pytest.raises(InvalidTaskBackend, match=text) as caught:
        task_backends["default"]
    assert "TASKS['default']['OPTIONS']" in str(caught.value)


@pytest.mark.django_db
def test_a_key_that_is_taken_gives_the_run_that_has_it(heard: Heard) -> None:
    first = tasks.greet.enqueue(7)
    assert tasks.greet.enqueue(user_id=7, word="servus") == first
    assert tasks.greet.enqueue(8).id != first.id
    assert heard.words() == [("enqueued", "READY")] * 2


@pytest.mark.django_db
def test_an_enqueue_logs_one_record_and_a_full_run_three(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER):
        result = tasks.add.enqueue(1)
        assert [record.levelname for record in of_library(caplog)] == ["DEBUG"]
        run_jobs()
    assert [record.levelname for record in of_library(caplog)] == ["DEBUG", "INFO", "INFO"]
    assert all(result.id in record.getMessage() for record in of_library(caplog))


@pytest.mark.django_db
def test_a_failure_is_logged_as_an_error_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER):
        tasks.failing.enqueue()
        run_jobs(raise_errors=False)
    *_, last = of_library(caplog)
    assert len(of_library(caplog)) == 3
    assert (last.levelname, "FAILED" in last.getMessage()) == ("ERROR", True)
    assert last.exc_info is not None
    assert repr(last.exc_info[1]) == "ValueError('on purpose')"


def of_library(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith(LOGGER)]
