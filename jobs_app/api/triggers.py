"""Enqueue jobs by the names of their types: one, or many at once."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StringConstraints

from jobs_app.api.access import Bearer, Caller, caller_of
from jobs_app.api.answers import answers
from jobs_app.api.shapes import Key, Moment, Name, Strict, Text, Why
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.idempotency import answered_once
from jobs_app.registry import registry
from jobs_app.triggering import trigger, trigger_many

MOST_AT_ONCE = 1000

router = Router(tags=["trigger"])

# The column has room for 200 characters, and the token's prefix is before it.
IdempotencyKey = Annotated[str, StringConstraints(min_length=1, max_length=190)]


class EnqueueFields(Strict):
    """A job type, and options of an enqueue as in Python."""

    jobName: Name  # noqa: N815
    subject: Text | None = None
    queue: Name | None = None
    priority: Annotated[int, Field(ge=-100, le=100)] | None = None
    run_at: Moment | None = None
    delay_sec: Annotated[float, Field(ge=0, le=31_536_000)] | None = None
    reason: Why = ""


class TriggerBody(EnqueueFields):
    payload: dict[str, Any] = {}
    key: Key | None = None
    idempotency_key: IdempotencyKey | None = Field(
        default=None, description="the same one again, from this token, gives the run of the first"
    )


class BulkBody(EnqueueFields):
    idempotency_key: IdempotencyKey | None = Field(
        default=None, description="the same one again, from this token, stores nothing and gives the first runs"
    )
    payloads: list[dict[str, Any]] = Field(min_length=1, max_length=MOST_AT_ONCE)


class TriggerOut(BaseModel):
    runId: str  # noqa: N815
    status: str
    created: bool = Field(description="False: a run with its key was there before")


class BulkOut(BaseModel):
    runIds: list[str] = Field(description="in the order of the payloads")  # noqa: N815
    created: int


@router.post(
    "/functions/trigger-job",
    auth=Bearer("trigger"),
    response=answers(TriggerOut, 404, 409, body=True),
    operation_id="trigger_job",
)
def trigger_job(request: HttpRequest, asked: TriggerBody) -> TriggerOut:
    """Enqueue one job. Its payload is checked first: what does not fit stores nothing."""
    caller = caller_of(request)
    run = trigger(asked.jobName, asked.payload, actor=caller, reason=asked.reason, **_options(caller, asked))
    return TriggerOut(runId=str(run.id), status="queued" if run.created else run.status, created=run.created)


@router.post(
    "/functions/trigger-jobs",
    auth=Bearer("trigger"),
    response=answers(BulkOut, 404, 409, body=True),
    operation_id="trigger_jobs",
)
def trigger_jobs(request: HttpRequest, asked: BulkBody) -> BulkOut:
    """Enqueue many jobs of one type, all or none."""
    caller = caller_of(request)
    options = _options(caller, asked)
    key = options.pop("idempotency_key", None)

    def enqueue() -> dict[str, Any]:
        runs = trigger_many(asked.jobName, asked.payloads, actor=caller, reason=asked.reason, **options)
        return {"runIds": [str(run.id) for run in runs], "created": sum(run.created for run in runs)}

    if key is None:
        return BulkOut(**enqueue())
    body, scope = asked.model_dump(mode="json"), f"bulk {asked.jobName}"
    return BulkOut(**answered_once(jobs_connection(), scope=scope, key=key, body=body, act=enqueue))


def _options(caller: Caller, asked: TriggerBody | BulkBody) -> Any:
    """As `trigger` takes them; a token is held to its queues and job types, whatever the body asks for."""
    caller.require(job_type=asked.jobName)
    given = asked.model_dump(exclude={"jobName", "payload", "payloads", "reason"}, exclude_none=True)
    caller.require(queue=registry.get(asked.jobName).queue)
    caller.require(queue=given.get("queue"))  # also: else any type could be sent through a queue of its own
    if "idempotency_key" in given:  # keys of one token are nothing to another
        given["idempotency_key"] = f"{caller.token.prefix}:{given['idempotency_key']}"
    if "delay_sec" in given:
        given["delay"] = given.pop("delay_sec")
    return given
