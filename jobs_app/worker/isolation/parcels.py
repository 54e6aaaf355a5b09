"""What crosses the channel: a flight on its way in, how its attempt ended on its way out. Values, never objects."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any, get_args, get_type_hints
from uuid import UUID

from jobs_app.conf import enforce, overrides_in_force
from jobs_app.knobs import settle
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.heartbeat import Progress
from jobs_app.lifecycle.moves import Ended
from jobs_app.lifecycle.overrides import FRESH_SECONDS
from jobs_app.registry import registry
from jobs_app.worker.context import JobContext
from jobs_app.worker.flight import Flight

NO_TOKEN = UUID(int=0)  # a child reports to its worker alone, and needs no proof of whose claim it is
KEPT_BY_WORKER = ("id", "token", "log", "started_ago", "finished_ago", "keep_token", "gate", "raised")
HINTS = get_type_hints(ClaimedJob)
ENDING = [field.name for field in fields(Ended) if field.name not in KEPT_BY_WORKER]


def order_for(flight: Flight) -> dict[str, Any]:
    """All that a child needs to run the job as this worker would."""
    return {
        "job": pack_job(flight.job),
        "worker": flight.context.worker,
        "worker_id": flight.context.worker_id,
        "lease": flight.lease,
        "claimed": flight.claimed,
        "started": flight.started,  # the monotonic clock is the same for all processes of a host
        "timeout": flight.timeout,
        "overrides": dict(overrides_in_force()),
    }


def flight_from(order: dict[str, Any], job: ClaimedJob, context: JobContext) -> Flight:
    enforce(settle(order["overrides"]).overrides, fresh_seconds=FRESH_SECONDS)
    flight = Flight(job, registry.get(job.job_type), context, order["lease"], order["claimed"])
    flight.started, flight.timeout = order["started"], order["timeout"]
    if flight.timeout is not None:
        context.begin(order["started"], flight.timeout)
    return flight


def pack_job(job: ClaimedJob) -> dict[str, Any]:
    return {name: _packed(value) for name, value in job._asdict().items() if name != "token"}


def unpack_job(packed: dict[str, Any]) -> ClaimedJob:
    return ClaimedJob(token=NO_TOKEN, **{name: _unpacked(value, HINTS[name]) for name, value in packed.items()})


def pack_words(words: Progress) -> list[Any]:
    return list(words[2:])  # without id and token


def unpack_words(packed: list[Any], job: ClaimedJob) -> Progress:
    return Progress(job.id, job.token, *packed)


def pack_ending(ended: Ended) -> dict[str, Any]:
    return {name: getattr(ended, name) for name in ENDING}


def unpack_ending(packed: dict[str, Any], job: ClaimedJob, log: str) -> Ended:
    return Ended(id=job.id, token=job.token, log=log, gate=job.gate, **packed)


def _packed(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _unpacked(value: Any, hint: Any) -> Any:
    kinds = get_args(hint) or (hint,)  # of "UUID | None" and the like
    if value is None:
        return None
    if UUID in kinds:
        return UUID(value)
    return datetime.fromisoformat(value) if datetime in kinds else value
