"""Subjects, page by page: whatever has a schedule, live work, runs of late, or a pause. History is never searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count

from jobs_app.capacity import Load
from jobs_app.insights.busiest import busiest
from jobs_app.lifecycle.database import database_now, now_parameter, now_sql, pinned_reading
from jobs_app.lifecycle.pauses import in_force
from jobs_app.models import Job, JobRun, Pause, Scope, State

PER_PAGE = 50
MOST_LIVE = 100_000  # jobs looked at; beyond it what waits is "at least"
MOST_FAILED = 20_000  # runs looked at, the newest
MOST_RECENT = 10_000  # runs whose subjects are listed, the newest
FAILED_WITHIN = timedelta(hours=24)

# Each part is cut before it is compared and put in order, which the ORM cannot say. `lower` on both sides, because the
# databases differ in the letters they know. A subject that has none of these is found by its exact name.
CHOSEN = "subject <> '' AND subject > %(after)s AND lower(substr(subject, 1, %(length)s)) = lower(%(prefix)s)"
NAMES = f"""
SELECT subject FROM (SELECT DISTINCT subject FROM jobs_app_schedulestate
                      WHERE {CHOSEN} ORDER BY subject LIMIT %(limit)s) AS planned
UNION
SELECT subject FROM (SELECT DISTINCT subject FROM (SELECT subject FROM jobs_app_job LIMIT %(most_live)s) AS live
                      WHERE {CHOSEN} ORDER BY subject LIMIT %(limit)s) AS waiting
UNION
SELECT subject FROM (SELECT DISTINCT subject FROM (SELECT subject FROM jobs_app_jobrun
                      ORDER BY queued_at DESC, id DESC LIMIT %(most_recent)s) AS newest
                      WHERE {CHOSEN} ORDER BY subject LIMIT %(limit)s) AS recent
UNION
SELECT subject FROM (SELECT name AS subject FROM jobs_app_pause
                      WHERE scope = 'subject' AND (until IS NULL OR until > {{now}})) AS paused WHERE {CHOSEN}
UNION
SELECT subject FROM (SELECT subject FROM jobs_app_jobrun WHERE subject = %(prefix)s LIMIT 1) AS exact WHERE {CHOSEN}
ORDER BY subject LIMIT %(limit)s
"""
WAITING = """
SELECT subject, count(*) FROM (SELECT subject FROM jobs_app_job WHERE state = 'queued' LIMIT %(limit)s) AS live
 WHERE subject IN ({names}) GROUP BY subject
"""


@dataclass(frozen=True, kw_only=True)
class SubjectLine:
    name: str
    waiting: int
    running: int
    failed: int  # of those that were queued in the last 24 hours
    load: Load | None  # None: no schedule asks for anything
    left_out: int  # schedules that are not in the load
    pause: Pause | None


@dataclass(frozen=True, kw_only=True)
class SubjectPage:
    lines: list[SubjectLine]
    last: str  # where the next page begins; empty: there is none
    is_live_capped: bool
    is_failed_capped: bool


def page(connection: BaseDatabaseWrapper, *, prefix: str = "", after: str = "", limit: int = PER_PAGE) -> SubjectPage:
    """Those that begin so, behind a name, in order. So many queries, whatever there is."""
    names = _names(connection, prefix, after, limit + 1)
    has_more, names = len(names) > limit, names[:limit]
    now = database_now(connection)
    waiting, running = _waiting(connection, names), _running(connection, names)
    failed = _failed(connection, now)
    loads = {each.subject: each for each in busiest(connection, limit=limit, among=names)} if names else {}
    pauses = _pauses(connection, names, now)
    lines = [
        SubjectLine(
            name=name,
            waiting=waiting.get(name, 0),
            running=running.get(name, 0),
            failed=failed[name],
            load=loads[name].load if name in loads else None,
            left_out=loads[name].left_out if name in loads else 0,
            pause=pauses.get(name),
        )
        for name in names
    ]
    return SubjectPage(
        lines=lines,
        last=names[-1] if has_more else "",
        is_live_capped=is_live_capped(connection),
        is_failed_capped=failed.total() > MOST_FAILED,
    )


def is_live_capped(connection: BaseDatabaseWrapper) -> bool:
    """Are there more live jobs than are looked at?"""
    return Job.objects.using(connection.alias).order_by()[: MOST_LIVE + 1].count() > MOST_LIVE


def _names(connection: BaseDatabaseWrapper, prefix: str, after: str, limit: int) -> list[str]:
    given: dict[str, Any] = {"prefix": prefix, "length": len(prefix), "after": after, "limit": limit}
    given |= {"most_live": MOST_LIVE, "most_recent": MOST_RECENT, "now": now_parameter(connection)}
    with pinned_reading(connection), connection.cursor() as cursor:
        cursor.execute(NAMES.format(now=now_sql(connection)), given)
        return [name for (name,) in cursor.fetchall()]


def _waiting(connection: BaseDatabaseWrapper, names: Sequence[str]) -> dict[str, int]:
    if not names:
        return {}
    given: dict[str, Any] = {f"name_{place}": name for place, name in enumerate(names)}
    sql = WAITING.format(names=", ".join(f"%({name})s" for name in given))
    with connection.cursor() as cursor:
        cursor.execute(sql, given | {"limit": MOST_LIVE})
        return dict(cursor.fetchall())


def _running(connection: BaseDatabaseWrapper, names: Sequence[str]) -> dict[str, int]:
    """Bounded by the slots of all workers."""
    rows = Job.objects.using(connection.alias).filter(state=State.RUNNING, subject__in=names)
    return dict(rows.order_by().values_list("subject").annotate(Count("pk")))


def _failed(connection: BaseDatabaseWrapper, now: datetime) -> Counter[str]:
    rows = JobRun.objects.using(connection.alias).filter(state=State.FAILED, queued_at__gte=now - FAILED_WITHIN)
    newest = rows.order_by("-queued_at", "-id").values_list("subject", flat=True)
    with pinned_reading(connection):
        return Counter(newest[: MOST_FAILED + 1])


def _pauses(connection: BaseDatabaseWrapper, names: Sequence[str], now: datetime) -> dict[str, Pause]:
    rows = Pause.objects.using(connection.alias).filter(in_force(now), scope=Scope.SUBJECT, name__in=names)
    return {pause.name: pause for pause in rows}
