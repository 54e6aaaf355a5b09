"""Enqueueing by name, as operators and other systems do: who may, and a word about who and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from django.core.exceptions import PermissionDenied

from jobs_app.definitions import JobDefinition
from jobs_app.handles import RunHandle
from jobs_app.options import EnqueueOptions
from jobs_app.registry import JobType, registry

if TYPE_CHECKING:
    from jobs_app.lifecycle.control.acting import Act


def trigger(
    name: str, payload: Mapping[str, Any] | None = None, *, reason: str = "", **options: Unpack[EnqueueOptions]
) -> RunHandle:
    """Enqueue a job by the name of its type.

    `actor` is a user, who needs the permission to trigger jobs and the one that the job type asks for, or the name
    under which code acts. A control event tells who asks and why, where one of them is given.
    """
    from jobs_app.lifecycle.control.acting import begin
    from jobs_app.lifecycle.database import jobs_connection, write_savepoint

    job_type = registry.get(name)
    act = begin("trigger", "trigger_job", options.get("actor") or "", reason)
    if not act.may(job_type.permission):
        raise PermissionDenied(f"trigger: {act.actor} has no permission {job_type.permission}.")
    options["actor"] = act.actor
    definition: JobDefinition[..., Any] = JobDefinition(job_type, options)
    if not (act.actor or act.reason):
        return definition.enqueue_payload(payload)
    with write_savepoint(jobs_connection()):
        run = definition.enqueue_payload(payload)
        _record(act, job_type, run)
    return run


def _record(act: Act, job_type: JobType, run: RunHandle) -> None:
    from jobs_app.lifecycle.control.acting import Acted
    from jobs_app.lifecycle.database import jobs_connection

    why = {} if run.created else {run.id: "a run with its key was there before"}
    acted = Acted(moved=[run.id] if run.created else [], skipped=why)
    act.record(jobs_connection(), "run", str(run.id), acted, {"job_type": job_type.name})
