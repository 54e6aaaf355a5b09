"""Runs that stand still: why each does, what would become of it, and what became of others without a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs_app.admin.acts import ActForm, act
from jobs_app.admin.pages import Page
from jobs_app.admin.visits import Visit
from jobs_app.conf import RECONCILABLE, get_settings
from jobs_app.insights import stale
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Reconciled
from jobs_app.lifecycle.control.runs import run_ids
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.stale import CANCEL, FAIL, KEEP, KINDS, MOST_RUNNING, REQUEUE, Stale

SAMPLE = 10
ABOUT = {
    "expired": gettext_lazy("Their lease ended, and nobody has recovered them."),
    "lost": gettext_lazy("Their worker went silent; their lease has not ended yet."),
    "stuck": gettext_lazy("Their worker is alive, but they are past their timeout, or make no progress."),
    "unserved": gettext_lazy("They are due for long, and no live worker would start them."),
}
LABELS = {
    "expired": gettext_lazy("Expired"),
    "lost": gettext_lazy("Lost"),
    "stuck": gettext_lazy("Stuck"),
    "unserved": gettext_lazy("Unserved"),
}
FATES = {
    REQUEUE: gettext_lazy("waits again"),
    FAIL: gettext_lazy("fails"),
    CANCEL: gettext_lazy("is cancelled, as somebody asked"),
    KEEP: gettext_lazy("stays: start a worker for it"),
}
FATE_KINDS = {REQUEUE: "warn", FAIL: "bad", CANCEL: "idle", KEEP: "info"}


class RunIds(forms.Field):
    """Ids that the page goes with, one hidden field each."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> list[UUID]:
        try:
            return run_ids(value or [])
        except Exception:
            raise forms.ValidationError(_("That is not the id of a run.")) from None


class ReconcileForm(ActForm):
    """These runs, or all of one kind."""

    run = RunIds(required=False)
    kind = forms.ChoiceField(required=False, choices=[(kind, kind) for kind in RECONCILABLE], widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not given.get("run") and not given.get("kind"):
            raise forms.ValidationError(_("Nothing was chosen: choose runs, or a kind of them."))
        return given


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One section of the page."""

    name: str
    rows: list[tuple[Stale, str]]  # each with the name of its worker

    @property
    def label(self) -> str:
        return str(LABELS[self.name])

    @property
    def about(self) -> str:
        return str(ABOUT[self.name])

    @property
    def can_move(self) -> bool:
        return self.name in RECONCILABLE

    @property
    def is_automatic(self) -> bool:
        return self.name in get_settings().reconcile_applies


def listing(visit: Visit) -> HttpResponseBase:
    connection = visit.connection
    now = database_now(connection)
    found = visit.read(lambda: stale.stale_runs(connection, limit=stale.MOST_SHOWN + 1))
    shown = (found or [])[: stale.MOST_SHOWN]
    names = visit.read(lambda: stale.names_of(connection, [one.job.worker_id for one in shown])) or {}
    return visit.render(
        "stale.html",
        _("Stale runs"),
        found=found,
        kinds=_kinds(shown, names),
        is_capped=found is not None and len(found) > len(shown),
        shown=len(shown),
        events=visit.read(lambda: stale.done_by_itself(connection, now)),
        attempts=visit.read(lambda: stale.lost_attempts(connection, now)),
        attempts_among=stale.NEWEST_ATTEMPTS,
        last_check=visit.read(lambda: stale.last_check(connection)),
        now=now,
        fates={verdict: (FATE_KINDS[verdict], str(FATES[verdict])) for verdict in FATES},
        may_reconcile=visit.may("reconcile_runs"),
        may_fail=visit.may("fail_run"),
        crumbs=[(visit.url("dashboard_changelist"), _("Dashboard"))],
    )


def reconcile(visit: Visit) -> HttpResponseBase:
    given = visit.request.POST if visit.request.method == "POST" else visit.request.GET
    kind, runs = given.get("kind", ""), given.getlist("run")
    return act(
        visit,
        title=_("Reconcile stale runs"),
        form=ReconcileForm,
        initial={"kind": kind, "run": runs},
        perform=lambda form: _perform(visit, form),
        preview=lambda form: _about(visit, form.cleaned_data["kind"], form.cleaned_data["run"]),
        back=visit.url("dashboard_stale"),
        done=_("moved on"),
        **(_about(visit, kind, []) if kind in RECONCILABLE and not runs else {}),
    )


def _perform(visit: Visit, form: ReconcileForm) -> Reconciled:
    """A kind is named by the runs that are of it now, so that no other is touched, or told of as left alone."""
    kind, runs = form.cleaned_data["kind"], form.cleaned_data["run"]
    wanted = runs or [one.job.pk for one in _of_kind(visit, kind)]
    return control.reconcile(visit.user, form.reason_given, apply=[kind] if kind else RECONCILABLE, runs=wanted)


def _of_kind(visit: Visit, kind: str) -> list[Stale]:
    return stale.stale_runs(visit.connection, kinds=[kind], limit=MOST_RUNNING)


def _about(visit: Visit, kind: str, runs: Sequence[UUID]) -> dict[str, Any]:
    """How many there are, and of some what would become of them. Nothing is changed."""
    found = _of_kind(visit, kind) if kind else stale.stale_runs(visit.connection, limit=MOST_RUNNING)
    wanted = [one for one in found if not runs or one.job.pk in set(runs)]
    movable = [one for one in wanted if one.kind in RECONCILABLE]
    gone = len(runs) - len(wanted) if runs else 0
    return {
        "count": len(movable),
        "counted_what": ngettext("run would be moved on", "runs would be moved on", len(movable)),
        "summary": _about_gone(gone),
        "facts": _facts(movable),
        "sample": [(visit.url("run_detail", one.job.pk), _line(one)) for one in movable[:SAMPLE]],
    }


def _about_gone(count: int) -> str:
    text = ngettext(
        "%(count)s of those you chose stands still no more.", "%(count)s of those you chose stand still no more.", count
    )
    return text % {"count": count} if count else ""


def _facts(found: Iterable[Stale]) -> list[tuple[str, int]]:
    counted = dict.fromkeys(FATES, 0)
    for one in found:
        counted[one.verdict] += 1
    return [(str(FATES[verdict]), count) for verdict, count in counted.items() if count]


def _line(one: Stale) -> str:
    return f"{one.job.job_type} {one.job.pk}: {FATES[one.verdict]} ({one.reason})"


def _kinds(found: Sequence[Stale], names: dict[str, str]) -> list[Kind]:
    return [
        Kind(name=name, rows=[(one, names.get(one.job.worker_id, "")) for one in found if one.kind == name])
        for name in KINDS
    ]


PAGES = [
    Page("stale/", "dashboard_stale", listing),
    Page(
        "stale/reconcile/",
        "dashboard_reconcile",
        reconcile,
        act="reconcile_runs",
        label=gettext_lazy("Reconcile"),
        help=gettext_lazy(
            "Each is judged again as it is moved: what lost its worker waits again while it has attempts left, else it"
            " fails; what is stuck fails, and the report of its worker will be refused."
        ),
    ),
]
