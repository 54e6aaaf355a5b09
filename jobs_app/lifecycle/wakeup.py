"""Telling idle workers that there is something to do. A hint only: polling alone is correct."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_postgres
from jobs_app.lifecycle.new_job import NewJob

CHANNEL = "jobs_app"
RULES_CHANGED = "*"  # is no lane

# A NOTIFY takes a lock over the whole server at commit, so a burst of enqueues sends few of them.
QUIET_SECONDS = 0.005

_sent = threading.local()  # per thread, as a transaction is: another thread's unsent NOTIFY never swallows ours


def message(queue: str, priority: int) -> str:
    return f"{priority}:{queue}"


def read_message(text: str) -> tuple[str, int] | None:
    priority, _, queue = text.partition(":")
    try:
        return queue, int(priority)
    except ValueError:
        return None


def worth_sending(text: str) -> bool:
    """True at most once per message, thread and 5 ms."""
    last: dict[str, float] = _sent.__dict__
    now = time.monotonic()
    if now - last.get(text, 0.0) < QUIET_SECONDS:
        return False
    if len(last) > 1000:
        last.clear()
    last[text] = now
    return True


def call_for(job: NewJob) -> str | None:
    """What its enqueue says; nothing for a job that is due later, or where the same was said a moment ago."""
    if not job.is_due_at_once:
        return None
    call = message(job.queue, job.priority)
    return call if worth_sending(call) else None


def calls_for(jobs: Iterable[NewJob]) -> list[str]:
    """The same for many, each lane once."""
    lanes = {(job.queue, job.priority) for job in jobs if job.is_due_at_once}
    return sorted(call for call in (message(*lane) for lane in lanes) if worth_sending(call))


def tell(connection: BaseDatabaseWrapper, lanes: Iterable[tuple[str, int]]) -> None:
    """Say that these lanes have work, where no enqueue does; delivered when the transaction commits."""
    _send(connection, sorted({message(queue, priority) for queue, priority in lanes}))


def tell_rules_changed(connection: BaseDatabaseWrapper) -> None:
    """Say that an operator changed what may start: workers look at everything anew."""
    _send(connection, [RULES_CHANGED])


def _send(connection: BaseDatabaseWrapper, calls: list[str]) -> None:
    if calls and is_postgres(connection):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, call) FROM unnest(%s::text[]) AS call", [CHANNEL, calls])
