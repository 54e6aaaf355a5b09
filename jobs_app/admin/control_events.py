"""Who did what, when, to what, why, and how many: to be read, filtered and taken along, and never to be changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.look_back import WINDOW_TEXTS
from jobs_app.admin.pages import Page
from jobs_app.admin.run_links import link
from jobs_app.admin.streams import FORMATS, JSON_LINES, stream
from jobs_app.admin.visits import Visit
from jobs_app.insights import control_events
from jobs_app.insights.control_events import EventFilter, Place
from jobs_app.insights.run_filter_values import WINDOWS
from jobs_app.models import ControlEvent
from jobs_app.redaction import redact

COLUMNS = ("id", "at", "actor", "action", "target_kind", "target", "reason", "moved", "skipped", "detail")
PAGE_OF = {
    "run": "run_detail",
    "queue": "queuestate_detail",
    "job_type": "jobdefinition_detail",
    "subject": "subject_detail",
    "worker": "workerstate_detail",
}
LIST_OF = {
    "all": "dashboard_changelist",
    "schedule": "schedulestate_changelist",
    "schedules": "schedulestate_changelist",
    "workers": "workerstate_changelist",
    "window": "maintenancewindow_changelist",
    "setting": "runtimesetting_changelist",
}
KIND_TEXTS = {
    "all": gettext_lazy("everything"),
    "queue": gettext_lazy("queue"),
    "job_type": gettext_lazy("job type"),
    "subject": gettext_lazy("subject"),
    "run": gettext_lazy("run"),
    "runs": gettext_lazy("runs"),
    "schedule": gettext_lazy("schedule"),
    "schedules": gettext_lazy("schedules"),
    "worker": gettext_lazy("worker"),
    "workers": gettext_lazy("workers"),
    "window": gettext_lazy("maintenance window"),
    "setting": gettext_lazy("setting"),
    "token": gettext_lazy("API token"),
}
SEES = ("view_dashboard", "view_controlevent")


def listing(visit: Visit) -> HttpResponseBase:
    wanted, problems = EventFilter.read(visit.request.GET)
    older, newer = (Place.read(visit.request.GET.get(name, "")) for name in ("older", "newer"))
    found = visit.read(lambda: control_events.page(visit.connection, wanted, older=older, newer=newer))
    remembered = visit.read(lambda: control_events.remembered(visit.connection))
    return visit.render(
        "control_events.html",
        _("Control events"),
        found=found,
        rows=[_row(visit, event) for event in (found.events if found else [])],
        wanted=wanted,
        query=wanted.as_query(),
        problems=problems,
        remembered=remembered,
        windows=[(name, str(WINDOW_TEXTS[name])) for name in WINDOWS],
        exports=[
            (kind, visit.url("controlevent_export", query=wanted.as_query() | {"format": kind})) for kind in FORMATS
        ],
        most_exported=control_events.MOST_EXPORTED,
        most_searched=control_events.MOST_SEARCHED,
        newer_url=_address(visit, wanted, "newer", found.newer if found else None),
        older_url=_address(visit, wanted, "older", found.older if found else None),
    )


def export(visit: Visit) -> HttpResponseBase:
    """What the list has, as a file. A filter that cannot be read exports nothing rather than everything."""
    wanted, problems = EventFilter.read(visit.request.GET)
    kind = visit.request.GET.get("format", JSON_LINES)
    if problems or kind not in FORMATS:
        return visit.render(
            "control_events_problem.html", _("Control events"), problems=problems, formats=list(FORMATS), status=400
        )
    return stream(_rows(visit, wanted), columns=COLUMNS, kind=kind, name="control-events")


def _rows(visit: Visit, wanted: EventFilter) -> Iterator[dict[str, Any]]:
    for event in control_events.each(visit.connection, wanted):
        row = {name: getattr(event, name) for name in COLUMNS}
        yield row | {"detail": redact(event.detail)}


def _address(visit: Visit, wanted: EventFilter, name: str, place: Place | None) -> str:
    return visit.url("controlevent_changelist", query=wanted.as_query() | {name: str(place)}) if place else ""


def _row(visit: Visit, event: ControlEvent) -> tuple[ControlEvent, str, str, Any]:
    kind = str(KIND_TEXTS.get(event.target_kind, event.target_kind))
    return event, kind, _link(visit, event), redact(event.detail)


def _link(visit: Visit, event: ControlEvent) -> str:
    if event.target_kind in PAGE_OF and event.target:
        return link(visit, PAGE_OF[event.target_kind], event.target)
    return link(visit, LIST_OF[event.target_kind]) if event.target_kind in LIST_OF else ""


PAGES = [
    Page("", "controlevent_changelist", listing, permission=SEES),
    Page("export/", "controlevent_export", export, permission=SEES),
]
