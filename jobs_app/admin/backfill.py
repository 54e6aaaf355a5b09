"""Slots of the past that have no run, enqueued by hand: first counted, then made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django import forms
from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs_app.admin.acts import act
from jobs_app.admin.durations import DurationField
from jobs_app.admin.forms import moment_input
from jobs_app.admin.pages import Page
from jobs_app.admin.schedule_acts import filter_or_none, matched_context
from jobs_app.admin.schedule_filters import MatchingForm, query_of
from jobs_app.admin.schedule_rows import require_may_plan, schedule_or_404
from jobs_app.admin.visits import Visit
from jobs_app.cron import words
from jobs_app.errors import JobsError
from jobs_app.insights import schedule_list
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.backfill import MOST_AT_ONCE, MOST_SLOTS

LAST_HOURS = timedelta(hours=24)
HELP = gettext_lazy("Enqueue the slots of the past that no run has. What is there already is never made twice.")
LABEL = gettext_lazy("Backfill")


class BackfillForm(MatchingForm):
    """Of one schedule, or of the filter that goes with it."""

    start = forms.DateTimeField(
        label=gettext_lazy("From"),
        widget=moment_input(),
        help_text=gettext_lazy("In your time zone."),
    )
    end = forms.DateTimeField(
        label=gettext_lazy("To"),
        widget=moment_input(),
        help_text=gettext_lazy("The last moment of it, not in the future."),
    )
    most = forms.IntegerField(
        label=gettext_lazy("Jobs at most"), min_value=1, max_value=MOST_AT_ONCE, initial=MOST_SLOTS
    )
    spread = DurationField(
        label=gettext_lazy("Start them over"),
        required=False,
        help_text=gettext_lazy("A time such as 30m or 2h, so that they do not all start at once; empty: at once."),
    )

    def field_of(self, error: JobsError) -> str | None:
        text = str(error)
        return "start" if "start=" in text else "end" if "end=" in text else None

    @property
    def options(self) -> dict[str, Any]:
        given = self.cleaned_data
        return {"start": given["start"], "end": given["end"], "most": given["most"], "spread": given["spread"] or 0}


def one(visit: Visit, pk: int) -> HttpResponseBase:
    row = schedule_or_404(visit, pk)
    require_may_plan(visit, row.job_type)
    title = _("Backfill schedule %(name)s") % {"name": row}
    facts = [(_("When"), words.told(row.timetable))]
    return _page(
        visit, lambda: row.pk, title=title, back=visit.url("schedulestate_detail", pk), target=str(row), facts=facts
    )


def matching(visit: Visit) -> HttpResponseBase:
    wanted = filter_or_none(visit)
    if wanted is None:
        return HttpResponseRedirect(visit.url("schedulestate_changelist"))
    found = visit.read(lambda: schedule_list.matched(visit.connection, wanted))
    return _page(
        visit,
        lambda: control.schedules_of(**wanted.given),
        title=_("Backfill schedules"),
        back=visit.url("schedulestate_changelist", query=query_of(wanted)),
        initial=query_of(wanted),
        **matched_context(visit, wanted, found),
    )


def _page(
    visit: Visit,
    schedules: Callable[[], Any],
    *,
    title: str,
    back: str,
    initial: dict[str, Any] | None = None,
    **context: Any,
) -> HttpResponseBase:
    """`schedules` gives those that are meant, or raises, where nobody can tell which: that is told like any error."""

    def look(form: BackfillForm) -> dict[str, Any]:
        found = control.backfill(schedules(), visit.user, **form.options, dry_run=True)
        return {"found": found, "skipped": Counter(found.skipped.values()).most_common()}

    def make(form: BackfillForm) -> control.Backfilled:
        found = control.backfill(schedules(), visit.user, form.reason_given, **form.options)
        found.note = ngettext("%(count)s job was made.", "%(count)s jobs were made.", found.made) % {
            "count": found.made
        }
        return found

    now = timezone.localtime().replace(second=0, microsecond=0)
    return act(
        visit,
        title=title,
        form=BackfillForm,
        initial={"start": now - LAST_HOURS, "end": now, **(initial or {})},
        preview=look,
        perform=make,
        back=back,
        done=_("backfilled"),
        template="backfill.html",
        zone=timezone.get_current_timezone_name(),
        **context,
    )


PAGES = [
    Page("<int:pk>/backfill/", "schedulestate_backfill", one, act="backfill_schedule", label=LABEL, help=HELP),
    Page(
        "backfill/",
        "schedulestate_bulk_backfill",
        matching,
        act="backfill_schedule",
        label=gettext_lazy("Backfill these"),
        help=HELP,
    ),
]
