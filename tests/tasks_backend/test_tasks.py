"""The class of our tasks and our decorator, on every release of the task API."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import pytest
from django import VERSION
from django.utils import timezone
from django.utils.module_loading import import_string

from jobs_app.tasks_backend import JobsTask, task
from jobs_app.tasks_backend.library import IS_DJANGO, InvalidTask, Task
from jobs_app.tasks_backend.library import task as library_task
from jobs_app.tasks_backend.tasks import own_options
from tests.tasks_backend import tasks

pickles = pytest.mark.skipif(VERSION < (6, 1), reason="tasks are pickled since Django 6.1")
both_libraries = pytest.mark.skipif(
    not IS_DJANGO or find_spec("django_tasks") is None, reason="needs Django 6 and django-tasks beside it"
)

DEFINED_EARLY = """
from jobs_app.tasks_backend import task
from django.conf import settings
settings.configure(
    TASKS={"default": {"BACKEND": "jobs_app.tasks_backend.JobsBackend"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "jobs_app"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
from django.apps import apps

@task(max_attempts=2, subject="user_id")
def early(user_id: int): ...

later = early.using(priority=3)
assert not apps.ready
assert "jobs_app.models" not in __import__("sys").modules
import django
django.setup()
from jobs_app.registry import registry
assert [one.max_attempts for one in registry if one.function.__name__ == "early"] == [2]
"""


def test_a_task_is_a_task_of_the_library() -> None:
    assert isinstance(tasks.noop, Task)
    assert type(tasks.noop) is type(tasks.noop_async) is type(tasks.never) is JobsTask
    assert (tasks.noop.name, tasks.noop.module_path) == ("noop", "tests.tasks_backend.tasks.noop")
    assert import_string(tasks.noop.module_path) is tasks.noop
    assert tasks.add.call(1, right=4) == 5
    assert tasks.add_async.call(1) == 2


def test_using_gives_another_and_changes_nothing() -> None:
    moment = timezone.now()
    assert tasks.noop.using() == tasks.noop
    assert tasks.noop.using() is not tasks.noop
    chained = tasks.never.using(run_after=moment).using(priority=4).using(max_attempts=9)
    assert (chained.run_after, chained.priority, chained.max_attempts) == (moment, 4, 9)
    assert (tasks.never.priority, tasks.never.max_attempts) == (0, 2)
    assert own_options(chained)["max_attempts"] == 9
    with pytest.raises(TypeError):
        tasks.noop.using(unknown=1)


def test_a_time_limit_may_be_said_in_any_way() -> None:
    assert [tasks.noop.using(timeout=one).timeout for one in (60, "1m", timedelta(minutes=1))] == [60.0] * 3


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"timeout": 0}, "timeout=0 cannot be used: use a time above 0"), ({"max_attempts": 0}, "max_attempts=0 cannot")],
    ids=["timeout", "max_attempts"],
)
def test_a_limit_that_cannot_be_is_refused_by_its_name(limits: dict[str, int], words: str) -> None:
    with pytest.raises(InvalidTask, match=words):
        tasks.noop.using(**limits)


def test_tasks_with_options_that_cannot_be_hashed_can_be() -> None:
    made = task(meta={"team": "blue"})(tasks.not_a_task)
    assert {made: 1}[made] == 1
    assert made != task(tasks.not_a_task)


def test_options_are_given_where_a_task_is_defined() -> None:
    made = task(max_attempts=4, priority=2, queue_name="mail", backend="retrying")(tasks.not_a_task)
    assert (made.max_attempts, made.priority, made.queue_name, made.backend) == (4, 2, "mail", "retrying")
    assert own_options(made) == {"max_attempts": 4}
    assert task(tasks.not_a_task) == task()(tasks.not_a_task)


@pytest.mark.parametrize(
    "options", [{"unknown": 1}, {"run_after": timezone.now()}, {"queue": "mail"}], ids=["unknown", "run_after", "queue"]
)
def test_what_is_no_option_is_a_type_error(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        task(**options)(tasks.not_a_task)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_attempts": 0}, "max_attempts=0"),
        ({"subject": "user"}, "'user' is no argument"),
        ({"every": "x"}, "every"),
    ],
)
def test_an_option_that_cannot_be_is_an_invalid_task(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidTask, match=text):
        task(**options)(tasks.not_a_task)


@pytest.mark.skipif((6, 0) <= VERSION < (6, 1), reason="the decorator of Django 6.0 takes no further options")
def test_the_decorator_of_the_library_takes_options_too() -> None:
    assert library_task(max_attempts=5)(tasks.not_a_task).max_attempts == 5


@both_libraries
@pytest.mark.django_db
def test_the_decorator_of_the_package_works_beside_django() -> None:
    import django_tasks

    made = django_tasks.task(priority=3)(tasks.not_a_task)
    assert type(made) is JobsTask
    result = made.enqueue()
    assert made.get_result(result.id) == result


@pickles
@pytest.mark.django_db
def test_tasks_and_results_are_pickled() -> None:
    for one in (tasks.noop, tasks.never.using(max_attempts=7, priority=2), tasks.greet):
        assert pickle.loads(pickle.dumps(one)) == one
    result = tasks.never.using(max_attempts=7).enqueue()
    assert pickle.loads(pickle.dumps(result)) == result


def test_tasks_are_defined_while_models_are_loaded() -> None:
    ended = subprocess.run([sys.executable, "-c", DEFINED_EARLY], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
