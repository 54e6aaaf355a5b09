"""A task is a job type: it has a page and a form, a subject and a key, limits and schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import reverse

from jobs_app.lifecycle import control
from jobs_app.models import Run, ScheduleState
from jobs_app.presets import PAYMENTS
from jobs_app.registry import registry
from jobs_app.tasks_backend import job_types, task
from jobs_app.tasks_backend.library import task_backends
from jobs_app.testing import run_jobs
from tests.tasks_backend import tasks

PATH = "tests.tasks_backend.tasks."


def job_type_of(one: Any) -> Any:
    return registry.get(job_types.name_of(one))


def test_its_name_is_its_path_and_its_label_is_readable() -> None:
    job_type = job_type_of(tasks.failing_in_depth)
    assert (job_type.name, job_type.label) == (f"{PATH}failing_in_depth", "Failing in depth")
    assert (job_type.max_attempts, job_type.queue, job_type.priority) == (1, "default", 0)


def test_a_preset_says_how_often_a_task_is_tried() -> None:
    assert job_type_of(task(preset="payments")(tasks.not_a_task)).max_attempts == PAYMENTS.max_attempts > 1
    assert job_type_of(task(preset="payments", max_attempts=2)(tasks.coroutine)).max_attempts == 2


@pytest.mark.django_db
def test_a_preset_of_the_backend_is_that_of_its_tasks() -> None:
    backend = {"BACKEND": "jobs_app.tasks_backend.JobsBackend", "OPTIONS": {"preset": "payments"}}
    with override_settings(TASKS={"default": backend}):
        made = task(tasks.not_a_task)
        made.enqueue()
        assert Run.objects.get().max_attempts == PAYMENTS.max_attempts


@pytest.mark.django_db
def test_two_tasks_of_one_function_are_each_enqueued_as_they_were_made() -> None:
    often, plain = task(max_attempts=4)(tasks.not_a_task), task(tasks.not_a_task)
    for made in (often, plain):
        made.enqueue()
    assert sorted(Run.objects.values_list("max_attempts", flat=True)) == [1, 4]


def test_a_path_that_is_no_name_has_one_that_stays() -> None:
    def long() -> None: ...

    long.__qualname__, long.__module__ = "ü" * 3 + "x" * 300, "module"
    made = task()(tasks.not_a_task)
    object.__setattr__(made, "func", long)
    name = job_types.name_of(made)
    assert name == job_types.name_of(made)
    assert len(name) < 130
    assert name.isascii()


def test_what_using_made_of_it_changes_nothing_of_the_type() -> None:
    before = job_type_of(tasks.noop)
    tasks.noop.using(queue_name="mail", priority=9, backend="retrying", max_attempts=8)
    assert job_type_of(tasks.noop) is before


def test_code_that_is_loaded_again_replaces_it() -> None:
    first = task(max_attempts=2)(tasks.not_a_task)
    before = job_type_of(first)

    def not_a_task(word: str) -> None: ...

    not_a_task.__module__, not_a_task.__qualname__ = tasks.__name__, "not_a_task"
    again = task(max_attempts=3)(not_a_task)
    assert job_type_of(again) is not before
    assert job_type_of(again).max_attempts == 3


@pytest.mark.django_db
def test_other_options_of_the_backend_hold_from_then_on() -> None:
    ours = {"BACKEND": "jobs_app.tasks_backend.JobsBackend", "OPTIONS": {"max_attempts": 6}}
    with override_settings(TASKS={"default": ours}):
        tasks.noop.enqueue()
        assert Run.objects.get().max_attempts == 6
    tasks.noop.enqueue()
    assert sorted(run.max_attempts for run in Run.objects.all()) == [1, 6]


@pytest.mark.django_db
@pytest.mark.parametrize("call", [lambda: tasks.greet.enqueue(7), lambda: tasks.greet.enqueue(user_id=7)])
def test_an_argument_is_subject_and_key_however_it_is_given(call: Callable[[], Any]) -> None:
    result = call()
    run = Run.objects.get()
    assert (run.subject, run.key) == ("7", "7")
    assert call() == result
    run_jobs()
    result.refresh()
    assert result.return_value == "hello 7"


@pytest.mark.django_db
def test_arguments_come_as_they_were_given() -> None:
    results = [
        (tasks.by_place.enqueue(1, 2), 3),
        (tasks.by_place.enqueue(1, right=2, scale=2), 6),
        (tasks.by_place.enqueue(1, 2, 3, 4, scale=3), 30),
    ]
    run_jobs()
    for result, value in results:
        result.refresh()
        assert result.return_value == value


@pytest.mark.django_db
def test_a_call_that_cannot_be_made_fails_when_it_is_made() -> None:
    result = tasks.add.enqueue(1, 2, 3)
    run_jobs(raise_errors=False)
    result.refresh()
    assert result.errors[0].exception_class is TypeError


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


def test_an_operator_triggers_it_by_a_form_and_sees_the_run(operator: Client) -> None:
    url = reverse("admin:jobs_app_jobdefinition_trigger", args=[f"{PATH}add"])
    assert 'name="payload-left"' in operator.get(url).content.decode()
    refused = operator.post(url, {"when": "now", "payload-left": "x"})
    assert list(refused.context["form"].errors) == ["payload-left"]
    answer = operator.post(url, {"when": "now", "payload-left": "4", "payload-right": "5"})
    run = Run.objects.get()
    assert answer.status_code == 302
    run_jobs()
    result = tasks.add.get_result(str(run.pk))
    assert (result.return_value, result.kwargs) == (9, {"left": 4, "right": 5})
    assert f"{PATH}add" in operator.get(answer.url).content.decode()


def test_secrets_given_by_place_are_not_shown(operator: Client) -> None:
    result = tasks.sign_in.enqueue("ann", "hunter2")
    shown = operator.get(reverse("admin:jobs_app_run_detail", args=[result.id])).content.decode()
    assert "hunter2" not in shown
    assert "[hidden]" in shown
    assert task_backends["default"].get_result(result.id).args == ["ann", "hunter2"]


@pytest.mark.django_db
def test_a_schedule_is_said_where_the_task_is_defined() -> None:
    call_command("runscheduler", once=True)
    row = ScheduleState.objects.get(job_type=f"{PATH}hourly")
    assert str(row.timetable) == str(job_type_of(tasks.hourly).own_schedule.timetable)
    control.trigger_schedule(row.pk, "ops")
    call_command("runscheduler", once=True)
    runs = Run.objects.filter(job_type=f"{PATH}hourly")
    assert {tasks.hourly.get_result(str(run.pk)).args == [] for run in runs} == {True}


@pytest.mark.django_db
def test_a_schedule_is_added_and_its_runs_are_results() -> None:
    control.add_schedule(f"{PATH}add", "ops", every="1h", payload={"left": 3})
    (row,) = ScheduleState.objects.all()
    control.trigger_schedule(row.pk, "ops", "now")
    call_command("runscheduler", once=True)
    run_jobs()
    result = tasks.add.get_result(str(Run.objects.get(job_type=f"{PATH}add").pk))
    assert (result.return_value, result.kwargs) == (4, {"left": 3})
