"""Enqueueing by name, as operators and other systems do: who may, and a word about who and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    [run] = _trigger(name, lambda definition: [definition.enqueue_payload(payload)], reason, options)
    return run


def trigger_many(
    name: str, payloads: Sequence[Mapping[str, Any]], *, reason: str = "", **options: Unpack[EnqueueOptions]
) -> list[RunHandle]:
    """The same for many jobs of one type: all are stored or none, and one control event tells of all."""
    return _trigger(name, lambda definition: definition.enqueue_many(payloads), reason, options)


def _trigger(
    name: str, enqueue: Callable[[JobDefinition[..., Any]], list[RunHandle]], reason: str, options: EnqueueOptions
) -> list[RunHandle]:
    from jobs_app.lifecycle.control.acting import begin
    from jobs_app.lifecycle.database import jobs_connection, write_savepoint

    job_type = registry.get(name)
    act = begin("trigger", "trigger_job", options.get("actor") or "", reason)
    if not act.may(job_type.permission):
        raise PermissionDenied(f"trigger: {act.actor} has no permission {job_type.permission}.")
    options["actor"] = act.actor
    definition: JobDefinition[..., Any] = JobDefinition(job_type, options)
    if not (act.actor or act.reason):
        return enqueue(definition)
    with write_savepoint(jobs_connection()):
        runs = enqueue(definition)
        _record(act, job_type, runs)
    return runs


def _record(act: Act, job_type: JobType, runs: Sequence[RunHandle]) -> None:
    from jobs_app.lifecycle.control.acting import Acted
    from jobs_app.lifecycle.database import jobs_connection

    acted = Acted(
        moved=[run.id for run in runs if run.created],
        skipped={run.id: "a run with its key was there before" for run in runs if not run.created},
    )
    kind, target = ("run", str(runs[0].id)) if len(runs) == 1 else ("runs", f"{len(runs)} runs")
    act.record(jobs_connection(), kind, target, acted, {"job_type": job_type.name})
