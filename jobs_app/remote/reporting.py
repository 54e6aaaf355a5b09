"""running -> running, succeeded, failed, cancelled or queued: what a worker on another host says of its job.

One transaction a report, under the lock of the job: items, counts, cursor and lease move together, or nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.errors import IdempotencyConflict, LeaseLost, RunNotFound
from jobs_app.lifecycle.database import jobs_connection, while_busy, write_savepoint
from jobs_app.lifecycle.finish import finish_last
from jobs_app.lifecycle.held import as_claimed, keep, lock_job
from jobs_app.lifecycle.idempotency import hash_of, keep_answer, known_answer, take_key
from jobs_app.lifecycle.items import store_items
from jobs_app.lifecycle.moves import Ended
from jobs_app.lifecycle.requeue import while_places_are_taken
from jobs_app.models import Gate, JobRun, State
from jobs_app.registry import registry
from jobs_app.remote.attendance import note
from jobs_app.remote.counting import count_ended
from jobs_app.remote.desks import desks
from jobs_app.remote.ending import end_of
from jobs_app.text import clean
from jobs_app.worker.telling import tell

SHORTEST_EXTENSION, LONGEST_EXTENSION = 60.0, 600.0  # seconds
KEYS_KEPT_SECONDS = 86400.0  # a report that comes again later than this counts again, if its job still runs

May = Callable[[str, str], bool]  # this queue and this job type?


@dataclass(frozen=True, kw_only=True)
class Told:
    """One report. `sent` counts the items as they came, `items` has each key once."""

    job_id: UUID
    token: UUID
    items: Mapping[str, Any] = field(default_factory=dict)
    sent: int = 0
    cursor: str | None = None
    message: str | None = None
    target_count: int | None = None
    log: str = ""
    extend: float | None = None  # seconds
    key: str | None = None  # the same one again is the same report
    done: bool = False
    result: Any = None
    error: str | None = None
    error_class: str = ""
    permanent: bool = False
    retry_after: float | None = None  # seconds
    release: bool = False

    @property
    def is_progress(self) -> bool:
        """Does it say how far the job is? A heartbeat does not: what hangs must not look as if it moved."""
        return bool(self.sent) or any(each is not None for each in (self.cursor, self.message, self.target_count))

    @cached_property
    def scope(self) -> str:
        """Keys are of one attempt: the next one reports the same pages again."""
        return f"report {hash_of('attempt', str(self.token))}"

    @cached_property
    def body_hash(self) -> str:
        """What makes it the same report: all but how long the lease shall last, and whose it is."""
        body = {name: value for name, value in asdict(self).items() if name not in ("job_id", "token", "extend", "key")}
        return hash_of("report", body)


@dataclass(frozen=True, kw_only=True)
class Answer:
    added: int = 0
    duplicates: int = 0
    lease_expires_at: datetime | None = None  # None: it has no lease any more
    done: bool = False  # nothing more is wanted of this worker
    cancel_requested: bool = False
    idempotent: bool = False
    state: str = "running"
    done_reason: str = ""


class Taken(NamedTuple):
    answer: Answer
    row: Any = None
    ended: Ended | None = None


def report(told: Told, may: May) -> Answer:
    """Take it down. `LeaseLost` where the job is another's by now: nothing was changed."""
    connection = jobs_connection()
    taken = while_places_are_taken(lambda: while_busy(connection, lambda: _take_down(connection, told, may)))
    if taken.ended is not None:
        if taken.row.gate != Gate.NONE:
            desks.freed(taken.row.queue)
        tell(as_claimed(taken.row), taken.ended, taken.row.worker_id)
        count_ended(taken.row, taken.ended)
    if taken.row is not None:
        note(connection, taken.row.worker_id)
    return taken.answer


def _take_down(connection: BaseDatabaseWrapper, told: Told, may: May) -> Taken:
    with write_savepoint(connection):
        row = lock_job(connection, told.job_id)
        if row is None:
            return Taken(_after_the_end(connection, told, may))
        if not may(row.queue, row.job_type):
            raise RunNotFound(_unknown(told))
        if row.token != told.token:
            return Taken(_after_it_was_given_back(connection, told))
        if (known := _said_before(connection, told)) is not None:
            lease = keep(connection, row, _until(told, row), {})
            return Taken(replace(known, lease_expires_at=lease), row)
        return _store(connection, told, row)


def _store(connection: BaseDatabaseWrapper, told: Told, row: Any) -> Taken:
    added = _store_items(connection, told, row)
    words = _words(told, row, added)
    ended = end_of(told, row, words["result_count"], words["target_count"])
    lease = keep(connection, row, _until(told, row), words) if ended is None or told.is_progress else None
    if ended is not None:
        ended = finish_last(connection, ended)
    answer = Answer(
        added=added,
        duplicates=told.sent - added,
        lease_expires_at=lease if ended is None else None,
        done=ended is not None,
        cancel_requested=row.cancel_requested or row.abort_requested,
        state=ended.state if ended is not None else State.RUNNING if lease else State.QUEUED,
        done_reason="" if ended is None else ended.done_reason,
    )
    if told.key is not None:
        # But for the lease, which a repeat extends anew.
        kept = asdict(replace(answer, lease_expires_at=None))
        keep_answer(connection, scope=told.scope, key=told.key, answer=kept)
    return Taken(answer, row, ended)


def _store_items(connection: BaseDatabaseWrapper, told: Told, row: Any) -> int:
    """How many were new, says the sink that the job type names, or our own table."""
    if not told.items:
        return 0
    job_type = registry.find(row.job_type)
    if job_type is None or job_type.sink is None:
        return store_items(connection, row.pk, told.items)
    return min(len(told.items), max(0, int(job_type.sink(row.pk, dict(told.items)))))


def _words(told: Told, row: Any, added: int) -> dict[str, Any]:
    words: dict[str, Any] = {
        "progress_count": row.progress_count + told.sent,
        "result_count": row.result_count + added,
        "target_count": row.target_count if told.target_count is None else told.target_count,
    }
    if told.cursor is not None:
        words["cursor"] = told.cursor
    if told.message is not None:
        words["progress_message"] = clean(told.message, 500)
    if told.is_progress:
        words["last_progress_at"] = row.read_at
    return words


def _until(told: Told, row: Any) -> datetime:
    asked = get_settings().remote_extend_seconds if told.extend is None else told.extend
    seconds = min(LONGEST_EXTENSION, max(SHORTEST_EXTENSION, asked))
    until: datetime = row.read_at + timedelta(seconds=seconds)
    return until


def _said_before(connection: BaseDatabaseWrapper, told: Told) -> Answer | None:
    """What this very report was answered, where it came before; else its key is taken."""
    if told.key is None:
        return None
    known = take_key(
        connection,
        scope=told.scope,
        key=told.key,
        run_id=told.job_id,
        body_hash=told.body_hash,
        kept_for=KEYS_KEPT_SECONDS,
    )
    return None if known is None else _answered(connection, told)


def _after_the_end(connection: BaseDatabaseWrapper, told: Told, may: May) -> Answer:
    """Good news comes twice where the first answer was lost. Nothing is changed."""
    columns = ("queue", "job_type", "state", "done_reason")
    run = JobRun.objects.using(connection.alias).only(*columns).filter(pk=told.job_id).first()
    if run is None or not may(run.queue, run.job_type):
        raise RunNotFound(_unknown(told))
    known = _answered(connection, told)
    return Answer(done=True, state=run.state, done_reason=run.done_reason) if known is None else known


def _after_it_was_given_back(connection: BaseDatabaseWrapper, told: Told) -> Answer:
    """By this very report, perhaps, of which the answer was lost; else the job is another's, or waits for one."""
    known = _answered(connection, told)
    if known is None or not known.done:
        raise LeaseLost(f"run {told.job_id} is in other hands or waits: this lease token is stale. Drop the job.")
    return known


def _answered(connection: BaseDatabaseWrapper, told: Told) -> Answer | None:
    """What the same report was answered before."""
    known = None if told.key is None else known_answer(connection, scope=told.scope, key=told.key)
    if known is None:
        return None
    if known.body_hash != told.body_hash:
        raise IdempotencyConflict(f"the key {told.key!r} was used for another report of this job. Use a new one.")
    return Answer(**known.answer | {"idempotent": True})


def _unknown(told: Told) -> str:
    return f"no run that this token may touch has the id {told.job_id}: pruned, never pulled by it, or misspelled."
