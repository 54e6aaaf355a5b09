"""The backend behind `TASKS`: every task of the project becomes a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured

from jobs_app.errors import DefinitionInvalid
from jobs_app.tasks_backend import job_types
from jobs_app.tasks_backend.checks import ADD_APP, app_is_installed
from jobs_app.tasks_backend.library import (
    BaseTaskBackend,
    InvalidTask,
    InvalidTaskBackend,
    Task,
    TaskResult,
    normalize_json,
    task_enqueued,
)
from jobs_app.tasks_backend.tasks import META, TASK_OPTIONS, JobsTask, asked_for, options_of
from jobs_app.values import name as queue_name
from jobs_app.values import period


class JobsBackend(BaseTaskBackend):
    """OPTIONS are options of `@job`, for every task of the backend that does not say otherwise itself."""

    task_class = JobsTask  # type: ignore[assignment]
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, dict(params))
        try:
            job_types.require_usable(self.options, TASK_OPTIONS, f"TASKS[{alias!r}]['OPTIONS']")
        except DefinitionInvalid as problem:
            raise InvalidTaskBackend(str(problem)) from None

    def validate_task(self, task: Task[..., Any]) -> None:
        """Called where a task is defined, too: it is a job type from then on."""
        super().validate_task(task)
        try:
            queue_name(task.queue_name)
        except ValueError as problem:
            raise InvalidTask(f"Queue {task.queue_name!r} cannot be used: {problem}.") from None
        job_types.know(task, self)

    def enqueue(self, task: Task[..., Any], args: Any, kwargs: Any) -> TaskResult[Any]:
        """One INSERT in the caller's transaction, with the wake-up of a worker riding in it."""
        results = _results()
        self.validate_task(task)
        known = job_types.know(task, self)
        args, kwargs = normalize_json(list(args)), normalize_json(kwargs)
        options = self._options_of(task, known)
        definition = known.definition.options(**options) if options else known.definition
        run = definition.enqueue_payload(known.schema.payload(args, kwargs))
        if not run.created:  # its key is taken, and this is who has it
            return results.stored(run.id)
        result = results.enqueued(task, run.id, run.queued_at, args, kwargs)
        task_enqueued.send_robust(type(self), task_result=result)  # it is stored, whatever a receiver does
        return result

    def get_result(self, result_id: str) -> TaskResult[Any]:
        return _results().stored(result_id)

    def check(self, **kwargs: Any) -> Iterable[CheckMessage]:
        return app_is_installed(self.alias)

    def _options_of(self, task: Task[..., Any], known: job_types.KnownTask) -> dict[str, Any]:
        """What this enqueue asks for beside what the job type says anyway: most often nothing."""
        base, options = known.task, dict[str, Any]()
        if task.queue_name != base.queue_name:
            options["queue"] = task.queue_name
        if task.priority != base.priority:
            options["priority"] = task.priority
        if task.run_after is not None:
            options["run_at"] = task.run_after
        options |= self._limits_of(task, known)
        asked = asked_for(task, base)
        return options | {"meta": {META: asked}} if asked else options

    def _limits_of(self, task: Task[..., Any], known: job_types.KnownTask) -> dict[str, Any]:
        """Attempts and time, where `using` or the options of another backend say otherwise than the job type does."""
        said, job_type = options_of(task, self), known.definition.job_type
        limits: dict[str, Any] = {}
        if said.get("max_attempts") not in (None, job_type.max_attempts):
            limits["max_attempts"] = said["max_attempts"]
        if (
            said.get("timeout") is not None
            and not callable(said["timeout"])
            and period(said["timeout"]) != job_type.timeout
        ):
            limits["timeout"] = said["timeout"]
        return limits


def _results() -> ModuleType:
    """Imported when it is needed: tasks are defined before there are models, which it reads."""
    if "jobs_app" not in apps.app_configs:
        raise ImproperlyConfigured(f"JobsBackend stores tasks in tables of jobs_app. {ADD_APP}")
    from jobs_app.tasks_backend import results

    return results
