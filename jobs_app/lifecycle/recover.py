"""running -> queued, failed or cancelled, when the lease expired; queued -> failed, when it came too late to start.

Needs no leader: every worker and scheduler does it. It reads O(running) rows through the index on leases, passes rows
that another session is just writing, and never waits for one. The write checks token, state and lease again.
"""

from __future__ import annotations

from collections.abc import Callable
from random import random as uniform
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.database import is_postgres, now_parameter, now_sql, pinned_transaction, read_uuid
from jobs_app.lifecycle.moves import EXPIRED_LEASE, NOT_STARTED, Ended, remove
from jobs_app.lifecycle.requeue import requeue, while_places_are_taken
from jobs_app.registry import SYSTEM_QUEUE, registry, usual_backoff
from jobs_app.retry import Backoff

ROWS_PER_STATEMENT = 500


class Recovered(NamedTuple):
    requeued: set[UUID]
    failed: set[UUID]
    expired: set[UUID]

    @property
    def total(self) -> int:
        return len(self.requeued) + len(self.failed) + len(self.expired)


# The last column counts the attempts of this job that were lost before.
_EXPIRED = """
SELECT id, token, job_type, worker_id, policy, cancel_requested, attempts - free_attempts, max_attempts,
       (SELECT count(*) FROM jobs_app_jobattempt AS tried WHERE tried.job_id = job.id AND tried.outcome = 'lost')
  FROM jobs_app_job AS job WHERE state = 'running' AND lease_expires_at < {{now}}{which}
 ORDER BY lease_expires_at LIMIT %(limit)s
"""
EXPIRED = _EXPIRED.format(which="")
OWN_EXPIRED = _EXPIRED.format(which=f" AND queue = '{SYSTEM_QUEUE}'")
TOO_LATE = """
SELECT id FROM jobs_app_job AS job WHERE state = 'queued' AND expires_at <= {now} ORDER BY expires_at LIMIT %(limit)s
"""
PASSING_LOCKED = " FOR NO KEY UPDATE OF job SKIP LOCKED"


class Lost(NamedTuple):
    """A job whose worker is gone, and all that decides what becomes of it."""

    id: UUID
    token: UUID
    job_type: str
    worker_id: str
    policy: str
    cancel_requested: bool
    counted_attempts: int
    max_attempts: int
    lost_before: int  # attempts


def recover(
    connection: BaseDatabaseWrapper, *, leases: bool = True, random: Callable[[], float] = uniform
) -> Recovered:
    """Give back or end every job whose worker went silent, and end what expired before it could start.

    Without `leases` only the latter: jobs of silent workers are left to reconciliation. That one is a job itself, so
    the app's own chores never are.
    """
    recovered = Recovered(set(), set(), set())
    while True:
        batch = while_places_are_taken(lambda: _recover_batch(connection, leases, random))
        recovered = Recovered(*(known | more for known, more in zip(recovered, batch, strict=True)))
        if batch.total < ROWS_PER_STATEMENT:
            return recovered


def verdict_on(lost: Lost, error: str, error_class: str, random: Callable[[], float] = uniform) -> Ended:
    """Due again at once the first time, with the type's backoff from the second, failed when attempts are used up,
    cancelled if that was asked for."""
    if lost.cancel_requested:
        state, done_reason = "cancelled", "cancelled"
    elif lost.counted_attempts < lost.max_attempts:
        state, done_reason = "queued", ""
    else:
        state, done_reason = "failed", "lost"
    waits = state == "queued" and lost.lost_before
    return Ended(
        id=lost.id,
        token=lost.token,
        state=state,
        outcome="lost",
        done_reason=done_reason,
        delay=_backoff(lost.job_type).delay_after(lost.counted_attempts, random) if waits else 0.0,
        error_class=error_class,
        error=error,
        keep_token=True,
        policy=lost.policy,
    )


def lost_text(worker_id: str) -> str:
    return f"Worker crashed or timed out (stalled job recovery, was on {worker_id})"


def _recover_batch(connection: BaseDatabaseWrapper, leases: bool, random: Callable[[], float]) -> Recovered:
    with pinned_transaction(connection):
        lost = [_verdict(row, random) for row in _select(connection, EXPIRED if leases else OWN_EXPIRED)]
        late = [_expired(read_uuid(row[0])) for row in _select(connection, TOO_LATE)]
        return Recovered(
            requeued=requeue(connection, [one for one in lost if one.state == "queued"], EXPIRED_LEASE),
            failed=remove(connection, [one for one in lost if one.state != "queued"], EXPIRED_LEASE),
            expired=remove(connection, late, NOT_STARTED),
        )


def _verdict(row: tuple[Any, ...], random: Callable[[], float]) -> Ended:
    run_id, token, *rest = row
    lost = Lost(read_uuid(run_id), read_uuid(token), *rest)
    return verdict_on(lost, lost_text(lost.worker_id), "LeaseExpired", random)


def _expired(run_id: UUID) -> Ended:
    reason = "no attempt could start before its expires_at"
    return Ended(id=run_id, token=None, state="failed", outcome="", done_reason="expired", error=reason)


def _backoff(job_type: str) -> Backoff:
    known = registry.find(job_type)
    return usual_backoff(get_settings()) if known is None else known.backoff


def _select(connection: BaseDatabaseWrapper, sql: str) -> list[tuple[Any, ...]]:
    sql = sql.format(now=now_sql(connection)) + (PASSING_LOCKED if is_postgres(connection) else "")
    with connection.cursor() as cursor:
        cursor.execute(sql, {"now": now_parameter(connection), "limit": ROWS_PER_STATEMENT})
        return cursor.fetchall()
