"""What a handler knows and says about the job it runs."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, overload
from uuid import UUID

from jobs_app.conf import get_settings
from jobs_app.errors import JobCancelled, JobTimeout
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.heartbeat import Progress
from jobs_app.strict_json import dumps
from jobs_app.text import clean, clean_block
from jobs_app.timeouts import passed_text

MAX_CURSOR_BYTES = 10_000
MAX_COUNT = 2**63 - 1  # what the column holds

_UNSET = object()


class JobContext:
    """`current_job()` inside a handler. Safe to use from every thread and task of the job."""

    # Most jobs say nothing, and setting what stays as it is would take longer than the rest of a context.
    _lock: threading.Lock | None = None
    _log: deque[str] | None = None
    _log_size = 0
    _meta: dict[str, Any] | None = None
    _progress: Progress | None = None
    _saved: Progress | None = None
    _result: Any = _UNSET
    cancelled = False  # someone asked this job to stop
    timeout: float | None = None  # seconds
    deadline: float | None = None  # by time.monotonic(), from the handler's start
    lease_lost = False  # another worker may own it by now; its report will be refused

    def __init__(self, job: ClaimedJob, worker: str, worker_id: str) -> None:
        self._job = job
        self.worker = worker  # short, as in logs
        self.worker_id = worker_id

    @property
    def claimed(self) -> ClaimedJob:
        """The job as this attempt got it."""
        return self._job

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
    def meta(self) -> Mapping[str, Any]:
        """To read; `save_meta` writes."""
        if self._meta is None:
            self._meta = json.loads(self._job.meta)
        return MappingProxyType(self._meta)

    @property
    def cursor(self) -> str:
        """Where to go on: the last cursor reported, by this attempt or by one before it."""
        return self._progress.cursor if self._progress else self._job.cursor

    @overload
    def remaining(self) -> float | None: ...

    @overload
    def remaining(self, limit: float) -> float: ...

    def remaining(self, limit: float | None = None) -> float | None:
        """Seconds until the deadline and at most `limit`: what a call inside the job may take. 0 when it has passed."""
        if self.deadline is None:
            return limit
        left = max(0.0, self.deadline - time.monotonic())
        return left if limit is None else max(0.0, min(left, limit))

    def check_timeout(self) -> None:
        """Raise `JobTimeout` once the deadline has passed. Call it where the work may be left so."""
        if self.deadline is not None and self.timeout is not None and time.monotonic() >= self.deadline:
            raise JobTimeout(passed_text(self.timeout + time.monotonic() - self.deadline, self.timeout))

    def raise_if_cancelled(self) -> None:
        """Raise `JobCancelled` once somebody has asked this job to stop. Call it where the work may be left so."""
        if self.cancelled:
            raise JobCancelled("asked to stop")

    def begin(self, started: float, timeout: float) -> None:
        """The clock of a handler with a timeout starts, says the worker."""
        self.timeout, self.deadline = timeout, started + timeout

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
        given: dict[str, Any] = {
            "progress_count": None if count is None else _count(count),
            "target_count": None if total is None else _count(total),
            "result_count": None if results is None else _count(results),
            "cursor": None if cursor is None else _cursor(cursor),
            "message": None if message is None else clean(message, 500),
        }
        with self._guard():
            self._progress = self._latest()._replace(**{name: new for name, new in given.items() if new is not None})

    def log(self, text: object) -> None:
        """Keep a line with this attempt. The oldest lines go when there is more than the setting allows."""
        line = str(text)
        with self._guard():
            if self._log is None:
                self._log = deque()
            self._log.append(line)
            self._log_size += len(line) + 1
            limit = get_settings().max_log_bytes
            while self._log_size > 2 * limit and len(self._log) > 1:
                self._log_size -= len(self._log.popleft()) + 1

    def save_meta(self, **values: Any) -> None:
        """Keep facts with the run, beside its payload: a cost, a model's name, a link. Written as progress is."""
        with self._guard():
            merged = {**self.meta, **values}
            text = dumps(merged, limit=get_settings().max_payload_bytes, what="meta")
            self._progress = self._latest()._replace(meta=text)
            self._meta = merged

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

    def hear(self, words: Progress) -> None:
        """The newest word of a handler that runs in a process of its own."""
        self._progress = words

    def unsaved(self) -> Progress | None:
        """The newest word, if it is not written yet."""
        return self._progress if self._progress is not self._saved else None

    def saved(self, words: Progress) -> None:
        self._saved = words

    def _latest(self) -> Progress:
        job = self._job
        return self._progress or Progress(
            job.id, job.token, job.cursor, job.progress_count, job.result_count, job.target_count, message=""
        )

    def _guard(self) -> threading.Lock:
        if self._lock is None:
            with _making_lock:
                self._lock = self._lock or threading.Lock()
        return self._lock


_making_lock = threading.Lock()  # most jobs report nothing and never need a lock of their own


def _count(value: int) -> int:
    """Refused here and not by the database, where one such number would cost the words of every other job."""
    number = int(value)
    if abs(number) > MAX_COUNT:
        raise ValueError(f"progress counts in whole numbers up to {MAX_COUNT}, not {number}")
    return number


def _cursor(value: object) -> str:
    """Never cut nor cleaned: a changed cursor is a wrong one."""
    text = str(value)
    if "\0" in text or len(text.encode()) > MAX_CURSOR_BYTES:
        raise ValueError(f"a cursor is text without NUL, {MAX_CURSOR_BYTES} bytes at most; keep more in a row of yours")
    return text
