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
from jobs_app.registry import registry
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
EXPIRED = """
SELECT id, token, job_type, worker_id, policy, cancel_requested, attempts - free_attempts, max_attempts,
       (SELECT count(*) FROM jobs_app_jobattempt AS tried WHERE tried.job_id = job.id AND tried.outcome = 'lost')
  FROM jobs_app_job AS job WHERE state = 'running' AND lease_expires_at < {now}
 ORDER BY lease_expires_at LIMIT %(limit)s
"""
TOO_LATE = """
SELECT id FROM jobs_app_job AS job WHERE state = 'queued' AND expires_at <= {now} ORDER BY expires_at LIMIT %(limit)s
"""
PASSING_LOCKED = " FOR NO KEY UPDATE OF job SKIP LOCKED"


def recover(connection: BaseDatabaseWrapper, *, random: Callable[[], float] = uniform) -> Recovered:
    """Give back or end every job whose worker went silent, and end what expired before it could start."""
    recovered = Recovered(set(), set(), set())
    while True:
        batch = while_places_are_taken(lambda: _recover_batch(connection, random))
        recovered = Recovered(*(known | more for known, more in zip(recovered, batch, strict=True)))
        if batch.total < ROWS_PER_STATEMENT:
            return recovered


def _recover_batch(connection: BaseDatabaseWrapper, random: Callable[[], float]) -> Recovered:
    with pinned_transaction(connection):
        lost = [_verdict(row, random) for row in _select(connection, EXPIRED)]
        late = [_expired(read_uuid(row[0])) for row in _select(connection, TOO_LATE)]
        return Recovered(
            requeued=requeue(connection, [one for one in lost if one.state == "queued"], EXPIRED_LEASE),
            failed=remove(connection, [one for one in lost if one.state != "queued"], EXPIRED_LEASE),
            expired=remove(connection, late, NOT_STARTED),
        )


def _verdict(row: tuple[Any, ...], random: Callable[[], float]) -> Ended:
    """Due again at once the first time, with the type's backoff from the second, failed when attempts are used up,
    cancelled if that was asked for."""
    run_id, token, job_type, worker_id, policy, is_cancelled, attempts, max_attempts, lost = row
    if is_cancelled:
        state, done_reason = "cancelled", "cancelled"
    elif attempts < max_attempts:
        state, done_reason = "queued", ""
    else:
        state, done_reason = "failed", "lost"
    return Ended(
        id=read_uuid(run_id),
        token=read_uuid(token),
        state=state,
        outcome="lost",
        done_reason=done_reason,
        delay=_backoff(job_type).delay_after(attempts, random) if state == "queued" and lost else 0.0,
        error_class="LeaseExpired",
        error=f"Worker crashed or timed out (stalled job recovery, was on {worker_id})",
        keep_token=True,
        policy=policy,
    )


def _expired(run_id: UUID) -> Ended:
    reason = "no attempt could start before its expires_at"
    return Ended(id=run_id, token=None, state="failed", outcome="", done_reason="expired", error=reason)


def _backoff(job_type: str) -> Backoff:
    known = registry.find(job_type)
    if known is not None:
        return known.backoff
    settings = get_settings()
    return Backoff(base=settings.backoff_base_seconds, cap=settings.backoff_max_seconds)


def _select(connection: BaseDatabaseWrapper, sql: str) -> list[tuple[Any, ...]]:
    sql = sql.format(now=now_sql(connection)) + (PASSING_LOCKED if is_postgres(connection) else "")
    with connection.cursor() as cursor:
        cursor.execute(sql, {"now": now_parameter(connection), "limit": ROWS_PER_STATEMENT})
        return cursor.fetchall()
