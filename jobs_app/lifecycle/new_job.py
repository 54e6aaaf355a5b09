"""A job before it is stored, and what is known of it right after."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

ONE_WAITING = ("exclusive", "short", "stately")  # policies that may refuse a second job


class NewJob(NamedTuple):
    """A job before it is stored. `payload` and `meta` are JSON text, already checked."""

    id: UUID
    job_type: str
    queue: str
    priority: int
    max_attempts: int
    payload: str
    subject: str = ""
    run_at: datetime | None = None  # never before now: a lane is read from where the last claim stopped
    delay: float = 0  # seconds from now, where there is no `run_at`
    expires_at: datetime | None = None
    policy: str = "standard"
    key: str | None = None
    meta: str = "{}"
    actor: str = ""
    gate: int = 0  # what code asks for; the limits that operators set are added by the INSERT
    timeout_seconds: float | None = None
    parent: UUID | None = None
    slot_at: datetime | None = None
    schedule: int | None = None
    follows: bool = False  # another one of its key is stored before it, by the same statement

    @property
    def is_due_at_once(self) -> bool:
        return self.run_at is None and not self.delay


def may_be_refused(jobs: Iterable[NewJob]) -> bool:
    return any(job.policy in ONE_WAITING for job in jobs)


class Enqueued(NamedTuple):
    """A stored job; or, not `created`, the one that has its key already."""

    id: UUID
    queued_at: datetime
    run_at: datetime
    created: bool = True
    job_type: str = ""  # of the other one, as its state
    state: str = ""
