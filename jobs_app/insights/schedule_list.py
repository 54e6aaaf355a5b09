"""Schedules page by page, in the order of their names, and how many a filter finds before somebody acts upon them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.insights import schedules
from jobs_app.lifecycle.bounded import beyond
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.schedule_filter import PAUSED, STATES, ScheduleFilter
from jobs_app.models import JobRun, ScheduleState
from jobs_app.values import UNSTORABLE

PER_PAGE = 50
MOST_COUNTED = 10_000
SAMPLE = 10


@dataclass(frozen=True, kw_only=True)
class ScheduleLine:
    row: ScheduleState
    state: str
    why: str
    overdue: float | None  # seconds
    last_run: JobRun | None  # of its newest slot that has ended

    @property
    def next_at(self) -> datetime | None:
        return self.row.next_run_at if self.state == schedules.ACTIVE else None


@dataclass(frozen=True, kw_only=True)
class SchedulePage:
    lines: list[ScheduleLine]
    first: str = ""  # where the page before ends; empty: there is none
    last: str = ""  # where the next one begins


@dataclass(frozen=True, kw_only=True)
class Matched:
    """What an act upon a filter would meet."""

    count: int
    is_capped: bool  # there are more than were counted
    paused: int
    sample: list[ScheduleState]


def page(
    connection: BaseDatabaseWrapper, wanted: ScheduleFilter, *, after: str = "", before: str = "", limit: int = PER_PAGE
) -> SchedulePage:
    """Those behind a mark, or before one; a mark that nobody made means the first page. Three queries, always."""
    mark, backwards = _read_mark(before or after), bool(before)
    rows = wanted.rows(connection).defer("payload")
    found = list(_behind(rows, mark, backwards and mark is not None)[: limit + 1])
    has_more, found = len(found) > limit, found[:limit]
    if backwards and mark is not None:
        found.reverse()
        has_before, has_after = has_more, True
    else:
        has_before, has_after = mark is not None, has_more
    lines = _lines(connection, found)
    return SchedulePage(
        lines=lines,
        first=_mark(found[0]) if found and has_before else "",
        last=_mark(found[-1]) if found and has_after else "",
    )


def matched(connection: BaseDatabaseWrapper, wanted: ScheduleFilter, *, most: int = MOST_COUNTED) -> Matched:
    rows = wanted.rows(connection)
    count = rows.order_by()[: most + 1].count()
    return Matched(
        count=min(count, most),
        is_capped=count > most,
        paused=rows.filter(STATES[PAUSED]).order_by()[:most].count(),
        sample=list(rows.order_by(*schedules.ORDER).defer("payload")[:SAMPLE]),
    )


def _behind(rows: QuerySet[ScheduleState], mark: Sequence[str] | None, backwards: bool) -> QuerySet[ScheduleState]:
    order = [f"-{name}" for name in schedules.ORDER] if backwards else schedules.ORDER
    if mark is not None:
        rows = rows.filter(beyond(schedules.ORDER, mark, descending=backwards, model=ScheduleState))
    return rows.order_by(*order)


def _lines(connection: BaseDatabaseWrapper, rows: Sequence[ScheduleState]) -> list[ScheduleLine]:
    now, runs = database_now(connection), schedules.last_runs(connection, rows)
    return [
        ScheduleLine(
            row=row,
            state=schedules.state_of(row),
            why=schedules.why(row),
            overdue=schedules.overdue_seconds(row, now),
            last_run=runs.get(row.pk),
        )
        for row in rows
    ]


def _mark(row: ScheduleState) -> str:
    return json.dumps([row.job_type, row.subject, row.name], ensure_ascii=False, separators=(",", ":"))


def _read_mark(text: str) -> list[str] | None:
    try:
        given = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, list) or len(given) != len(schedules.ORDER):
        return None
    return given if all(isinstance(part, str) and not UNSTORABLE.search(part) for part in given) else None
