"""The first page: is all well, what needs attention, and where everything stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs_app.admin.pages import Page
from jobs_app.admin.queue_words import BADGES
from jobs_app.admin.visits import Visit
from jobs_app.insights import checklist, failures, knowing, next_hour, pauses, run_list, verdict
from jobs_app.insights.dashboard import Now
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.snapshots import snapshots
from jobs_app.insights.throughput import Hour
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Scope
from jobs_app.tasks_backend.discovery import our_aliases

PART_SECONDS = 2.0
LIVE_SECONDS = 5
MOST_FAILURES = 10  # groups
MOST_PAUSES = 20
FAILED_LATELY = RunFilter(state="failed", window="24h")
ACTS = {  # that end a pause, and that give it another end
    Scope.ALL: ("dashboard_resume_all", "dashboard_pause_all"),
    Scope.QUEUE: ("queuestate_resume", "queuestate_pause"),
    Scope.JOB_TYPE: ("jobdefinition_resume", "jobdefinition_pause"),
    Scope.SUBJECT: ("subject_resume", "subject_pause"),
}

T = TypeVar("T")


class Parts:
    """The parts of the page, each read on its own, and for all who look at it within a few seconds."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.age = 0.0  # seconds, of the oldest

    def read(self, name: str, function: Callable[[], T]) -> T | None:
        """None where it took too long, for everybody who would have had to wait for it."""
        alias = self.visit.connection.alias
        kept = snapshots.get((alias, name), lambda: self.visit.read(function, seconds=PART_SECONDS))
        self.age = max(self.age, snapshots.age(kept))
        if kept.value is None and not kept.is_new:
            self.visit.cut.append(PART_SECONDS)
        return kept.value

    @property
    def as_of(self) -> datetime:
        return timezone.now() - timedelta(seconds=self.age)


def overview(visit: Visit) -> HttpResponseBase:
    connection, parts = visit.connection, Parts(visit)
    paused = visit.read(lambda: pauses.newest(connection, database_now(connection)), seconds=PART_SECONDS) or []
    known = knowing.read_known(connection, parts.read, paused)
    now, schedules, stale, hour = known.now, known.schedules, known.stale, known.hour
    failed = parts.read("failed", lambda: run_list.count(connection, FAILED_LATELY))
    groups = parts.read("failures", lambda: failures.failures(connection))
    coming = parts.read("coming", lambda: next_hour.next_hour(connection, database_now(connection)))
    steps = parts.read("steps", lambda: checklist.read(connection))
    return visit.render(
        "dashboard.html",
        _("Dashboard"),
        live=LIVE_SECONDS,
        now=now,
        schedules=schedules,
        stale=stale,
        hour=hour,
        failed=failed,
        failures=groups,
        groups=_groups(visit, groups),
        coming=coming,
        steps=steps,
        task_backends=our_aliases,  # asked by the checklist alone
        types_url=visit.url("jobdefinition_changelist"),
        findings=[(finding, _address(visit, finding)) for finding in verdict.judge(known)],
        is_all_known=known.is_all,
        pauses=[(pause, *ACTS[Scope(pause.scope)]) for pause in paused[:MOST_PAUSES]],
        more_pauses=len(paused[MOST_PAUSES:]),
        is_all_paused=any(pause.scope == Scope.ALL for pause in paused),
        rows=_rows(now),
        statuses=_statuses(now),
        chart=_chart(hour),
        chart_text=_chart_text(hour),
        line_text=told_line(hour.waiting if hour else []),
        as_of=parts.as_of,
    )


def told_line(values: Sequence[float]) -> str:
    """A line of what waited in the last hour, in words."""
    if not values:
        return _("No numbers of the last hour yet")
    told = {"first": f"{values[0]:.0f}", "last": f"{values[-1]:.0f}", "most": f"{max(values):.0f}"}
    return _("Waiting in the last hour: from %(first)s to %(last)s, at most %(most)s") % told


def _trend_text(trend: float | None) -> str:
    return "" if trend is None or abs(trend) < 0.05 else _("%(count)s/min") % {"count": f"{trend:+.1f}"}


def _groups(visit: Visit, found: failures.Failures | None) -> list[tuple[failures.FailureGroup, str, str]]:
    """Each with the list of its runs, and for who may, with the act upon exactly these."""
    rows = []
    for group in (found.groups if found else [])[:MOST_FAILURES]:
        query = group.runs.as_query()
        back = {"next": visit.request.get_full_path()}
        retry = visit.url("run_bulk_retry", query=query | back) if visit.may("retry_run") else ""
        rows.append((group, visit.url("run_changelist", query=query), retry))
    return rows


def _address(visit: Visit, finding: verdict.Finding) -> str:
    return visit.url(finding.page, *finding.arguments, query=finding.query)


def _rows(now: Now | None) -> list[tuple[Any, ...]]:
    """Each queue with the word for its state, and its last hour in words."""
    return [
        (line, *BADGES[line.state], _trend_text(line.hour.trend), told_line(line.hour.waiting))
        for line in (now.queues if now else [])
    ]


def _statuses(now: Now | None) -> list[tuple[str, int, str]]:
    """How many workers are how, in the order in which people ask."""
    if now is None:
        return []
    texts = {"alive": _("alive"), "draining": _("draining"), "late": _("late"), "lost": _("lost")}
    return [(status, now.processes.statuses[status], text) for status, text in texts.items()]


def _chart(hour: Hour | None) -> list[tuple[str, list[tuple[str, float]]]]:
    return [
        (f"{timezone.localtime(each.at):%H:%M}", [("ok", each.succeeded), ("bad", each.failed)])
        for each in (hour.minutes if hour else ())
    ]


def _chart_text(hour: Hour | None) -> str:
    minutes: Sequence[Any] = hour.minutes if hour else ()
    succeeded, failed = sum(each.succeeded for each in minutes), sum(each.failed for each in minutes)
    told = {"succeeded": succeeded, "failed": failed, "most": max((each.ended for each in minutes), default=0)}
    return _("%(succeeded)s succeeded, %(failed)s failed; at most %(most)s ended in one minute") % told


PAGES = [Page("", "dashboard_changelist", overview)]
