"""What a handler knows and says about the job it runs."""

from __future__ import annotations

import json
import threading
from datetime import datetime
from typing import Any
from uuid import UUID

from jobs_app.conf import get_settings
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.heartbeat import Progress
from jobs_app.strict_json import dumps
from jobs_app.text import clean, clean_block

_UNSET = object()


class JobContext:
    """`current_job()` inside a handler. Safe to use from every thread and task of the job."""

    __slots__ = (
        "_job",
        "_lock",
        "_log",
        "_log_size",
        "_meta",
        "_progress",
        "_result",
        "_unsaved",
        "cancelled",
        "lease_lost",
        "worker",
        "worker_id",
    )

    def __init__(self, job: ClaimedJob, *, worker: str, worker_id: str) -> None:
        self._job = job
        self._lock: threading.Lock | None = None
        self._log: list[str] | None = None
        self._log_size = 0
        self._meta: dict[str, Any] | None = None
        self._progress: Progress | None = None
        self._unsaved = False
        self._result: Any = _UNSET
        self.worker = worker  # short, as in logs
        self.worker_id = worker_id
        self.cancelled = False  # someone asked this job to stop
        self.lease_lost = False  # another worker may own it by now; its report will be refused

    @property
    def id(self) -> UUID:
        return self._job.id

    @property
    def job_type(self) -> str:
        return self._job.job_type

    @property
    def queue(self) -> str:
        return self._job.queue

    @property
    def subject(self) -> str:
        return self._job.subject

    @property
    def attempt(self) -> int:
        """1 on the first try. Tries that did not count (a worker's shutdown, a snooze) are not in it."""
        return self._job.counted_attempts

    @property
    def max_attempts(self) -> int:
        return self._job.max_attempts

    @property
    def queued_at(self) -> datetime:
        return self._job.queued_at

    @property
    def slot_at(self) -> datetime | None:
        return self._job.slot_at

    @property
    def actor(self) -> str:
        return self._job.actor

    @property
    def parent(self) -> UUID | None:
        return self._job.parent

    @property
    def meta(self) -> dict[str, Any]:
        if self._meta is None:
            self._meta = json.loads(self._job.meta)
        return self._meta

    @property
    def cursor(self) -> str:
        """Where to go on: the last cursor reported, by this attempt or by one before it."""
        return self._progress.cursor if self._progress else self._job.cursor

    def progress(
        self,
        count: int | None = None,
        total: int | None = None,
        *,
        cursor: str | None = None,
        message: str | None = None,
        results: int | None = None,
    ) -> None:
        """Say how far the job is. What is left out stays as it was. Written at most once a second, and at the end."""
        with self._guard():
            last = self._progress or self._stored_progress()
            self._progress = last._replace(
                progress_count=last.progress_count if count is None else int(count),
                target_count=last.target_count if total is None else int(total),
                result_count=last.result_count if results is None else int(results),
                cursor=last.cursor if cursor is None else clean_block(cursor, 10_000),
                message=last.message if message is None else clean(message, 500),
            )
            self._unsaved = True

    def log(self, text: object) -> None:
        """Keep a line with this attempt. The oldest lines go when there is more than the setting allows."""
        line = str(text)
        with self._guard():
            if self._log is None:
                self._log = []
            self._log.append(line)
            self._log_size += len(line) + 1
            limit = get_settings().max_log_bytes
            while self._log_size > 2 * limit and len(self._log) > 1:
                self._log_size -= len(self._log.pop(0)) + 1

    def save_meta(self, **values: Any) -> None:
        """Keep facts with the run, beside its payload: a cost, a model's name, a link. Written as progress is."""
        self.meta.update(values)
        text = dumps(self.meta, limit=get_settings().max_payload_bytes, what="meta")
        with self._guard():
            self._progress = (self._progress or self._stored_progress())._replace(meta=text)
            self._unsaved = True

    def set_result(self, value: Any) -> None:
        """The result to store, in place of what the handler returns."""
        self._result = value

    def result_or(self, returned: Any) -> Any:
        return returned if self._result is _UNSET else self._result

    def log_text(self) -> str:
        if self._log is None:
            return ""
        with self._guard():
            return clean_block("\n".join(self._log), get_settings().max_log_bytes)

    def take_progress(self) -> Progress | None:
        """What was reported and is not written yet."""
        if not self._unsaved:
            return None
        with self._guard():
            self._unsaved = False
            return self._progress

    def _stored_progress(self) -> Progress:
        job = self._job
        return Progress(job.id, job.token, job.cursor, job.progress_count, job.result_count, job.target_count, "")

    def _guard(self) -> threading.Lock:
        if self._lock is None:
            with _making_lock:
                self._lock = self._lock or threading.Lock()
        return self._lock


_making_lock = threading.Lock()  # most jobs report nothing and never need a lock of their own
