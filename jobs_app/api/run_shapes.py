"""Runs, their attempts and their items, as the interface tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from jobs_app.api.shapes import Asked, PageSize, Strict, Text, Why


class RunQuery(Asked):
    """As the list in the admin takes them; the last 24 hours, unless it says otherwise."""

    state: Text = ""
    job_type: Text = ""
    queue: Text = ""
    subject: Text = ""
    worker: Text = ""
    error: Text = Field(default="", description="class of the last attempt's error")
    window: Text = Field(default="", description="1h, 24h, 7d, ... or any")
    since: Text = ""
    until: Text = ""
    attempts: Text = Field(default="", description="more: those that were tried more than once")
    longer: Text = Field(default="", description="ran for longer than, as 5m")
    schedule: Text = ""
    parent: Text = ""
    open: Text = Field(default="", description="1: failed, and not run again since")
    q: Text = ""
    older: Text = Field(default="", description="from the last page: go on there")
    limit: PageSize = 50


class Progress(BaseModel):
    count: int | None = None
    total: int | None = None
    message: str = ""
    cursor: str = ""
    at: datetime | None = None


class RunSummary(BaseModel):
    id: UUID
    job_type: str
    status: str = Field(description="its state; of what waits also scheduled or retrying")
    label: str = Field(description="the word that its preset has for that")
    queue: str
    priority: int
    subject: str
    key: str | None
    actor: str
    parent: UUID | None
    schedule: int | None
    slot_at: datetime | None
    attempts: int
    free_attempts: int
    max_attempts: int
    queued_at: datetime
    run_at: datetime
    expires_at: datetime | None
    first_started_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    worker_id: str
    hold: str
    cancel_requested: bool
    outcome: str
    done_reason: str
    error: str
    overdue_seconds: float | None
    progress: Progress


class RunOut(RunSummary):
    payload: Any = Field(description="with secrets hidden")
    meta: Any
    result: Any


class AttemptOut(BaseModel):
    number: int
    outcome: str
    success: bool
    worker_id: str
    started_at: datetime | None
    finished_at: datetime
    error_class: str
    message: str


class About(BaseModel):
    kind: str
    name: str


class ReasonOut(BaseModel):
    kind: str
    sentence: str
    until: datetime | None
    about: About | None


class RunDetail(BaseModel):
    run: RunOut
    attempts: list[AttemptOut] = Field(description="the last 50 that have ended, oldest first")
    waiting_because: list[ReasonOut]


class RunPageOut(BaseModel):
    runs: list[RunSummary]
    older: str | None = Field(description="where the next page begins; null: there is none")
    searched_to: datetime | None = Field(description="runs before it were not looked at yet: go on with `older`")


class ItemQuery(Asked):
    after: Text = Field(default="", description="from the last page: a key")
    limit: PageSize = 50


class ItemOut(BaseModel):
    key: str
    data: Any
    reported_at: datetime


class ItemPageOut(BaseModel):
    items: list[ItemOut] = Field(description="in the order of their keys, with secrets hidden")
    after: str | None = Field(description="where the next page begins; null: there is none")


class ActBody(Strict):
    reason: Why = ""


class RetryBody(ActBody):
    payload: dict[str, Any] | None = Field(default=None, description="another one, for a run that has ended")


class ActOut(BaseModel):
    moved: int
    run_id: UUID | None = Field(default=None, description="the new run, where the old one had ended")
    note: str = ""
