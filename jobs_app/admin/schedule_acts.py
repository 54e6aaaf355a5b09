"""What is done to one schedule, and to all that a filter finds: pause, resume, trigger now, restore, delete."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs_app.admin.acts import ActForm, ReasonForm, act, tell, write_log_entry
from jobs_app.admin.pages import Page
from jobs_app.admin.schedule_filters import STATE_TEXTS, MatchingForm, query_of, read_filter, told
from jobs_app.admin.schedule_rows import require_may_plan, schedule_or_404
from jobs_app.admin.visits import Visit
from jobs_app.cron import words
from jobs_app.errors import OptionInvalid
from jobs_app.insights import schedule_list, schedules
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import ScheduleState

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Perform = Callable[[Any, Any, ActForm], Acted]  # schedules, who, and what they filled in

MAKE_UP = gettext_lazy("Also make up for what was missed")
MAKE_UP_HELP = gettext_lazy("Go on where it stood, and catch up as after an outage. Else it goes on from now.")


class ResumeForm(ActForm):
    backfill = forms.BooleanField(label=MAKE_UP, required=False, help_text=MAKE_UP_HELP)


class ResumeMatchingForm(MatchingForm):
    backfill = forms.BooleanField(label=MAKE_UP, required=False, help_text=MAKE_UP_HELP)


def one(
    visit: Visit,
    pk: int,
    *,
    title: StrOrPromise,
    done: StrOrPromise,
    perform: Perform,
    form: type[ActForm] = ReasonForm,
    plans: bool = False,
) -> HttpResponseBase:
    """An act upon one schedule; `plans`: who may is also the job type's own question."""
    row = schedule_or_404(visit, pk)
    if plans:
        require_may_plan(visit, row.job_type)
    return act(
        visit,
        title=str(title) % {"name": row},
        form=form,
        perform=lambda filled: perform(row.pk, visit.user, filled),
        back=visit.url("schedulestate_detail", row.pk),
        done=done,
        target=str(row),
        facts=_facts(row),
    )


def delete(visit: Visit, pk: int) -> HttpResponseBase:
    """Its page is gone afterwards, so that this leads to the list wherever it was asked for."""
    row = schedule_or_404(visit, pk)
    require_may_plan(visit, row.job_type)
    title, done = _("Delete schedule %(name)s") % {"name": row}, _("deleted")

    def perform(form: ActForm) -> Acted | HttpResponseBase:
        acted = control.delete_schedule(row.pk, visit.user, form.reason_given)
        if not acted:
            return acted
        tell(visit, acted, done)
        write_log_entry(visit, acted, title, str(row))
        return HttpResponseRedirect(visit.url("schedulestate_changelist"))

    back = visit.url("schedulestate_detail", row.pk)
    return act(visit, title=title, perform=perform, back=back, done=done, target=str(row), facts=_facts(row))


def matching(
    visit: Visit, *, title: StrOrPromise, done: StrOrPromise, perform: Perform, form: type[MatchingForm] = MatchingForm
) -> HttpResponseBase:
    """An act upon all schedules that a filter finds; the filter is posted, and must say something."""
    wanted = filter_or_none(visit)
    if wanted is None:
        return HttpResponseRedirect(visit.url("schedulestate_changelist"))
    found = visit.read(lambda: schedule_list.matched(visit.connection, wanted))
    return act(
        visit,
        title=title,
        form=form,
        initial=query_of(wanted),
        perform=lambda filled: perform(control.schedules_of(**wanted.given), visit.user, filled),
        back=visit.url("schedulestate_changelist", query=query_of(wanted)),
        done=done,
        **matched_context(visit, wanted, found),
    )


def filter_or_none(visit: Visit) -> ScheduleFilter | None:
    """What is meant; None, and a message, where nothing is or nobody can tell what."""
    given = visit.request.POST if visit.request.method == "POST" else visit.request.GET
    try:
        wanted = read_filter(given)
    except OptionInvalid as error:
        messages.error(visit.request, _("%(problem)s Nothing was changed.") % {"problem": error})
        return None
    if wanted.given:
        return wanted
    messages.error(visit.request, _("Say which schedules first: choose a job type, a subject, a state or an origin."))
    return None


def matched_context(visit: Visit, wanted: ScheduleFilter, found: schedule_list.Matched | None) -> dict[str, Any]:
    """What a confirmation shows: the filter in words, how many it finds, and the first of them."""
    facts = told(wanted)
    if found is None:
        return {"facts": facts}
    facts.append((_("Paused of these"), str(found.paused)))
    return {
        "facts": facts,
        "count": found.count,
        "is_capped": found.is_capped,
        "counted_what": ngettext("schedule", "schedules", found.count),
        "sample": [(visit.url("schedulestate_detail", row.pk), str(row)) for row in found.sample],
    }


def _facts(row: ScheduleState) -> list[tuple[str, str]]:
    return [(_("When"), words.told(row.timetable)), (_("State"), str(STATE_TEXTS[schedules.state_of(row)]))]


def _pause(wanted: Any, user: Any, form: ActForm) -> Acted:
    return control.pause_schedule(wanted, user, form.reason_given)


def _resume(wanted: Any, user: Any, form: ActForm) -> Acted:
    return control.resume_schedule(wanted, user, form.reason_given, backfill=form.cleaned_data["backfill"])


def _trigger(wanted: Any, user: Any, form: ActForm) -> Acted:
    return control.trigger_schedule(wanted, user, form.reason_given)


def _restore(wanted: Any, user: Any, form: ActForm) -> Acted:
    return control.restore_schedule(wanted, user, form.reason_given)


PAUSE_HELP = gettext_lazy("No more jobs are made until somebody resumes it. What it has made already goes on.")
RESUME_HELP = gettext_lazy("Jobs are made again from now on: an interval at once, a cron with its next slot.")
TRIGGER_HELP = gettext_lazy("It is due now, and its job appears with the next look of a scheduler. It also resumes it.")
RESTORE_HELP = gettext_lazy(
    "Give up what operators changed: from the next sync on it says what code or its source says."
)
DELETE_HELP = gettext_lazy("It makes no more jobs. What it has made stays as it is.")
PAUSE, RESUME, TRIGGER = gettext_lazy("Pause"), gettext_lazy("Resume"), gettext_lazy("Trigger now")

OF_ONE: dict[str, Callable[..., HttpResponseBase]] = {
    "pause": partial(one, title=gettext_lazy("Pause schedule %(name)s"), done=gettext_lazy("paused"), perform=_pause),
    "resume": partial(
        one,
        title=gettext_lazy("Resume schedule %(name)s"),
        done=gettext_lazy("resumed"),
        perform=_resume,
        form=ResumeForm,
    ),
    "trigger": partial(
        one,
        title=gettext_lazy("Trigger schedule %(name)s now"),
        done=gettext_lazy("due now"),
        perform=_trigger,
        plans=True,
    ),
    "restore": partial(
        one,
        title=gettext_lazy("Restore schedule %(name)s"),
        done=gettext_lazy("restored"),
        perform=_restore,
        plans=True,
    ),
    "delete": delete,
}
OF_MANY = {
    "pause": partial(matching, title=gettext_lazy("Pause schedules"), done=gettext_lazy("paused"), perform=_pause),
    "resume": partial(
        matching,
        title=gettext_lazy("Resume schedules"),
        done=gettext_lazy("resumed"),
        perform=_resume,
        form=ResumeMatchingForm,
    ),
    "trigger": partial(
        matching, title=gettext_lazy("Trigger schedules now"), done=gettext_lazy("due now"), perform=_trigger
    ),
}


def _page(name: str, act: str, label: StrOrPromise, help_text: StrOrPromise) -> Page:
    route, view = f"<int:pk>/{name}/", OF_ONE[name]
    return Page(route, f"schedulestate_{name}", view, act=act, label=label, help=help_text)


def _bulk_page(name: str, act: str, label: StrOrPromise, help_text: StrOrPromise) -> Page:
    route, view = f"{name}/", OF_MANY[name]
    return Page(route, f"schedulestate_bulk_{name}", view, act=act, label=label, help=help_text)


PAGES = [
    _page("pause", "pause_schedule", PAUSE, PAUSE_HELP),
    _page("resume", "pause_schedule", RESUME, RESUME_HELP),
    _page("trigger", "trigger_job", TRIGGER, TRIGGER_HELP),
    _page("restore", "change_schedulestate", gettext_lazy("Restore"), RESTORE_HELP),
    _page("delete", "delete_schedulestate", gettext_lazy("Delete"), DELETE_HELP),
    _bulk_page("pause", "pause_schedule", gettext_lazy("Pause these"), PAUSE_HELP),
    _bulk_page("resume", "pause_schedule", gettext_lazy("Resume these"), RESUME_HELP),
    _bulk_page("trigger", "trigger_job", gettext_lazy("Trigger these now"), TRIGGER_HELP),
]
