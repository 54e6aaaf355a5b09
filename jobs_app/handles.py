"""What an enqueue gives back: the run's id, and its life as last read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connections

from jobs_app.errors import NotPossible, WaitTimeout, as_seconds

if TYPE_CHECKING:
    from jobs_app.lifecycle.control import Acted
    from jobs_app.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run came, as its handler last said."""

    count: int = 0
    total: int | None = None
    cursor: str = ""
    message: str = ""
    at: datetime | None = None


class NewRun:
    """What is known of a run right after its enqueue, without asking the database again."""

    state = "queued"
    attempts = 0
    result: Any = None
    error = ""
    cursor = ""
    progress_count = result_count = 0
    target_count: int | None = None
    progress_message = ""
    last_progress_at: datetime | None = None
    worker_id = ""
    first_started_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    def __init__(
        self, run_id: UUID, job_type: str, payload: dict[str, Any], queued_at: datetime, run_at: datetime
    ) -> None:
        self.id = run_id
        self.job_type = job_type
        self.payload = payload
        self.queued_at = self.read_at = queued_at
        self.run_at = run_at


class RunHandle:
    """One run. Its values are those of the last reading; `refresh()` reads again."""

    __slots__ = ("_known", "created", "id")

    def __init__(self, run_id: UUID, known: NewRun | Run | None = None, *, created: bool = True) -> None:
        self.id = run_id
        self.created = created  # False: its key or idempotency key gave a run that was there before
        self._known = known

    def __repr__(self) -> str:
        told = f" {self._known.job_type} {self.status}" if self._known is not None else ""
        return f"<RunHandle {self.id}{told}>"

    @property
    def job_type(self) -> str:
        return self._run.job_type

    @property
    def status(self) -> str:
        """queued, scheduled, retrying, running, succeeded, failed or cancelled."""
        from jobs_app.insights.runs import status_of

        run = self._run
        return status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=run.read_at)

    @property
    def label(self) -> str:
        """The status in the words of the job type's preset."""
        from jobs_app.insights.runs import label_of

        return label_of(self.job_type, self.status)

    @property
    def is_finished(self) -> bool:
        from jobs_app.models import FINISHED

        return self._run.state in FINISHED

    @property
    def payload(self) -> dict[str, Any]:
        return self._run.payload

    @property
    def result(self) -> Any:
        return self._run.result

    @property
    def error(self) -> str:
        """Why the run failed; while it is retried, why its last attempt did."""
        return self._run.error

    @property
    def attempts(self) -> int:
        return self._run.attempts

    @property
    def retry_count(self) -> int:
        return max(self.attempts - 1, 0)

    @property
    def progress(self) -> Progress:
        from jobs_app.insights.runs import reached

        run = self._run
        return Progress(
            count=reached(run),
            total=run.target_count,
            cursor=run.cursor,
            message=run.progress_message,
            at=run.last_progress_at,
        )

    @property
    def worker_id(self) -> str:
        return self._run.worker_id

    @property
    def queued_at(self) -> datetime:
        return self._run.queued_at

    @property
    def run_at(self) -> datetime:
        return self._run.run_at

    @property
    def started_at(self) -> datetime | None:
        """Start of the last attempt."""
        return self._run.started_at

    @property
    def finished_at(self) -> datetime | None:
        return self._run.finished_at

    @property
    def wait_seconds(self) -> float | None:
        """Time from the enqueue to the first start; None before it."""
        started = self._run.first_started_at or self._run.started_at
        return None if started is None else (started - self.queued_at).total_seconds()

    def refresh(self) -> Self:
        from jobs_app.insights import runs

        self._known = runs.get(self.id)
        return self

    async def arefresh(self) -> Self:
        return await sync_to_async(self.refresh, thread_sensitive=True)()

    def wait(self, timeout: float | timedelta, *, poll: float = 0.2) -> Self:
        """Read every `poll` seconds until the run has ended; `WaitTimeout` after `timeout` seconds."""
        self.refresh()
        for seconds in self._pauses(timeout, poll):
            time.sleep(seconds)
            self.refresh()
        return self

    async def await_finished(self, timeout: float | timedelta, *, poll: float = 0.2) -> Self:
        """`wait` for async code."""
        await self.arefresh()
        for seconds in self._pauses(timeout, poll):
            await asyncio.sleep(seconds)
            await self.arefresh()
        return self

    def cancel(self, actor: Any = "", reason: str = "") -> Acted:
        """End the run if it waits; ask it to stop if it runs. True if that changed anything."""
        from jobs_app.lifecycle import control

        return control.cancel(self.id, actor, reason)

    async def acancel(self, actor: Any = "", reason: str = "") -> Acted:
        return await sync_to_async(self.cancel, thread_sensitive=True)(actor, reason)

    def abort(self, actor: Any = "", reason: str = "") -> Acted:
        """The same; one that runs is stopped by force where its job type lets it."""
        from jobs_app.lifecycle import control

        return control.abort(self.id, actor, reason)

    async def aabort(self, actor: Any = "", reason: str = "") -> Acted:
        return await sync_to_async(self.abort, thread_sensitive=True)(actor, reason)

    def retry(self, actor: Any = "", reason: str = "", *, payload: Mapping[str, Any] | None = None) -> RunHandle:
        """This run if it waits for later, due now; else a new one that repeats it, with `payload` if given."""
        from jobs_app.lifecycle import control

        acted = control.retry(self.id, actor, reason, payload)
        if not acted:
            raise NotPossible(f"run {self.id} cannot be retried: it {acted.skipped[self.id]}.")
        new = acted.new_runs.get(self.id)
        return self.refresh() if new is None else RunHandle(new)

    async def aretry(self, actor: Any = "", reason: str = "", *, payload: Mapping[str, Any] | None = None) -> RunHandle:
        run = await sync_to_async(self.retry, thread_sensitive=True)(actor, reason, payload=payload)
        return await run.arefresh()  # now, because async code cannot read when a value is asked for

    def _pauses(self, timeout: float | timedelta, poll: float) -> Iterator[float]:
        """How long to wait before each further reading, until one says that the run has ended."""
        deadline = time.monotonic() + (as_seconds(timeout) or 0)
        while not self.is_finished:
            left = deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeout(self._why_not_finished(timeout))
            yield min(poll, left)

    @property
    def _run(self) -> Any:
        if self._known is None:
            self.refresh()
        return self._known

    def _why_not_finished(self, timeout: float | timedelta) -> str:
        from jobs_app.models import jobs_database

        told = f"run {self.id} of {self.job_type} is {self.status} after {timeout} s."
        if connections[jobs_database()].in_atomic_block:
            return f"{told} Workers see it only when the transaction around this call commits: wait after it."
        if self.status == "queued":
            return f"{told} Is a worker running for its queue? Start one with manage.py runworker."
        return f"{told} It goes on; ask again with refresh()."


def get_run(run_id: UUID | str) -> RunHandle:
    """The run with this id; `RunNotFound` where there is none."""
    from jobs_app.insights import runs

    run = runs.get(run_id)
    return RunHandle(run.pk, run)
