"""What a second enqueue meets where a key lets only one job wait: the first one, to be joined or replaced."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import is_postgres, now_sql, read_moment, read_uuid, while_busy
from jobs_app.lifecycle.holds import hold_by_gate
from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.new_job import Enqueued, NewJob
from jobs_app.lifecycle.relation import relation, same
from jobs_app.models import Gate, Run

COLUMNS = {"id": "uuid", "queue": "text", "key": "text", "policy": "text"}
_HOLDER = """
SELECT refused.id, job.id, job.queued_at, job.run_at, job.job_type, job.state
  FROM ({{rows}}) AS refused JOIN jobs_app_job AS job ON job.queue = refused.queue AND {{by_key}}
   AND {holds} WHERE {refused}
"""
# One for each index that can refuse a job: no index would be read for both at once.
HOLDERS = (
    _HOLDER.format(refused="refused.policy = 'exclusive'", holds="job.policy = 'exclusive'")
    + " UNION ALL "
    + _HOLDER.format(
        refused="refused.policy <> 'exclusive'", holds="job.policy IN ('short', 'stately') AND job.state = 'queued'"
    )
)
REPLACED = {
    "id": "uuid",
    "run_at": "time",
    "delay": "after",
    "payload": "json",
    "meta": "json",
    "priority": "int",
    "max_attempts": "int",
    "expires_at": "time",
    "timeout_seconds": "float",
    "actor": "text",
}
CHANGED = [name for name in REPLACED if name not in ("id", "run_at", "delay")]
# It waits from the start, and gives up its admission if it had one: it may be due later now. SQLite returns columns of
# the table alone, and knows no alias there.
REPLACE = f"""
UPDATE jobs_app_job AS job
   SET {", ".join(f"{name} = new.{name}" for name in CHANGED)},
       run_at = {{latest}}(coalesce(new.run_at, new.delay), {{now}}),
       hold = CASE WHEN hold = 'pause' THEN hold ELSE {hold_by_gate("gate")} END
  FROM ({{rows}}) AS new WHERE job.id = new.id AND job.state = 'queued'
RETURNING {{job}}id, queued_at, {{job}}run_at, queue, key, gate
"""


def find_holders(connection: BaseDatabaseWrapper, refused: Sequence[NewJob]) -> dict[UUID, Enqueued]:
    """For each job that its key let not in, the one that holds it; a holder that has just ended is missing."""
    rows, parameters = relation(connection, COLUMNS, [(job.id, job.queue, job.key, job.policy) for job in refused])
    with connection.cursor() as cursor:
        by_key = same(connection, "job.key", "refused.key")
        cursor.execute(HOLDERS.format(rows=rows, by_key=by_key), parameters)
        found = cursor.fetchall()
    return {
        read_uuid(mine): Enqueued(
            read_uuid(theirs), read_moment(queued_at), read_moment(run_at), False, job_type, state
        )
        for mine, theirs, queued_at, run_at, job_type, state in found
    }


def find_run(connection: BaseDatabaseWrapper, run_id: UUID) -> Enqueued | None:
    """A run that was there before, live or ended."""
    run = Run.objects.using(connection.alias).filter(pk=run_id).first()
    return None if run is None else Enqueued(run.pk, run.queued_at, run.run_at, False, run.job_type, run.state)


def replace_waiting(connection: BaseDatabaseWrapper, run_id: UUID, new: NewJob) -> Enqueued | None:
    """Let a job that waits do the newer work instead; None if it does not wait any more."""
    values = [run_id, *(getattr(new, name) for name in REPLACED if name != "id")]
    rows, parameters = relation(connection, REPLACED, [values])
    latest, job = ("greatest", "job.") if is_postgres(connection) else ("max", "")
    sql = REPLACE.format(rows=rows, now=now_sql(connection), latest=latest, job=job)
    with connection.cursor() as cursor:
        while_busy(connection, lambda: cursor.execute(sql, parameters))
        row = cursor.fetchone()
    if row is None:
        return None
    replaced, queued_at, run_at, queue, key, gate = row
    if gate == Gate.KEY and key:
        wake_next(connection, [Key(queue, key)])
    return Enqueued(read_uuid(replaced), read_moment(queued_at), read_moment(run_at), False, new.job_type, "queued")
