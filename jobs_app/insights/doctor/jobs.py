"""Are there jobs that nobody will start, or that stand still?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import durations
from jobs_app.conf import RECONCILABLE
from jobs_app.insights import overdue, pauses, stale
from jobs_app.insights.doctor.finding import Fault, Level, examination, few, problem, warning
from jobs_app.insights.verdict import OLD_PAUSE
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.overdue import overdue_seconds
from jobs_app.lifecycle.workforce import read_workforce
from jobs_app.registry import SYSTEM_QUEUE, registry

MOST_WAITING = 100_000  # rows looked at; what nobody takes is old, and old rows are mostly read first

# Cut before it is grouped, which the ORM cannot say.
WAITING_TYPES = """
SELECT DISTINCT queue, job_type
  FROM (SELECT queue, job_type FROM jobs_app_job WHERE state = 'queued' LIMIT %(limit)s) AS waiting
 ORDER BY job_type, queue
"""


@examination(fine="Workers know every job type that waits.")
def type_unknown_to_workers(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """Of queues that are served: the others are told of by queue_unserved."""
    force = read_workforce(connection, database_now(connection))
    waiting = _waiting_types(connection)
    unknown = [name for queue, name in waiting if force.serves(queue) and not force.knows(queue, name)]
    remote = [name for name in unknown if (known := registry.find(name)) and known.remote]
    if remote:
        advice = "Start python -m jobs_app.client for their queues: no worker of this project runs them."
        yield warning(f"Jobs wait for remote workers, and none is there: {few(sorted(set(remote)))}.", advice=advice)
    if unknown := [name for name in unknown if name not in remote]:
        advice = "Start workers whose code has them, or restart those that run old code; else cancel the jobs."
        told = few(sorted(set(unknown)))
        yield problem(f"Jobs wait whose type no live worker of their queue knows: {told}.", advice=advice)


@examination(fine="This code knows every job type that waits.")
def type_unknown_here(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    unknown = sorted({name for _, name in _waiting_types(connection)} - set(registry.names()))
    if unknown:
        advice = "Bring the code back, rename the type to what it was, or cancel the jobs."
        yield warning(f"Jobs wait whose type this code does not know: {few(unknown)}.", advice=advice)


@examination(fine="No run stands still.")
def stale_runs(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """It costs what runs: at most ten thousand rows, those whose lease ends first."""
    now = database_now(connection)
    found = stale.stale_runs(connection, kinds=RECONCILABLE, limit=stale.MOST_SHOWN)
    kinds = Counter(one.kind for one in found if overdue_seconds(one.job, now) is None)
    if kinds:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        advice = "See manage.py jobs reconcile --dry-run; without --dry-run it moves them on."
        yield problem(f"Runs stand still: {told}.", advice=advice)


@examination(fine="No run goes on past its timeout.")
def overdue_runs(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """Among the thousand that run for longest."""
    if found := overdue.overdue(connection):
        told = few([f"{job.job_type} {job.pk} ({durations.rough(seconds)})" for job, seconds in found])
        advice = "A thread cannot be stopped: restart their workers, and give such jobs isolation='process'."
        yield warning(f"Runs go on past their timeout: {told}.", advice=advice)


@examination(fine="Nothing is paused for long.")
def forgotten_pause(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """The hundred that stop most."""
    now = database_now(connection)
    old = [each for each in pauses.newest(connection, now) if now - each.created_at > OLD_PAUSE]
    if old:
        told = few([f"{each} ({durations.rough((now - each.created_at).total_seconds())})" for each in old])
        level = Level.NOTE if all(each.until for each in old) else Level.WARNING
        yield Fault(level, f"Paused for more than a day: {told}.", "Resume it in the admin, or let it end at a time.")


def _waiting_types(connection: BaseDatabaseWrapper) -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(WAITING_TYPES, {"limit": MOST_WAITING})
        return [(queue, name) for queue, name in cursor.fetchall() if queue != SYSTEM_QUEUE]
