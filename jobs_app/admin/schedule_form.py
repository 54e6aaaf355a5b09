"""Schedules are added and changed: one form, with the rule in words and its next slots while somebody types."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import act, tell, write_log_entry
from jobs_app.admin.pages import Page
from jobs_app.admin.schedule_fields import AddForm, EditForm, ScheduleForm
from jobs_app.admin.schedule_rows import may_plan, require_may_plan, schedule_or_404
from jobs_app.admin.visits import Visit
from jobs_app.cron import words
from jobs_app.errors import OptionInvalid
from jobs_app.insights import rates, schedules
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.database import database_now
from jobs_app.models import ScheduleState
from jobs_app.registry import SYSTEM_NAMES, registry
from jobs_app.timetable import Timetable
from jobs_app.wall_clock import zone_names

SLOTS_SHOWN = 10


def add(visit: Visit) -> HttpResponseBase:
    names = sorted(each.name for each in registry if not each.name.startswith(SYSTEM_NAMES))
    names = [name for name in names if may_plan(visit, name)]

    def perform(form: AddForm) -> HttpResponseBase:
        given = form.cleaned_data
        require_may_plan(visit, given["job_type"])
        named = {"subject": given["subject"], "name": given["name"]}
        acted = control.add_schedule(given["job_type"], visit.user, form.reason_given, **named, **form.given_options())
        tell(visit, acted, _("added"))
        write_log_entry(visit, acted, title)
        return HttpResponseRedirect(visit.url("schedulestate_detail", acted.moved[0]))

    title = _("Add a schedule")
    wanted = {name: visit.request.GET.get(name, "") for name in ("job_type", "subject")}
    return act(
        visit,
        title=title,
        form=AddForm,
        form_arguments={"job_types": names, "shows_payload": True},
        initial=wanted,
        preview=lambda form: _preview(visit, form, None),
        perform=perform,
        back=visit.url("schedulestate_changelist"),
        done=_("added"),
        template="schedule_form.html",
        **_frame(visit),
    )


def edit(visit: Visit, pk: int) -> HttpResponseBase:
    row = schedule_or_404(visit, pk)
    require_may_plan(visit, row.job_type)

    def perform(form: EditForm) -> Acted:
        changed = form.changed_options()
        if not changed:
            raise OptionInvalid(_("Nothing was changed: all is as it was before."))
        return control.change_schedule(row.pk, visit.user, form.reason_given, **changed)

    return act(
        visit,
        title=_("Change schedule %(name)s") % {"name": row},
        form=EditForm,
        form_arguments={"row": row, "shows_payload": visit.may("view_payload")},
        initial=EditForm.initial_of(row),
        preview=lambda form: _preview(visit, form, row),
        perform=perform,
        back=visit.url("schedulestate_detail", row.pk),
        done=_("changed"),
        target=str(row),
        template="schedule_form.html",
        row=row,
        **_frame(visit),
        **_told(visit, row.timetable, row.next_run_at),
    )


def _frame(visit: Visit) -> dict[str, Any]:
    return {
        "zones": sorted(zone_names()),
        "zone": timezone.get_current_timezone_name(),
        "crumbs": [(visit.url("schedulestate_changelist"), _("Schedules"))],
    }


def _preview(visit: Visit, form: ScheduleForm, row: ScheduleState | None) -> dict[str, Any]:
    """Where it would go on: another interval counts from the slot that is next anyway, all else from now."""
    timetable, now = form.timetable, database_now(visit.connection)
    keeps_place = row is not None and (timetable == row.timetable or (timetable.every and row.interval_seconds))
    first = row.next_run_at if row is not None and keeps_place else timetable.first(now)
    return _told(visit, timetable, first)


def _told(visit: Visit, timetable: Timetable, first: datetime | None) -> dict[str, Any]:
    now = database_now(visit.connection)
    every = timetable.every
    per_hour = 3600 / every if every else rates.cron_per_hour(timetable.cron, timetable.timezone, now)
    return {
        "rule": words.told(timetable),
        "rule_zone": timetable.timezone if timetable.cron else "",
        "per_hour": None if timetable.at else per_hour,
        "slots": schedules.slots_from(timetable, first, count=SLOTS_SHOWN),
    }


PAGES = [
    Page(
        "add/",
        "schedulestate_add",
        add,
        act="add_schedulestate",
        label=gettext_lazy("Add a schedule"),
        help=gettext_lazy("Let a job type come back by itself, from the next look of a scheduler on."),
    ),
    Page(
        "<int:pk>/edit/",
        "schedulestate_edit",
        edit,
        act="change_schedulestate",
        label=gettext_lazy("Change"),
        help=gettext_lazy("What code says otherwise is overridden until you restore it."),
    ),
]
