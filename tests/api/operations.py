"""Every operation of the interface, read off the interface itself, and for each a request of a tenant that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jobs_app.api.interface import api
from tests.api.speaking import Speaker
from tests.api.tenants import Tenant


class Operation(NamedTuple):
    name: str
    method: str
    path: str  # with {names} in it
    scope: str


class Sample(NamedTuple):
    """What is sent; the path is filled in from the same names."""

    path: Mapping[str, object] = {}
    query: Mapping[str, Any] = {}
    body: Mapping[str, Any] | None = None


OPERATIONS = {
    operation.operation_id: Operation(operation.operation_id, method, path.lstrip("/"), auth.scope)
    for _prefix, router in api._routers
    for path, view in router.path_operations.items()
    for operation in view.operations
    for method in operation.methods
    for auth in operation.auth_callbacks
}

SAMPLES: dict[str, Callable[[Tenant], Sample]] = {
    "pull_job": lambda mine: Sample(query={"worker_id": "w1"}),
    "pull_job_by_body": lambda mine: Sample(body={"worker_id": "w1"}),
    "report_results": lambda mine: Sample(body={"job_id": str(mine.running), "token": str(mine.lease)}),
    "leave": lambda mine: Sample(body={"worker_id": "w1"}),
    "trigger_job": lambda mine: Sample(body={"jobName": mine.job_type}),
    "trigger_jobs": lambda mine: Sample(body={"jobName": mine.job_type, "payloads": [{}, {}]}),
    "list_runs": lambda mine: Sample(query={"queue": mine.queue, "job_type": mine.job_type}),
    "get_run": lambda mine: Sample({"run_id": mine.queued}),
    "list_items": lambda mine: Sample({"run_id": mine.failed}),
    "cancel_run": lambda mine: Sample({"run_id": mine.queued}, body={"reason": "a test"}),
    "retry_run": lambda mine: Sample({"run_id": mine.failed}, body={"reason": "a test"}),
    "pause": lambda mine: Sample(body={"scope": "queue", "name": mine.queue}),
    "resume": lambda mine: Sample(body={"scope": "queue", "name": mine.slow_queue}),
    "list_queues": lambda mine: Sample(),
    "stats": lambda mine: Sample(),
    "list_schedules": lambda mine: Sample(query={"job_type": mine.job_type}),
    "pause_schedule": lambda mine: Sample({"schedule_id": mine.schedule}, body={}),
    "resume_schedule": lambda mine: Sample({"schedule_id": mine.paused_schedule}, body={}),
    "trigger_schedule": lambda mine: Sample({"schedule_id": mine.schedule}, body={}),
}


def ask(speaker: Speaker, name: str, sample: Sample, **more: Any) -> Any:
    """The answer to a sample."""
    operation = OPERATIONS[name]
    path = operation.path.format(**sample.path)
    if operation.method == "GET":
        return speaker.get(path, **sample.query)
    return speaker.post(path, sample.body, **more)
