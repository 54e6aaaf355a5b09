"""What remote workers send and are sent."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from jobs_app.api.shapes import Asked, Id, Key, Name, Strict
from jobs_app.remote.pulling import LONGEST_WAIT
from jobs_app.worker.context import MAX_COUNT

WORKER_ID = r"^[A-Za-z0-9._:-]{1,64}$"
LONGEST_TEXT = 65536
MOST_ITEMS = 1000

Names = Annotated[str, StringConstraints(min_length=1, max_length=2000)]  # one, or several with commas between them
WorkerId = Annotated[str, StringConstraints(pattern=WORKER_ID)]
Seconds = Annotated[int, Field(ge=0, le=86400)]


class PullFields(BaseModel):
    worker_id: WorkerId = Field(description="who asks; the same id with each pull and after a restart")
    queues: list[Name] = Field(default=[], max_length=100, description="names or patterns; none: all of the token's")
    job_types: list[Name] = Field(default=[], max_length=1000, description="none: all of the token's")
    lease_sec: Seconds | None = Field(default=None, description="30 to 600; what is less or more counts as that")
    wait_sec: Annotated[int, Field(ge=0, le=LONGEST_WAIT)] = Field(default=0, description="how long to wait for a job")
    concurrency: Annotated[int, Field(ge=1, le=1000)] = Field(default=1, description="jobs that it runs at once")


class PullBody(PullFields, Strict):
    pass


class PullQuery(PullFields, Asked):
    queues: list[Names] = Field(default=[], max_length=100, description="names or patterns; none: all of the token's")
    job_types: list[Names] = Field(default=[], max_length=100, description="none: all of the token's")


class JobOut(BaseModel):
    job_id: UUID
    job_type: str
    queue: str
    subject: str
    payload: dict[str, Any]
    meta: dict[str, Any]
    token: UUID = Field(description="proves whose job it is: goes into each report of it")
    attempt: int
    max_attempts: int
    cursor: str = Field(description="where the last worker was")
    progress_count: int
    result_count: int
    target_count: int | None
    lease_sec: float
    lease_expires_at: datetime
    report_every_sec: float = Field(description="at least so often, or the lease may end: a heartbeat is enough")
    timeout_sec: float | None
    queued_at: datetime
    slot_at: datetime | None


class PullOut(BaseModel):
    job: JobOut | None
    reason: Literal["", "empty", "busy", "paused", "maintenance", "draining"] = Field(
        description="why there is none; busy: the database is slow, and not all of it was looked at"
    )
    stopped: bool = Field(description="nothing starts anywhere until somebody lets it go on")


class Item(Strict):
    key: Key
    data: Any = {}


class ReportBody(Strict):
    job_id: Id
    token: Id = Field(description="of the pull")
    items: list[Item] = Field(default=[], max_length=MOST_ITEMS)
    cursor: Annotated[str, StringConstraints(max_length=2500)] | None = None
    message: Annotated[str, StringConstraints(max_length=500)] | None = Field(default=None, description="for people")
    target_count: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    log: Annotated[str, StringConstraints(max_length=LONGEST_TEXT)] = Field(default="", description="with an end")
    extend_lease_sec: Seconds | None = Field(default=None, description="60 to 600; what is less or more counts as that")
    idempotency_key: Key | None = None
    done: bool = False
    result: Any = Field(default=None, description="with done: kept with the run")
    error: Annotated[str, StringConstraints(max_length=LONGEST_TEXT)] | None = None
    error_class: Annotated[str, StringConstraints(max_length=200)] = ""
    permanent: bool = Field(default=False, description="with error: no further attempt would help")
    retry_after_sec: Annotated[float, Field(ge=0, le=31_536_000)] | None = Field(default=None, description="with error")
    release: bool = Field(default=False, description="give the job back; the attempt does not count")


class ReportOut(BaseModel):
    ok: bool
    added: int
    duplicates: int
    lease_expires_at: datetime | None
    done: bool = Field(description="nothing more is wanted of this worker for this job")
    cancel_requested: bool
    idempotent: bool = Field(description="this very report came before, and counted then")
    state: str
    done_reason: str


class LeaveBody(Strict):
    worker_id: WorkerId


class Ok(BaseModel):
    ok: bool = True
