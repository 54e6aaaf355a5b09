"""How a job leaves its state, as statements: remove (to history) and requeue. Each writes the attempt beside it.

A guard says which jobs may move. Of running ones it names the token, so a worker that lost its lease moves nothing.
On PostgreSQL a move is one statement; on SQLite it is three in one IMMEDIATE transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.computing import computing
from jobs_app.lifecycle.announce import announce
from jobs_app.lifecycle.cursors import run_pinned, run_within
from jobs_app.lifecycle.database import NOW, is_postgres, read_uuid
from jobs_app.lifecycle.hand_over import Straight, hand_over
from jobs_app.lifecycle.holds import hold_by_gate
from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.relation import looked_up, relation
from jobs_app.models import Gate, Job, JobRun

LONGEST_DELAY_SECONDS = 100 * 366 * 86400.0  # later moments do not fit every database

# Guards: which job a row of the relation may move.
HELD = "job.token = ended.token"
EXPIRED_LEASE = f"{HELD} AND job.state = 'running' AND job.lease_expires_at < {{now}}"
NOT_STARTED = "job.state = 'queued' AND job.expires_at <= {now}"
WAITING = "job.state = 'queued'"


@dataclass(slots=True, kw_only=True)
class Ended:
    """How one attempt ended. `state` is `queued` where the job goes back to wait."""

    id: UUID
    token: UUID | None
    state: str
    outcome: str  # '' where there was no attempt
    done_reason: str = ""
    started_ago: float | None = None  # seconds; None: at the claim
    finished_ago: float = 0.0
    delay: float = 0.0  # until it is due again
    due_at: datetime | None = None  # or the moment itself, where that counts and not when this is stored
    free: bool = False  # the attempt does not count against the limit
    error_class: str = ""
    error: str = ""
    traceback: str = ""
    log: str = ""
    result: str | None = None  # JSON text
    # For those who hear of the end in this process; never stored. Its frames hold what the handler had in hand.
    raised: BaseException | None = field(default=None, compare=False, repr=False)
    keep_token: bool = False  # recovery keeps it until the next claim: a late report is still good news
    gate: int = Gate.KEY  # of the job, where it is known: others may wait for its key
    policy: str = "standard"  # of the job: where only one may wait, this one may have to give way


COLUMNS = {
    "id": "uuid",
    "token": "uuid",
    "end_state": "text",
    "end_outcome": "text",
    "end_done_reason": "text",
    "end_started_at": "ago",
    "end_finished_at": "ago",
    "due_at": "after",
    "free": "int",
    "error_class": "text",
    "end_error": "text",
    "traceback": "text",
    "log": "text",
    "end_result": "json",
    "keep_token": "bool",
}
DUE_AT = {"due_at": "time"}  # in place of seconds
FROM_JOB = [
    field.attname
    for field in JobRun._meta.concrete_fields
    if field.attname not in ("state", "started_at") and field.attname in {f.attname for f in Job._meta.concrete_fields}
]
STARTED_AT = "coalesce({latest}(end_started_at, started_at), started_at)"
NEW_RUN = f"""
INSERT INTO jobs_app_jobrun ({", ".join(FROM_JOB)}, state, outcome, done_reason, started_at, finished_at, error, result)
SELECT {", ".join(FROM_JOB)}, end_state, end_outcome, end_done_reason,
       {STARTED_AT}, end_finished_at, end_error, end_result
  FROM {{gone}} WHERE true
"""
RUN = f"{NEW_RUN} ON CONFLICT (id) DO NOTHING"
NEW_ATTEMPT = f"""
INSERT INTO jobs_app_jobattempt (job_id, number, token, worker_id, started_at, finished_at, outcome, success,
                                 error_class, message, traceback, log_excerpt)
SELECT id, attempts, end_token, worker_id, {STARTED_AT}, end_finished_at, end_outcome, end_outcome = 'success',
       error_class, end_error, traceback, log
  FROM {{gone}} WHERE end_outcome <> ''
"""
# A late report of a recovered attempt replaces its "lost": the attempt has one row, with how it really ended. No other
# is replaced: the history of an older run that had the same id is not rewritten.
ATTEMPT = f"""{NEW_ATTEMPT}
    ON CONFLICT (job_id, number) DO UPDATE
   SET finished_at = excluded.finished_at, outcome = excluded.outcome, success = excluded.success,
       error_class = excluded.error_class, message = excluded.message, traceback = excluded.traceback,
       log_excerpt = excluded.log_excerpt
 WHERE jobs_app_jobattempt.token = excluded.token
"""
# A job that goes back to wait gives up its admission. That it was deferred is no error.
REQUEUE_SET = f"""
   SET state = 'queued', hold = {hold_by_gate("job.gate")},
       run_at = ended.due_at, lease_expires_at = NULL, free_attempts = job.free_attempts + ended.free,
       last_error = CASE WHEN ended.end_error = '' OR ended.end_outcome = 'deferred' THEN job.last_error
                         ELSE ended.end_error END,
       token = CASE WHEN ended.keep_token THEN job.token END
"""
EXTRA = [name for name in COLUMNS if name not in ("id", "token")]
SEEN = "job.*, job.token AS end_token, " + ", ".join(f"ended.{name}" for name in EXTRA)

BY_ID = looked_up("job.id", "ended.id")
_REMOVE = f"""
WITH ended AS ({{{{rows}}}}),
gone AS (DELETE FROM jobs_app_job AS job USING ended WHERE {BY_ID} AND {{{{guard}}}} RETURNING {SEEN}),
tried AS ({{attempt}}),
kept AS ({{run}})
SELECT {{told}} FROM gone
"""
_GONE = {"gone": "gone", "latest": "greatest"}
_KNOWN = {"attempt": ATTEMPT.format(**_GONE), "run": RUN.format(**_GONE)}
# Looking whether history knows a row before it is written costs 3 us of the 16 that a row takes. It hardly ever does.
_UNKNOWN = {"attempt": NEW_ATTEMPT.format(**_GONE), "run": NEW_RUN.format(**_GONE)}
_MOVED = "id, queue, key, gate"
POSTGRES_REMOVE = _REMOVE.format(**_KNOWN, told=_MOVED)
POSTGRES_REMOVE_NEW = _REMOVE.format(**_UNKNOWN, told=_MOVED)
# Most often all of a batch moves, and then its number says so: 2 us less for each job than its row.
POSTGRES_COUNT = _REMOVE.format(**_KNOWN, told="count(*)")
POSTGRES_COUNT_NEW = _REMOVE.format(**_UNKNOWN, told="count(*)")
# The attempt is read before the update, because the update takes the token away. Places in the queue are taken in the
# order of their keys, as an enqueue takes them: two that take several would wait for each other else.
POSTGRES_REQUEUE = f"""
WITH ended AS ({{rows}}),
found AS MATERIALIZED (
  SELECT {SEEN} FROM ended JOIN jobs_app_job AS job ON {BY_ID} AND {{guard}} FOR NO KEY UPDATE OF job),
moved AS (
  UPDATE jobs_app_job AS job {REQUEUE_SET} FROM (SELECT * FROM found ORDER BY queue, key) AS ended
   WHERE {BY_ID}
  RETURNING job.id, job.queue, job.key, job.gate),
tried AS ({ATTEMPT.format(gone="found", latest="greatest")})
SELECT id, queue, key, gate FROM moved
"""
SQLITE_FOUND = f"(SELECT {SEEN} FROM jobs_app_job AS job JOIN ({{rows}}) AS ended ON job.id = ended.id AND {{guard}})"
SQLITE_REMOVE = "DELETE FROM jobs_app_job WHERE id IN (SELECT id FROM {gone}) RETURNING id, queue, key, gate"
SQLITE_REQUEUE = f"""
UPDATE jobs_app_job AS job {REQUEUE_SET} FROM {{gone}} AS ended WHERE job.id = ended.id RETURNING id, queue, key, gate
"""


def remove(
    connection: BaseDatabaseWrapper,
    ended: Sequence[Ended],
    guard: str = HELD,
    *,
    unknown: bool = False,
    straight: Straight | None = None,
) -> set[UUID]:
    """Move jobs into history; the ids that really moved. `unknown`: none of them is in it, or all are refused."""
    postgres = POSTGRES_REMOVE_NEW if unknown else POSTGRES_REMOVE
    moved = _move(connection, ended, guard, postgres, [ATTEMPT, RUN, SQLITE_REMOVE], straight)
    announce(connection, ended, moved)
    return moved


def remove_all(connection: BaseDatabaseWrapper, ended: Sequence[Ended], *, unknown: bool = False) -> bool:
    """The same on PostgreSQL, for jobs with no key that others wait for, and of which no webhook has to be told. False
    if some of them did not move."""
    rows, parameters = _relation(connection, ended)
    sql = (POSTGRES_COUNT_NEW if unknown else POSTGRES_COUNT).format(rows=rows, guard=HELD)
    ((moved,),) = run_pinned(connection, sql, parameters)
    return moved == len(ended)


def requeue(connection: BaseDatabaseWrapper, ended: Sequence[Ended], guard: str = HELD) -> set[UUID]:
    """Let jobs wait again; the ids that really moved. All of them say `due_at`, or none."""
    return _move(connection, ended, guard, POSTGRES_REQUEUE, [ATTEMPT, SQLITE_REQUEUE])


def _move(
    connection: BaseDatabaseWrapper,
    ended: Sequence[Ended],
    guard: str,
    postgres: str,
    sqlite: Sequence[str],
    straight: Straight | None = None,
) -> set[UUID]:
    if not ended:
        return set()
    rows, parameters = _relation(connection, ended)
    if is_postgres(connection):
        run = run_within if connection.in_atomic_block else run_pinned  # who began a transaction pinned its plan
        moved = run(connection, postgres.format(rows=rows, guard=guard.format(now=NOW)), parameters)
    else:
        moved = _move_sqlite(connection, rows, guard, sqlite, parameters)
    freed = [Key(queue, key) for _, queue, key, gate in moved if gate == Gate.KEY and key]
    if straight is None:
        wake_next(connection, freed)
    else:
        hand_over(connection, freed, straight)
    return {read_uuid(row[0]) for row in moved}


def _relation(connection: BaseDatabaseWrapper, ended: Sequence[Ended]) -> tuple[str, dict[str, Any]]:
    with computing():
        in_order = sorted(ended, key=lambda one: one.id.int)  # everything that locks several jobs locks them by id
        columns = COLUMNS if ended[0].due_at is None else COLUMNS | DUE_AT
        return relation(connection, columns, [_row(one) for one in in_order])


def _move_sqlite(
    connection: BaseDatabaseWrapper, rows: str, guard: str, statements: Sequence[str], parameters: dict[str, Any]
) -> list[tuple[Any, ...]]:
    gone = SQLITE_FOUND.format(rows=rows, guard=guard.format(now="%(now)s"))
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.format(gone=gone, latest="max"), parameters)
        return cursor.fetchall()


def _row(ended: Ended) -> tuple[Any, ...]:
    return (
        ended.id,
        ended.token,
        ended.state,
        ended.outcome,
        ended.done_reason,
        ended.started_ago,
        ended.finished_ago,
        ended.due_at or min(ended.delay, LONGEST_DELAY_SECONDS),
        int(ended.free),
        ended.error_class,
        ended.error,
        ended.traceback,
        ended.log,
        ended.result,
        ended.keep_token,
    )
