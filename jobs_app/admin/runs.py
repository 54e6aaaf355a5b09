"""The list of runs, live and finished: what there is, how much of it, and what can be done to all of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin import bulk
from jobs_app.admin.look_back import WINDOW_TEXTS
from jobs_app.admin.pages import Page
from jobs_app.admin.run_asked import read_filter
from jobs_app.admin.run_links import link
from jobs_app.admin.streams import FORMATS
from jobs_app.admin.visits import Visit
from jobs_app.conf import get_settings
from jobs_app.insights import run_list
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_filter_values import STATES, WINDOWS
from jobs_app.insights.run_keys import MOST_ROWS
from jobs_app.insights.run_list import RunPage
from jobs_app.insights.run_order import Key
from jobs_app.insights.run_statistics import MOST_LOOKED_AT, Statistics, statistics
from jobs_app.insights.runs import RETRYING, SCHEDULED, label_of, status_of
from jobs_app.models import Run, State
from jobs_app.registry import registry
from jobs_app.text import clean

LIVE_SECONDS = 15
COUNT_SECONDS = 2.0
ERROR_LENGTH = 120
VIEWS = (
    (gettext_lazy("All of the last day"), RunFilter()),
    (gettext_lazy("Waiting, by when it is due"), RunFilter(state="waiting", order="due")),
    (gettext_lazy("Waiting for a retry"), RunFilter(state="retrying", order="due")),
    (gettext_lazy("Running"), RunFilter(state="running")),
    (gettext_lazy("Failed"), RunFilter(state="failed")),
    (gettext_lazy("Failed, not run again since"), RunFilter(state="failed", open=True)),
    (gettext_lazy("The app's own chores"), RunFilter(queue="jobs.system")),
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One run as the list shows it."""

    run: Run
    url: str
    status: str
    label: str
    due_at: datetime | None  # where it waits for a later moment
    wait: float | None  # seconds until it first started
    duration: float | None  # of the last attempt, or until now
    error: str
    schedule_url: str


def listing(visit: Visit) -> HttpResponseBase:
    chosen, problems = read_filter(visit)
    place = _place(visit, problems)
    older, newer = place.get("older"), place.get("newer")
    found = None
    if not problems:
        found = visit.read(lambda: run_list.page(visit.connection, chosen, older=older, newer=newer))
    query = chosen.as_query()
    return visit.render(
        "runs.html",
        _("Runs"),
        live=None if place or problems else LIVE_SECONDS,
        chosen=chosen,
        query=query,
        problems=problems,
        page=found,
        lines=[_line(visit, run) for run in (found.runs if found else [])],
        is_nothing_yet=bool(found) and not problems and _is_nothing_yet(visit, found),
        counted=None if problems else _counted(visit, chosen),
        **({} if problems else _shares(visit, chosen)),
        acts=[] if problems else bulk.offered(visit, chosen),
        most_searched=MOST_ROWS,
        pager=_pager(visit, query, found, is_first=not place),
        exports=[(kind, visit.url("run_export", query=query | {"format": kind})) for kind in FORMATS],
        most_exported=run_list.MOST_EXPORTED,
        **_choices(visit, chosen),
    )


def _place(visit: Visit, problems: dict[str, str]) -> dict[str, Key]:
    """Where the page begins or ends."""
    for name in ("older", "newer"):
        if given := visit.request.GET.get(name):
            try:
                return {name: Key.read(given)}
            except ValueError as problem:
                problems[name] = str(problem)
    return {}


def _line(visit: Visit, run: Any) -> Line:
    status = status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=run.read_at)
    until = run.finished_at or (run.read_at if run.state == State.RUNNING else None)
    return Line(
        run=run,
        url=visit.url("run_detail", run.pk),
        status=status,
        label=label_of(run.job_type, status),
        due_at=run.run_at if status in (SCHEDULED, RETRYING) else None,
        wait=_seconds(run.queued_at, run.first_started_at),
        duration=_seconds(run.started_at, until),
        error=clean(run.error, ERROR_LENGTH),
        schedule_url=link(visit, "schedulestate_detail", run.schedule) if run.schedule else "",
    )


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return max(0.0, (end - start).total_seconds()) if start and end else None


def _is_nothing_yet(visit: Visit, found: RunPage | None) -> bool:
    """Is there no run at all, or do the filters hide them?"""
    if found is None or found.runs or found.searched_to:
        return False
    any_time = RunFilter(window="all")
    first = visit.read(lambda: run_list.page(visit.connection, any_time, size=1), seconds=COUNT_SECONDS)
    return first is not None and not first.runs


def _counted(visit: Visit, chosen: RunFilter) -> run_list.Counted | None:
    return visit.read(lambda: run_list.count(visit.connection, chosen), seconds=COUNT_SECONDS)


def _shares(visit: Visit, chosen: RunFilter) -> dict[str, Any]:
    """Each with its address, and whether it is what is shown."""
    found: Statistics | None = visit.read(lambda: statistics(visit.connection, chosen), seconds=COUNT_SECONDS)
    if found is None or not found.total:
        return {}
    return {
        "shares": [
            (share, visit.url("run_changelist", query=share.runs.as_query()), share.state == chosen.state)
            for share in found.shares
        ],
        "are_shares_capped": found.is_capped,
        "most_shared": MOST_LOOKED_AT,
    }


def _pager(visit: Visit, query: dict[str, str], found: RunPage | None, *, is_first: bool) -> dict[str, str]:
    if found is None:
        return {}
    places = {"newer": found.newer, "older": found.older}
    pager = {name: visit.url("run_changelist", query=query | {name: str(key)}) for name, key in places.items() if key}
    return pager if is_first else pager | {"newest": visit.url("run_changelist", query=query)}


def _choices(visit: Visit, chosen: RunFilter) -> dict[str, Any]:
    """From code and settings, never from history: that would read it."""
    queues = {job_type.queue for job_type in registry} | set(get_settings().queues)
    return {
        "states": [(name, str(text)) for name, text in STATES.items()],
        "windows": [(name, str(WINDOW_TEXTS[name])) for name in WINDOWS],
        "job_types": sorted({*registry.names(), chosen.job_type} - {""}),
        "queues": sorted({*queues, chosen.queue} - {""}),
        "chips": [(chip, visit.url("run_changelist", query=chip.query)) for chip in chosen.chips],
        "views": [(str(text), visit.url("run_changelist", query=view.as_query())) for text, view in VIEWS],
    }


PAGES = [Page("", "run_changelist", listing)]
