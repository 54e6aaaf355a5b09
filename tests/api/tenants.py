"""Two tenants of one site: each has queues, job types, runs in each state, items, schedules and a pause of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from jobs_app import job
from jobs_app.models import JobItem, Pause, ScheduleState
from tests.lifecycle.rows import done, take

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Tenant:
    """Everything of it has its name in it, so that whoever sees any of it is found out."""

    name: str
    queued: UUID
    later: UUID
    running: UUID
    lease: UUID  # the lease token of what runs
    failed: UUID
    succeeded: UUID
    schedule: int
    paused_schedule: int

    @property
    def queue(self) -> str:
        return f"{self.name}.work"

    @property
    def slow_queue(self) -> str:
        """Is paused."""
        return f"{self.name}.slow"

    @property
    def job_type(self) -> str:
        return f"{self.name}.do"

    @property
    def runs(self) -> list[UUID]:
        return [self.queued, self.later, self.running, self.failed, self.succeeded]


@dataclass(frozen=True)
class Site:
    red: Tenant
    blue: Tenant


def open_site() -> Site:
    return Site(_tenant("red"), _tenant("blue"))


def define(name: str, **options: Any) -> Any:
    """A job type for remote workers, for the time of a test."""

    def handler(number: int = 0, note: str = "") -> None: ...

    handler.__qualname__ = name
    return job(name=name, remote=True, **options)(handler)


def _tenant(name: str) -> Tenant:
    work = define(f"{name}.do", queue=f"{name}.work")
    given = {"subject": f"{name}-subject", "meta": {"of": name}}
    failed, succeeded = _taken(work, given), _taken(work, given)
    done(failed, "failed", error=f"{name} failed")
    done(succeeded, "succeeded", result=f'{{"of": "{name}"}}')
    running = _taken(work, given)
    for run in (failed.id, running.id):
        JobItem.objects.create(job_id=run, key=f"{name}-item", data={"of": name})
    Pause.objects.create(scope="queue", name=f"{name}.slow", reason=f"{name} rests", actor="ann")
    return Tenant(
        name=name,
        queued=work.options(**given).enqueue(note=name).id,
        later=work.options(delay="1h", **given).enqueue(note=name).id,
        running=running.id,
        lease=running.token,
        failed=failed.id,
        succeeded=succeeded.id,
        schedule=_schedule(name, subject=f"{name}-subject"),
        paused_schedule=_schedule(name, subject=f"{name}-other", paused=True),
    )


def _taken(work: Any, given: dict[str, Any]) -> Any:
    work.options(**given).enqueue(note=work.name.partition(".")[0])
    [job] = take(1, job_types=[work.name])
    return job


def _schedule(name: str, **columns: Any) -> int:
    now = timezone.now()
    moments = {"next_run_at": now + HOUR, "last_run_at": now - HOUR, "last_slot": now - HOUR}
    return ScheduleState.objects.create(job_type=f"{name}.do", interval_seconds=3600, **moments, **columns).pk
