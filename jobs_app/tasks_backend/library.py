"""The task API as this project has it: Django's own since 6.0, before that the package `django-tasks`.

Where both are there, Django's own is meant: tasks that the package's decorator makes are then Django's too, because the
backend says of which class they are.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

IS_DJANGO = find_spec("django.tasks") is not None

if TYPE_CHECKING or not IS_DJANGO:
    from django_tasks import (
        DEFAULT_TASK_BACKEND_ALIAS,
        DEFAULT_TASK_QUEUE_NAME,
        TaskContext,
        TaskResult,
        TaskResultStatus,
        task,
        task_backends,
    )
    from django_tasks import exceptions as errors
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import DEFAULT_TASK_PRIORITY, Task, TaskError
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
    from django_tasks.utils import normalize_json
else:
    from django.tasks import (
        DEFAULT_TASK_BACKEND_ALIAS,
        DEFAULT_TASK_QUEUE_NAME,
        TaskContext,
        TaskResult,
        TaskResultStatus,
        task,
        task_backends,
    )
    from django.tasks import exceptions as errors
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import DEFAULT_TASK_PRIORITY, Task, TaskError
    from django.tasks.exceptions import TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json

# Releases of the package have these under longer names than Django and the package's next release.
InvalidTask: type[Exception] = getattr(errors, "InvalidTask", None) or errors.InvalidTaskError
InvalidTaskBackend: type[Exception] = getattr(errors, "InvalidTaskBackend", None) or errors.InvalidTaskBackendError

__all__ = [
    "DEFAULT_TASK_BACKEND_ALIAS",
    "DEFAULT_TASK_PRIORITY",
    "DEFAULT_TASK_QUEUE_NAME",
    "IS_DJANGO",
    "BaseTaskBackend",
    "InvalidTask",
    "InvalidTaskBackend",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "normalize_json",
    "task",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]
