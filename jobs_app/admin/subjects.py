"""Subjects: what is done for whom, over all job types, and whether that fits into an hour."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs_app.admin.pages import Page
from jobs_app.admin.pausing import pause_pages
from jobs_app.admin.schedules import line_context
from jobs_app.admin.visits import Visit
from jobs_app.insights import capacity, one_subject, pauses, schedule_list, subjects
from jobs_app.insights.subjects import SubjectPage
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import Scope
from jobs_app.values import UNSTORABLE

LIVE_SECONDS = 15
NOBODY = SubjectPage(lines=[], last="", is_live_capped=False, is_failed_capped=False)


def listing(visit: Visit) -> HttpResponseBase:
    prefix, after = (_asked(visit, name) for name in ("q", "after"))
    found = visit.read(lambda: subjects.page(visit.connection, prefix=prefix, after=after)) or NOBODY
    query = {"q": prefix} if prefix else {}
    return visit.render(
        "subjects.html",
        _("Subjects"),
        live=LIVE_SECONDS,
        page=found,
        prefix=prefix,
        first_url=visit.url("subject_changelist", query=query) if after else "",
        next_url=visit.url("subject_changelist", query={**query, "after": found.last}) if found.last else "",
    )


def detail(visit: Visit, name: str) -> HttpResponseBase:
    """Also of a subject that nobody knows yet: what is paused ahead of its first job is one."""
    now = database_now(visit.connection)
    wanted = ScheduleFilter(subject=name)
    planned = visit.read(lambda: schedule_list.page(visit.connection, wanted))
    return visit.render(
        "subject.html",
        _("Subject %(name)s") % {"name": name},
        live=LIVE_SECONDS,
        crumbs=[(visit.url("subject_changelist"), _("Subjects"))],
        name=name,
        pause=pauses.of(visit.connection, Scope.SUBJECT, name, now),
        work=visit.read(lambda: one_subject.live(visit.connection, name, now)),
        lines=[line_context(visit, line) for line in planned.lines] if planned else [],
        has_more_schedules=bool(planned and planned.last),
        runs=visit.read(lambda: one_subject.last_runs(visit.connection, name)),
        load=visit.read(lambda: capacity.of_subject(visit.connection, name)),
        zone=timezone.get_current_timezone_name(),
    )


def _asked(visit: Visit, parameter: str) -> str:
    """What no subject can hold finds none."""
    return UNSTORABLE.sub("", visit.request.GET.get(parameter, ""))


PAGES = [
    Page("", "subject_changelist", listing),
    *pause_pages(Scope.SUBJECT, "subject"),
    Page("<path:name>/", "subject_detail", detail),  # last, since a name may hold slashes
]
