"""Is somebody there to do the work?

Processes have a row each. What waits is counted up to a limit (`insights.counts`), however long the backlog.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.insights import counts, processes
from jobs_app.insights.dashboard import read_schedules
from jobs_app.insights.doctor.finding import Fault, examination, few, note, problem, warning
from jobs_app.insights.processes import LATE, LOST, Processes
from jobs_app.insights.verdict import NEWS_OF_LOST
from jobs_app.lifecycle.database import database_now
from jobs_app.registry import SYSTEM_QUEUE


@examination(fine="A worker is alive.")
def no_worker(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if _has_worker(_all_of(connection)):
        return
    if waiting := _waiting(connection):
        sentence = f"No worker is alive, and jobs wait in {few(waiting)}."
        yield problem(sentence, advice="Start manage.py runworker.")
    elif not get_settings().eager:
        yield warning("No worker is alive: what is enqueued will wait.", advice="Start manage.py runworker.")


@examination(fine="Every queue with jobs has a worker.")
def queue_unserved(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    found = _all_of(connection)
    if not _has_worker(found):
        return  # told by no_worker
    unserved = [queue for queue in _waiting(connection) if not found.serving(queue)]
    if unserved:
        advice = f"Start manage.py runworker --queues {','.join(unserved[:5])}, or let a worker serve all queues."
        yield problem(f"Jobs wait in queues that no live worker serves: {few(unserved)}.", advice=advice)


@examination(fine="A scheduler is alive, or there are no schedules.")
def no_scheduler(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """One pass over the schedules."""
    active = read_schedules(connection).active
    if not active:
        return
    if not get_settings().scheduler_enabled:
        sentence = f"The scheduler is switched off, and schedules are active ({active}): they make no jobs."
        yield warning(sentence, advice="Take SCHEDULER_ENABLED out of settings.JOBS, or pause the schedules.")
    elif not _all_of(connection).has_scheduler:
        advice = "Start manage.py runscheduler, or manage.py runworker --with-scheduler."
        yield warning(f"No scheduler is alive, and schedules are active ({active}).", advice=advice)


@examination(fine="All processes run one version.")
def versions_differ(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    found = _all_of(connection).versions
    if len(found) > 1:
        told = few([f"{version} ({count})" for version, count in sorted(found.items())])
        yield note(f"Processes run different versions: {told}.", advice="Restart those that a deploy left behind.")


@examination(fine="No process went silent lately.")
def silent_workers(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """Who is silent for longer was replaced, or is missed elsewhere."""
    found = _all_of(connection)
    silent = [each.row for each in found.found if each.status in (LATE, LOST)]
    recent = [row.name or f"{row.host} {row.pid}" for row in silent if found.at - row.seen_at <= NEWS_OF_LOST]
    if recent:
        advice = "Look at their logs: were they killed (memory), cut off, or frozen? Others take over what they ran."
        yield warning(f"Processes went silent: {few(recent)}.", advice=advice)


def _all_of(connection: BaseDatabaseWrapper) -> Processes:
    return processes.all_of(connection, database_now(connection))


def _has_worker(found: Processes) -> bool:
    return any(each.is_worker for each in found.living)


def _waiting(connection: BaseDatabaseWrapper) -> list[str]:
    """Queues with jobs, but for that of the app's own chores."""
    live = counts.live(connection).queues
    return [each.queue for each in live if each.waiting and each.queue != SYSTEM_QUEUE]
