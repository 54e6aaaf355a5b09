"""Maintenance windows: which there are, which are open, and the pages on which operators make and change theirs."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import act
from jobs_app.admin.pages import Page
from jobs_app.admin.visits import Visit
from jobs_app.admin.window_form import DAYS, WindowForm, initial_of
from jobs_app.insights.window_list import WindowLine, all_windows, of_row, openings
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.database import database_now
from jobs_app.models import MaintenanceWindow
from jobs_app.wall_clock import clock, zone_names
from jobs_app.windows import Window

BACK = "maintenancewindow_changelist"
SHOWN = 5  # openings that a preview tells


class Opening(NamedTuple):
    start: datetime
    end: datetime
    local: datetime  # the start, by the clocks of the window's zone


def _listing(visit: Visit) -> HttpResponseBase:
    now = database_now(visit.connection)
    found = visit.read(lambda: all_windows(visit.connection, now)) or []
    lines = [(line, *_told(line.window), _state(line)) for line in found]
    sees_events = visit.may("view_controlevent")
    return visit.render("windows.html", _("Maintenance windows"), lines=lines, sees_events=sees_events, live=30)


def _add(visit: Visit) -> HttpResponseBase:
    def perform(form: WindowForm) -> Acted:
        return control.add_window(form.cleaned_data["name"], visit.user, form.reason_given, **form.options)

    return act(
        visit,
        title=_("Add a maintenance window"),
        form=WindowForm,
        form_arguments={"is_new": True},
        perform=perform,
        preview=lambda form: _preview(visit, form.window(form.cleaned_data["name"])),
        back=visit.url(BACK),
        done=_("window added"),
        **_frame(visit),
    )


def _edit(visit: Visit, pk: int) -> HttpResponseBase:
    row = _find(visit, pk)
    return act(
        visit,
        title=_("Change maintenance window %(name)s") % {"name": row.name},
        form=WindowForm,
        form_arguments={"is_new": False},
        initial=initial_of(row),
        perform=lambda form: control.change_window(row.name, visit.user, form.reason_given, **form.options),
        preview=lambda form: _preview(visit, form.window(row.name)),
        back=visit.url(BACK),
        done=_("window changed"),
        target=row.name,
        **_frame(visit),
    )


def _switch(visit: Visit, pk: int, *, on: bool) -> HttpResponseBase:
    row = _find(visit, pk)
    title = _("Enable maintenance window %(name)s") if on else _("Disable maintenance window %(name)s")
    return act(
        visit,
        title=title % {"name": row.name},
        perform=lambda form: control.change_window(row.name, visit.user, form.reason_given, enabled=on),
        back=visit.url(BACK),
        done=_("window enabled") if on else _("window disabled"),
        target=row.name,
        **_frame(visit, row),
    )


def _remove(visit: Visit, pk: int) -> HttpResponseBase:
    row = _find(visit, pk)
    return act(
        visit,
        title=_("Remove maintenance window %(name)s") % {"name": row.name},
        perform=lambda form: control.remove_window(row.name, visit.user, form.reason_given),
        back=visit.url(BACK),
        done=_("window removed"),
        target=row.name,
        **_frame(visit, row),
    )


def _frame(visit: Visit, row: MaintenanceWindow | None = None) -> dict[str, Any]:
    line = None if row is None else of_row(row, database_now(visit.connection))
    told = _preview(visit, line.window) if line is not None and line.window is not None else {}
    return {
        "template": "window.html",
        "zones": sorted(zone_names()),
        "zone": timezone.get_current_timezone_name(),
        "crumbs": [(visit.url(BACK), _("Maintenance windows"))],
        **told,
    }


def _preview(visit: Visit, window: Window) -> dict[str, Any]:
    now, zone = database_now(visit.connection), clock(window.timezone).zone
    found = openings(window, now, SHOWN)
    return {
        "window": window,
        "window_when": _when(window),
        "covers": _covers(window),
        "openings": [Opening(span.start, span.end, span.start.astimezone(zone)) for span in found],
        "is_open": found[0].contains(now),
    }


def _told(window: Window | None) -> tuple[str, list[tuple[str, str]]]:
    return ("", []) if window is None else (_when(window), _covers(window))


def _covers(window: Window) -> list[tuple[str, str]]:
    """The page of each queue and job type that it names, and its name; none: all work."""
    queues = [("queuestate_detail", name) for name in sorted(window.queues)]
    return queues + [("jobdefinition_detail", name) for name in sorted(window.job_types)]


def _when(window: Window) -> str:
    days = ", ".join(str(name) for number, name in DAYS if number in window.days) or _("every day")
    told = {"start": f"{window.start:%H:%M}", "minutes": window.minutes, "zone": window.timezone, "days": days}
    return _("%(start)s for %(minutes)s min, %(zone)s, %(days)s") % told


def _state(line: WindowLine) -> tuple[str, str]:
    if line.window is None:
        return "bad", _("cannot be read")
    if not line.is_enabled:
        return "idle", _("disabled")
    return ("warn", _("open")) if line.open else ("ok", _("closed"))


def _find(visit: Visit, pk: int) -> MaintenanceWindow:
    row = MaintenanceWindow.objects.using(visit.connection.alias).filter(pk=pk).first()
    if row is None:
        raise Http404(_("There is no such maintenance window."))
    return row


PAGES = [
    Page("", BACK, _listing),
    Page(
        "add/",
        "maintenancewindow_add",
        _add,
        act="add_maintenancewindow",
        label=gettext_lazy("Add a window"),
        help=gettext_lazy("While it is open nothing that it covers starts. What runs goes on."),
    ),
    Page(
        "<int:pk>/edit/",
        "maintenancewindow_edit",
        _edit,
        act="change_maintenancewindow",
        label=gettext_lazy("Change"),
        help=gettext_lazy("What it has deferred already stays deferred."),
    ),
    Page(
        "<int:pk>/enable/",
        "maintenancewindow_enable",
        partial(_switch, on=True),
        act="change_maintenancewindow",
        label=gettext_lazy("Enable"),
        help=gettext_lazy("It holds work again from its next opening on, or at once if it is open."),
    ),
    Page(
        "<int:pk>/disable/",
        "maintenancewindow_disable",
        partial(_switch, on=False),
        act="change_maintenancewindow",
        label=gettext_lazy("Disable"),
        help=gettext_lazy("It rests until it is enabled again. What it has deferred stays deferred."),
    ),
    Page(
        "<int:pk>/remove/",
        "maintenancewindow_remove",
        _remove,
        act="delete_maintenancewindow",
        label=gettext_lazy("Remove"),
        help=gettext_lazy("It holds nothing any more. What it has deferred stays deferred."),
    ),
]
