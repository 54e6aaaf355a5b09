"""Acts upon all runs that a filter means: looked at first, confirmed, and done to what was looked at."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs_app import values
from jobs_app.admin.acts import ActForm, act, write_log_entry
from jobs_app.admin.pages import Page
from jobs_app.admin.run_asked import filter_of
from jobs_app.admin.visits import Visit
from jobs_app.errors import JobsError, OptionInvalid
from jobs_app.insights import run_filter_values
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_selection import Look, RunSelection, look, narrowed, select
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.acting import Acted
from jobs_app.lifecycle.database import database_now
from jobs_app.text import visible

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class MomentField(forms.CharField):
    def clean(self, value: Any) -> datetime:
        try:
            return values.moment(run_filter_values.moment(super().clean(value)))
        except ValueError as problem:
            raise forms.ValidationError(str(problem)) from None


class BulkForm(ActForm):
    """`moment` is when the set was looked at: what is queued later was not seen, and is not touched."""

    moment = MomentField(widget=forms.HiddenInput)


def offered(visit: Visit, chosen: RunFilter) -> list[dict[str, Any]]:
    """The buttons for all that a list shows: for who may, and where there is something that the verb could do."""
    if chosen.is_empty:
        return []
    found = []
    query = chosen.as_query() | {"next": visit.request.get_full_path()}
    for verb, page in VERBS.items():
        if page.may(visit.user) and _is_possible(verb, chosen):
            found.append({"url": visit.url(page.name, query=query), "label": page.label, "help": page.help})
    return found


def confirm(visit: Visit, verb: str, *, title: StrOrPromise, done: StrOrPromise) -> HttpResponseBase:
    now = database_now(visit.connection)
    back = visit.url("run_changelist", query=_given(visit))
    try:
        chosen = filter_of(visit, visit.request.GET)
        found = _seen(visit, verb, chosen, now)
    except JobsError as problem:
        return visit.render("bulk_refused.html", title, problem=str(problem), back=visit.back(back), status=400)
    return act(
        visit,
        title=title,
        form=BulkForm,
        initial={"moment": now.isoformat()},
        done=done,
        back=back,
        template="bulk.html",
        crumbs=[(back, _("Runs"))],
        perform=lambda form: _perform(visit, verb, chosen, form, title),
        **found,
    )


def _seen(visit: Visit, verb: str, chosen: RunFilter, now: datetime) -> dict[str, Any]:
    """What the page tells before anything is done."""
    if chosen.is_empty:
        raise OptionInvalid(_("A filter that chooses nothing means every run. Choose a state, a job type, or more."))
    selection = select(visit.connection, verb, chosen, now)
    found: Look | None = visit.read(lambda: look(selection, verb, visit.user))
    words = [(chip.label, chip.value) for chip in narrowed(verb, chosen).chips]
    if found is None:
        return {"filters": words}
    return {
        "filters": words,
        "count": found.counted.number,
        "is_capped": found.counted.is_capped,
        "counted_what": ngettext("run", "runs", found.counted.number),
        "sample": [(visit.url("run_detail", run.pk), _named(run)) for run in found.sample],
        "is_more": found.counted.number > len(found.sample),
        "skips": found.skipped.most_common(),
        "is_large": found.is_large,
    }


def _named(run: Any) -> str:
    return visible(" ".join(part for part in (run.job_type, run.subject, str(run.pk)) if part))


def _perform(
    visit: Visit, verb: str, chosen: RunFilter, form: BulkForm, title: StrOrPromise
) -> Acted | HttpResponseBase:
    moment = min(form.cleaned_data["moment"], database_now(visit.connection))
    selection: RunSelection = select(visit.connection, verb, chosen, moment)
    acted = control.bulk(verb, selection, visit.user, form.reason_given)
    if acted.run_id is None:
        return acted
    address = visit.url("run_detail", acted.run_id)
    told = _("These are many: a job does it, part by part. Its run tells how far it is.")
    messages.info(visit.request, format_html('{} <a href="{}">{}</a>', told, address, acted.run_id))
    write_log_entry(visit, acted, title, str(acted.run_id))
    return HttpResponseRedirect(address)


def _given(visit: Visit) -> dict[str, str]:
    return RunFilter.read(visit.request.GET)[0].as_query()


def _is_possible(verb: str, chosen: RunFilter) -> bool:
    try:
        narrowed(verb, chosen)
    except OptionInvalid:
        return False
    return True


def _page(
    verb: str, permission: str, *, title: StrOrPromise, done: StrOrPromise, label: StrOrPromise, help_text: StrOrPromise
) -> Page:
    view: Callable[..., HttpResponseBase] = partial(confirm, verb=verb, title=title, done=done)
    return Page(f"bulk/{verb}/", f"run_bulk_{verb}", view, act=permission, label=label, help=help_text)


VERBS = {
    "retry": _page(
        "retry",
        "retry_run",
        title=gettext_lazy("Retry runs"),
        done=gettext_lazy("retried"),
        label=gettext_lazy("Retry"),
        help_text=gettext_lazy("Run again what failed and was not run again since; start now what waits for later."),
    ),
    "cancel": _page(
        "cancel",
        "cancel_run",
        title=gettext_lazy("Cancel runs"),
        done=gettext_lazy("cancelled"),
        label=gettext_lazy("Cancel"),
        help_text=gettext_lazy("End what waits, and ask what runs to stop."),
    ),
    "abort": _page(
        "abort",
        "abort_run",
        title=gettext_lazy("Abort runs"),
        done=gettext_lazy("aborted"),
        label=gettext_lazy("Abort"),
        help_text=gettext_lazy("End what waits, and stop what runs, by force where its job type lets it."),
    ),
    "fail": _page(
        "fail",
        "fail_run",
        title=gettext_lazy("Mark runs as failed"),
        done=gettext_lazy("marked as failed"),
        label=gettext_lazy("Mark failed"),
        help_text=gettext_lazy("End as failed what waits, and what runs on a worker that is gone."),
    ),
    "requeue": _page(
        "requeue",
        "reconcile_runs",
        title=gettext_lazy("Requeue runs"),
        done=gettext_lazy("queued again"),
        label=gettext_lazy("Requeue"),
        help_text=gettext_lazy("Let wait again what ran on a worker that is gone."),
    ),
}
PAGES = list(VERBS.values())
