"""How anything is changed: asked for confirmation, looked at beforehand, done, told, and put down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app.admin.forms import ActForm, ReasonForm, RequiredReasonForm
from jobs_app.admin.visits import Visit
from jobs_app.errors import JobsError
from jobs_app.lifecycle.control import Acted

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

__all__ = ["ActForm", "ReasonForm", "RequiredReasonForm", "act", "tell", "write_log_entry"]

MOST_REASONS = 5  # of what was skipped, in one message
LONGEST_REPR = 200

Perform = Callable[[Any], Acted | HttpResponseBase]


def act(
    visit: Visit,
    *,
    title: StrOrPromise,
    perform: Perform,
    back: str,
    done: StrOrPromise,
    form: type[ActForm] = ReasonForm,
    form_arguments: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    preview: Callable[[Any], dict[str, Any]] | None = None,
    template: str = "act.html",
    target: str = "",
    **context: Any,
) -> HttpResponseBase:
    """Answer one request to a page that acts: show it, show what it would do, or do it and go `back`.

    `done` is the past participle for the message. `perform` gets the valid form; what it raises as a JobsError is shown
    at the field that the form names for it, or above the form, with everything as it was.
    """
    is_post = visit.request.method == "POST"
    filled = form(visit.request.POST if is_post else None, initial=initial, **(form_arguments or {}))
    if is_post and filled.is_valid():
        try:
            if preview is not None and "preview" in visit.request.POST:
                context |= preview(filled)
            else:
                return _do(visit, filled, perform, title, done, target, visit.back(back))
        except JobsError as error:
            filled.add_error(filled.field_of(error), str(error))
    return visit.render(
        template,
        title,
        form=filled,
        has_preview=preview is not None,
        back=visit.back(back),
        next=visit.back(""),
        **{"is_capped": False} | context,
    )


def _do(
    visit: Visit, form: ActForm, perform: Perform, title: StrOrPromise, done: StrOrPromise, target: str, back: str
) -> HttpResponseBase:
    acted = perform(form)
    if isinstance(acted, HttpResponse):
        return acted
    assert isinstance(acted, Acted)
    tell(visit, acted, done)
    write_log_entry(visit, acted, title, target)
    return HttpResponseRedirect(back)


def tell(visit: Visit, acted: Acted, done: StrOrPromise) -> None:
    """How many moved, how many did not, and why."""
    moved, skipped = len(acted.moved), len(acted.skipped)
    parts = [_("%(count)s %(done)s.") % {"count": moved, "done": done}] if moved or not skipped else []
    if acted.asked:
        told = ngettext("%(count)s runs on until it notices.", "%(count)s run on until they notice.", len(acted.asked))
        parts.append(told % {"count": len(acted.asked)})
    if skipped:
        text = ngettext("%(count)s was skipped: %(why)s.", "%(count)s were skipped: %(why)s.", skipped)
        parts.append(text % {"count": skipped, "why": _why(acted)})
    if acted.jobs:
        parts.append(ngettext("%(count)s waiting job.", "%(count)s waiting jobs.", acted.jobs) % {"count": acted.jobs})
    if acted.more:
        parts.append(_("Workers go on with the others."))
    if acted.note:
        parts.append(acted.note)
    messages.add_message(visit.request, messages.SUCCESS if moved else messages.WARNING, " ".join(parts))


def write_log_entry(visit: Visit, acted: Acted, title: StrOrPromise, target: str = "") -> None:
    """For Django's own history; the control event, written with the act itself, has the details."""
    # Their apps need not be installed where nobody acts on a page, and this module is imported there, too: Django
    # imports the template tags of every app.
    from django.contrib.admin.models import CHANGE, LogEntry
    from django.contrib.contenttypes.models import ContentType

    named = target or (str(acted.moved[0]) if len(acted.moved) == 1 else "")
    told = {"title": str(title), "moved": len(acted.moved), "skipped": len(acted.skipped)}
    LogEntry.objects.create(
        user_id=visit.user.pk,
        content_type=ContentType.objects.get_for_model(visit.model),
        object_id=named,
        object_repr=(named or str(title))[:LONGEST_REPR],
        action_flag=CHANGE,
        change_message=_("%(title)s: %(moved)s moved, %(skipped)s skipped.") % told,
    )


def _why(acted: Acted) -> str:
    reasons = Counter(acted.skipped.values()).most_common()
    told = [f"{count} x {reason}" if count > 1 else reason for reason, count in reasons[:MOST_REASONS]]
    return "; ".join(told) + ("; …" if len(reasons) > MOST_REASONS else "")
