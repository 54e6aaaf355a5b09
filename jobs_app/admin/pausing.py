"""Pause and resume: the same two pages for everything, a queue, a job type and a subject."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs_app.admin.acts import ActForm, ReasonForm, RequiredReasonForm, act, write_log_entry
from jobs_app.admin.forms import moment_input
from jobs_app.admin.pages import Page
from jobs_app.admin.visits import Visit
from jobs_app.insights import pauses
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.pauses import PARKING
from jobs_app.models import Scope

MORNING = time(9)  # by the clock of who asks
NO_END, TOMORROW, GIVEN = "", "tomorrow", "given"
LENGTHS = {"15m": timedelta(minutes=15), "1h": timedelta(hours=1)}

TITLES: dict[str, tuple[Promise, Promise]] = {
    Scope.ALL: (gettext_lazy("Pause everything"), gettext_lazy("Resume everything")),
    Scope.QUEUE: (gettext_lazy("Pause queue %(name)s"), gettext_lazy("Resume queue %(name)s")),
    Scope.JOB_TYPE: (gettext_lazy("Pause job type %(name)s"), gettext_lazy("Resume job type %(name)s")),
    Scope.SUBJECT: (gettext_lazy("Pause subject %(name)s"), gettext_lazy("Resume subject %(name)s")),
}
THINGS: dict[str, Promise] = {
    Scope.ALL: gettext_lazy("Everything"),
    Scope.QUEUE: gettext_lazy("Queue %(name)s"),
    Scope.JOB_TYPE: gettext_lazy("Job type %(name)s"),
    Scope.SUBJECT: gettext_lazy("Subject %(name)s"),
}
PAUSE_HELP = gettext_lazy("Nothing of it starts, within two seconds, until it is resumed. What runs goes on.")
RESUME_HELP = gettext_lazy("What waits may start again, as far as no other pause holds it.")


class PauseForm(ActForm):
    """How long, and why."""

    until = forms.ChoiceField(
        label=gettext_lazy("Until"),
        required=False,
        choices=[
            (NO_END, gettext_lazy("somebody resumes it")),
            ("15m", gettext_lazy("15 minutes from now")),
            ("1h", gettext_lazy("1 hour from now")),
            (TOMORROW, gettext_lazy("tomorrow at 9:00")),
            (GIVEN, gettext_lazy("the time below")),
        ],
    )
    until_at = forms.DateTimeField(
        label=gettext_lazy("At this time"),
        required=False,
        widget=moment_input(),
        help_text=gettext_lazy("In your time zone."),
    )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        at, until = given.get("until_at"), given.get("until")
        if until == GIVEN and at is None and "until_at" not in self.errors:
            self.add_error("until_at", _("Say until when."))
        elif at is not None and until not in (GIVEN, NO_END):
            self.add_error("until_at", _("There are two ends now. Leave this empty, or choose “the time below”."))
        elif at is not None and at <= timezone.now():
            self.add_error("until_at", _("This time has passed already."))
        return given

    def end(self, now: datetime) -> datetime | None:
        """When the pause ends by itself."""
        until = self.cleaned_data["until"]
        if until == TOMORROW:
            today = timezone.localtime(now).date()
            return timezone.make_aware(datetime.combine(today + timedelta(days=1), MORNING))
        given: datetime | None = self.cleaned_data["until_at"]
        return now + LENGTHS[until] if until in LENGTHS else given


class PauseAllForm(PauseForm):
    reason_required = True


def pause_pages(scope: str, model: str) -> list[Page]:
    """The two pages of one scope. They lead back to the detail page of the model, or to the dashboard."""
    start, ending = ("", "_all") if scope == Scope.ALL else ("<path:name>/", "")
    stem = "-all/" if scope == Scope.ALL else "/"
    return [
        Page(
            f"{start}pause{stem}",
            f"{model}_pause{ending}",
            partial(_pause, scope=scope, back=_back(scope, model)),
            act=f"pause_{scope}",
            label=gettext_lazy("Pause everything") if scope == Scope.ALL else gettext_lazy("Pause"),
            help=PAUSE_HELP,
        ),
        Page(
            f"{start}resume{stem}",
            f"{model}_resume{ending}",
            partial(_resume, scope=scope, back=_back(scope, model)),
            act=f"pause_{scope}",
            label=gettext_lazy("Resume everything") if scope == Scope.ALL else gettext_lazy("Resume"),
            help=RESUME_HELP,
        ),
    ]


def _back(scope: str, model: str) -> str:
    return f"{model}_changelist" if scope == Scope.ALL else f"{model}_detail"


def _pause(visit: Visit, *, scope: str, back: str, name: str = "") -> HttpResponseBase:
    title = str(TITLES[scope][0]) % {"name": name}

    def perform(form: PauseForm) -> HttpResponseBase:
        until = form.end(database_now(visit.connection))
        acted = control.pause(scope, name, visit.user, form.reason_given, until=until)
        return _answer(visit, acted, _paused_words(scope, name, until, acted), title, scope, name, back)

    return act(
        visit,
        title=title,
        form=PauseAllForm if scope == Scope.ALL else PauseForm,
        perform=perform,
        back=_address(visit, back, name),
        done=_("paused"),
        facts=_facts(visit, scope, name),
    )


def _resume(visit: Visit, *, scope: str, back: str, name: str = "") -> HttpResponseBase:
    title = str(TITLES[scope][1]) % {"name": name}

    def perform(form: ActForm) -> HttpResponseBase:
        acted = control.resume(scope, name, visit.user, form.reason_given)
        return _answer(visit, acted, _resumed_words(scope, name, acted), title, scope, name, back)

    return act(
        visit,
        title=title,
        form=RequiredReasonForm if scope == Scope.ALL else ReasonForm,
        perform=perform,
        back=_address(visit, back, name),
        done=_("resumed"),
        facts=_facts(visit, scope, name),
    )


def _answer(
    visit: Visit, acted: Acted, words: list[str], title: str, scope: str, name: str, back: str
) -> HttpResponseBase:
    messages.add_message(visit.request, messages.SUCCESS if acted else messages.WARNING, " ".join(words))
    write_log_entry(visit, acted, title, name or scope)
    return HttpResponseRedirect(visit.back(_address(visit, back, name)))


def _address(visit: Visit, back: str, name: str) -> str:
    return visit.url(back, *([name] if name else []))


def _paused_words(scope: str, name: str, until: datetime | None, acted: Acted) -> list[str]:
    if until is None:
        words = [_("%(what)s is paused.") % {"what": _thing(scope, name)}]
    else:
        told = {"what": _thing(scope, name), "until": _moment(until)}
        words = [_("%(what)s is paused until %(until)s.") % told]
    if scope in PARKING:
        held = ngettext("%(count)s waiting job is held.", "%(count)s waiting jobs are held.", acted.jobs)
        words.append(held % {"count": acted.jobs})
        if acted.more:
            words.append(_("Workers go on to hold the others."))
    return [*words, acted.note] if acted.note else words


def _resumed_words(scope: str, name: str, acted: Acted) -> list[str]:
    if not acted:
        return [_("%(what)s is not paused.") % {"what": _thing(scope, name)}]
    words = [_("%(what)s is resumed.") % {"what": _thing(scope, name)}]
    if scope in PARKING:
        told = ngettext("%(count)s held job may start.", "%(count)s held jobs may start.", acted.jobs)
        words.append(told % {"count": acted.jobs})
        if acted.more:
            words.append(_("Workers go on to open the others."))
    return words


def _facts(visit: Visit, scope: str, name: str) -> list[tuple[str, Any]]:
    """The pause in force, which a second one replaces and a resume ends."""
    pause = pauses.of(visit.connection, scope, name, database_now(visit.connection))
    if pause is None:
        return []
    told = [(_("Paused by"), pause.actor), (_("Since"), pause.created_at), (_("Until"), pause.until or _("no end"))]
    return [*told, (_("Reason"), pause.reason)] if pause.reason else told


def _thing(scope: str, name: str) -> str:
    return str(THINGS[scope]) % {"name": name}


def _moment(moment: datetime) -> str:
    local = timezone.localtime(moment)
    return f"{formats.date_format(local, 'SHORT_DATE_FORMAT')} {local:%H:%M} {local.tzname()}"
