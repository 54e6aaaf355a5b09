"""Trigger a job by a form made from its payload; also a run again, with changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import act, write_log_entry
from jobs_app.admin.pages import Page
from jobs_app.admin.payload_forms import can_be_drawn, can_show
from jobs_app.admin.trigger_form import TriggerForm
from jobs_app.admin.visits import Visit
from jobs_app.drafts import Drafts
from jobs_app.errors import JobsError, NotPossible, PayloadInvalid, RunNotFound
from jobs_app.insights import job_types, pauses, runs
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.lifecycle.workforce import read_workforce
from jobs_app.models import FINISHED, Policy, Run, State
from jobs_app.redaction import redact
from jobs_app.registry import JobType, registry
from jobs_app.strict_json import loads
from jobs_app.triggering import trigger


def may_trigger(visit: Visit, job_type: JobType | None) -> bool:
    """The permission of the verb, and the one that the job type asks for itself."""
    return job_type is not None and visit.may("trigger_job") and _may_its(visit, job_type)


def _may_its(visit: Visit, job_type: JobType) -> bool:
    return job_type.permission is None or bool(visit.user.has_perm(job_type.permission))


def _trigger(visit: Visit, name: str) -> HttpResponseBase:
    job_type = registry.find(name)
    if job_type is None:
        raise Http404(f"job type {name!r} is not registered")
    if not _may_its(visit, job_type):
        raise PermissionDenied
    again = _repeated(visit, job_type)
    stored = again.payload if again is not None and visit.may("view_payload") else None
    wants_json = visit.request.GET.get("as") == "json"
    as_json = wants_json or not can_be_drawn(job_type) or (stored is not None and not can_show(job_type, stored))
    address = visit.url("jobdefinition_detail", name)
    return act(
        visit,
        title=_("Trigger %(name)s") % {"name": name} if again is None else _("Run %(name)s again") % {"name": name},
        form=TriggerForm,
        form_arguments={"job_type": job_type, "stored": stored, "as_json": as_json},
        initial=None if again is None else _options_of(job_type, again),
        preview=lambda form: {"planned": _planned(visit, form)},
        perform=lambda form: _perform(visit, form, again),
        back=address,
        done=_("triggered"),
        template="trigger.html",
        crumbs=[(visit.url("jobdefinition_changelist"), _("Job types")), (address, name)],
        job_type=job_type,
        again=again,
        is_filled=stored is not None,
        as_json=as_json,
        other_way=_other_way(visit, to_json=not as_json) if can_be_drawn(job_type) else "",
        subjects=visit.read(lambda: job_types.known_subjects(visit.connection, name), seconds=1),
    )


def _repeated(visit: Visit, job_type: JobType) -> Run | None:
    wanted = visit.request.GET.get("again")
    if not wanted:
        return None
    try:
        run = runs.get(wanted)
    except RunNotFound as error:
        raise Http404(str(error)) from None
    if run.job_type != job_type.name:
        raise Http404(f"run {run.pk} is of another job type")
    return run


def _options_of(job_type: JobType, run: Run) -> dict[str, Any]:
    """What the run had beside its payload, where that was not taken from the payload anyway."""
    found = {"subject": run.subject, "key": run.key or "", "priority": run.priority}
    try:
        usual, _payload = Drafts(job_type, {}).draft(run.payload)
    except JobsError:  # it does not fit any more
        return found
    if usual.subject == run.subject:
        found["subject"] = ""
        if usual.key == run.key:
            found["key"] = ""
    return found


def _other_way(visit: Visit, *, to_json: bool) -> str:
    """This page with the other kind of form."""
    query = visit.request.GET.copy()
    query.pop("as", None)
    if to_json:
        query["as"] = "json"
    return f"?{query.urlencode()}" if query else visit.request.path


def _perform(visit: Visit, form: TriggerForm, again: Run | None) -> HttpResponseBase:
    run_id, is_new = _run_again(visit, form, again) or _enqueue(visit, form, again)
    name = form.job_type.name
    if is_new:
        messages.success(visit.request, _("A run of %(name)s is queued.") % {"name": name})
    else:
        messages.warning(visit.request, _("This run was there before and has the key. Nothing new was queued."))
    acted = Acted(moved=[run_id]) if is_new else Acted(skipped={run_id: "was there before"})
    write_log_entry(visit, acted, _("Trigger %(name)s") % {"name": name}, name)
    return HttpResponseRedirect(visit.url("run_detail", run_id))


def _run_again(visit: Visit, form: TriggerForm, again: Run | None) -> tuple[UUID, bool] | None:
    """The same work with other values, as a repetition of the run that has ended; None where it is other work."""
    if again is None or again.state not in FINISHED or not visit.may("retry_run") or not form.repeats(again):
        return None
    try:
        acted = control.retry(again.pk, visit.user, form.reason_given, payload=form.payload)
    except PayloadInvalid:  # it names another subject, though the run has the same: a new run may have both
        return None
    if again.pk not in acted.new_runs:
        raise NotPossible(_("This run %(why)s.") % {"why": acted.skipped.get(again.pk, "")})
    return acted.new_runs[again.pk], True


def _enqueue(visit: Visit, form: TriggerForm, again: Run | None) -> tuple[UUID, bool]:
    options: Any = form.options | ({} if again is None else {"parent": again.pk})
    run = trigger(form.job_type.name, form.payload, actor=visit.user, reason=form.reason_given, **options)
    return run.id, run.created


def _planned(visit: Visit, form: TriggerForm) -> dict[str, Any]:
    """What would be stored, when it would be due, and what would hold it."""
    draft, now = form.draft, database_now(visit.connection)
    return {
        "payload": redact(loads(draft.payload)),
        "draft": draft,
        "policy": Policy(draft.policy).label,
        "due_at": _due_at(draft, now),
        "holds": _holds(visit, draft, now),
    }


def _due_at(draft: NewJob, now: datetime) -> datetime | None:
    """None: at once."""
    due = draft.run_at or now + timedelta(seconds=draft.delay)
    return due if due > now else None


def _holds(visit: Visit, draft: NewJob, now: datetime) -> list[str]:
    found = []
    if not registry.get(draft.job_type).is_enabled:
        found.append(_("The job type is switched off: this will be refused."))
    job = Run(state=State.QUEUED, job_type=draft.job_type, queue=draft.queue, subject=draft.subject)
    found += [
        _("Paused: %(what)s. Reason: %(why)s") % {"what": pause, "why": pause.reason or "-"}
        for pause in pauses.holding(visit.connection, job, now)
    ]
    workforce = read_workforce(visit.connection, now)
    if not workforce.serves(draft.queue):
        found.append(_("No live worker serves queue %(name)s.") % {"name": draft.queue})
    elif not workforce.knows(draft.queue, draft.job_type):
        found.append(_("No live worker of its queue knows this job type."))
    return found


PAGES = [
    Page(
        "<path:name>/trigger/",
        "jobdefinition_trigger",
        _trigger,
        act="trigger_job",
        label=gettext_lazy("Trigger"),
        help=gettext_lazy("Queue one run, with the payload that you give."),
    ),
]
