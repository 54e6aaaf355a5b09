"""Schedules: what comes back by itself, when next, how it went last, and what keeps it from coming."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs_app.admin import schedule_form
from jobs_app.admin.pages import Page
from jobs_app.admin.schedule_filters import (
    ORIGIN_TEXTS,
    STATE_KINDS,
    STATE_TEXTS,
    TROUBLE_TEXTS,
    query_of,
    read_filter,
    told,
)
from jobs_app.admin.schedule_rows import permitted, schedule_or_404
from jobs_app.admin.visits import Visit
from jobs_app.cron import words
from jobs_app.errors import OptionInvalid
from jobs_app.insights import one_schedule, rates, schedule_list, schedules
from jobs_app.insights.one_schedule import Override
from jobs_app.insights.schedule_list import ScheduleLine, SchedulePage
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import Origin
from jobs_app.redaction import redact
from jobs_app.registry import registry

LIVE_SECONDS = 15


def listing(visit: Visit) -> HttpResponseBase:
    wanted, problem = _asked(visit)
    after, before = (visit.request.GET.get(name, "") for name in ("after", "before"))
    found = visit.read(lambda: schedule_list.page(visit.connection, wanted, after=after, before=before))
    shown = SchedulePage(lines=[]) if found is None or problem else found
    query = query_of(wanted)
    return visit.render(
        "schedules.html",
        _("Schedules"),
        live=LIVE_SECONDS,
        problem=problem,
        lines=[line_context(visit, line) for line in shown.lines],
        wanted=wanted,
        chips=told(wanted),
        query=query,
        previous_url=_page_url(visit, query, before=shown.first),
        next_url=_page_url(visit, query, after=shown.last),
        states=STATE_TEXTS.items(),
        troubles=TROUBLE_TEXTS.items(),
        origins=Origin.choices,
        job_types=sorted(each.name for each in registry),
        zone=timezone.get_current_timezone_name(),
    )


def detail(visit: Visit, pk: int) -> HttpResponseBase:
    row = schedule_or_404(visit, pk)
    now = database_now(visit.connection)
    runs = visit.read(lambda: one_schedule.recent_runs(visit.connection, row, now))
    events = visit.read(lambda: one_schedule.events_of(visit.connection, row))
    state = schedules.state_of(row)
    return visit.render(
        "schedule.html",
        _("Schedule %(name)s") % {"name": row},
        live=LIVE_SECONDS,
        crumbs=[(visit.url("schedulestate_changelist"), _("Schedules"))],
        row=row,
        state=state,
        state_kind=STATE_KINDS[state],
        state_text=STATE_TEXTS[state],
        origin_text=ORIGIN_TEXTS[row.origin],
        why=schedules.why(row),
        when_words=words.told(row.timetable),
        per_hour=rates.per_hour(row, now),
        overdue=schedules.overdue_seconds(row, now),
        slots=schedules.coming(row),
        slot_zone=row.timezone if row.cron else "",
        zone=timezone.get_current_timezone_name(),
        runs=runs,
        overrides=_shown(visit, one_schedule.overrides_of(row)),
        events=events if visit.may("view_controlevent") else None,
        payload=redact(row.payload) if visit.may("view_payload") else None,
        **permitted(visit, row),
    )


def line_context(visit: Visit, line: ScheduleLine) -> dict[str, Any]:
    return {
        "line": line,
        "row": line.row,
        "words": words.told(line.row.timetable),
        "slots": schedules.coming(line.row),
        "state_kind": STATE_KINDS[line.state],
        "state_text": STATE_TEXTS[line.state],
        "origin_text": ORIGIN_TEXTS[line.row.origin],
        **permitted(visit, line.row),
    }


def _asked(visit: Visit) -> tuple[ScheduleFilter, str]:
    try:
        return read_filter(visit.request.GET), ""
    except OptionInvalid as error:
        return ScheduleFilter(), str(error)


def _page_url(visit: Visit, query: dict[str, str], **mark: str) -> str:
    [(name, value)] = mark.items()
    return visit.url("schedulestate_changelist", query={**query, name: value}) if value else ""


def _shown(visit: Visit, overrides: list[Override]) -> list[Override]:
    """A payload is for those who may see payloads, and without its secrets."""
    if not visit.may("view_payload"):
        return [each for each in overrides if each.column != "payload"]
    return [replace(each, value=redact(each.value), code_value=redact(each.code_value)) for each in overrides]


PAGES = [
    Page("", "schedulestate_changelist", listing),
    *schedule_form.PAGES,
    Page("<int:pk>/", "schedulestate_detail", detail),
]
