"""What can be done with one run, by its state: each act with a confirmation of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app.admin.acts import ActForm, act, tell, write_log_entry
from jobs_app.admin.pages import Page
from jobs_app.admin.run_gone import of_a_run
from jobs_app.admin.run_links import link
from jobs_app.admin.visits import Visit
from jobs_app.errors import NotPossible
from jobs_app.insights import run_facts, runs
from jobs_app.insights.run_facts import RunFacts
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.models import Gate, Hold, Run, State
from jobs_app.registry import registry

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Verb = Callable[[UUID, Any, str], Acted]


class FailForm(ActForm):
    force = forms.BooleanField(
        label=gettext_lazy("Also if its worker is alive"),
        required=False,
        help_text=gettext_lazy(
            "It goes on to run there: whatever it does from now on still happens, and its report is refused."
        ),
    )


def offered(visit: Visit, facts: RunFacts) -> list[str]:
    """The names of the acts that make sense for it as it is, and that this person may do."""
    return [name for name in _possible(facts) if name not in STARTING or may_start(visit, facts.run)]


def may_start(visit: Visit, run: Run) -> bool:
    """Who starts work of a type needs the permission that the type asks for, beside that of the verb."""
    known = registry.find(run.job_type)
    return known is None or known.permission is None or bool(visit.user.has_perm(known.permission))


def _possible(facts: RunFacts) -> Iterator[str]:
    job = facts.job
    if job is None:
        known = registry.find(facts.run.job_type)
        if known is not None:
            yield "run_again"
            yield "jobdefinition_trigger"
        return
    is_paced = job.gate == Gate.KEY and job.hold == Hold.LIMIT  # by the rate of its key: it cannot be hurried
    if job.state == State.QUEUED and job.run_at > facts.now and not is_paced:
        yield "run_retry"
    if not job.cancel_requested:
        yield "run_cancel"
    if job.state == State.RUNNING and not job.abort_requested:
        yield "run_abort"
    if job.state == State.RUNNING and not facts.is_in_good_hands:
        yield "run_requeue"
    yield "run_fail"


STARTING = ("run_retry", "run_again", "run_requeue", "jobdefinition_trigger")


def _simple(title: StrOrPromise, done: StrOrPromise, verb: Verb) -> Callable[..., HttpResponseBase]:
    """The page of an act that asks for a reason and nothing else."""

    @of_a_run
    def page(visit: Visit, pk: UUID) -> HttpResponseBase:
        run = runs.get(pk)
        return _asked(visit, run, title, done, lambda form: verb(pk, visit.user, form.reason_given))

    return page


@of_a_run
def _fail(visit: Visit, pk: UUID) -> HttpResponseBase:
    """Force is asked for only where it would be needed."""
    facts = run_facts.read(visit.connection, pk, with_logs=False)
    form = FailForm if facts.is_in_good_hands else ActForm
    return _asked(
        visit,
        facts.run,
        _("Mark run %(id)s as failed"),
        _("marked as failed"),
        lambda form: control.fail(pk, visit.user, form.reason_given, force=bool(form.cleaned_data.get("force", False))),
        form=form,
    )


@of_a_run
def _retry(visit: Visit, pk: UUID) -> HttpResponseBase:
    run = _startable(visit, pk)

    def perform(form: ActForm) -> Acted:
        if runs.get(pk).finished_at is not None:  # while somebody read the page: another run is another decision
            raise NotPossible(_("It has ended meanwhile. Run it again, if it shall."))
        return control.retry(pk, visit.user, form.reason_given)

    return _asked(visit, run, _("Retry run %(id)s now"), _("made due"), perform)


@of_a_run
def _again(visit: Visit, pk: UUID) -> HttpResponseBase:
    run, title = _startable(visit, pk), _("Run %(id)s again")

    def perform(form: ActForm) -> Acted | HttpResponseBase:
        if runs.get(pk).finished_at is None:
            raise NotPossible(_("It has not ended: only a run that has can be run again."))
        acted = control.retry(pk, visit.user, form.reason_given)
        if pk not in acted.new_runs:
            return acted
        tell(visit, acted, _("run again: this is the new run"))
        write_log_entry(visit, acted, title % {"id": pk}, str(pk))
        return HttpResponseRedirect(visit.url("run_detail", acted.new_runs[pk]))

    return _asked(visit, run, title, _("run again"), perform)


@of_a_run
def _requeue(visit: Visit, pk: UUID) -> HttpResponseBase:
    run, title = _startable(visit, pk), _("Requeue run %(id)s")
    return _asked(visit, run, title, _("queued again"), lambda form: control.requeue(pk, visit.user, form.reason_given))


def _startable(visit: Visit, pk: UUID) -> Run:
    run = runs.get(pk)
    if not may_start(visit, run):
        raise PermissionDenied
    return run


def _asked(
    visit: Visit,
    run: Run,
    title: StrOrPromise,
    done: StrOrPromise,
    perform: Callable[[Any], Acted | HttpResponseBase],
    *,
    form: type[ActForm] = ActForm,
) -> HttpResponseBase:
    address = visit.url("run_detail", run.pk)
    status = runs.status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=_read_at(run))
    return act(
        visit,
        title=title % {"id": run.pk},
        perform=perform,
        back=address,
        done=done,
        form=form,
        target=str(run.pk),
        crumbs=[(link(visit, "run_changelist"), _("Runs")), (address, str(run.pk))],
        template="run_act.html",
        run=run,
        run_status=status,
        label=runs.label_of(run.job_type, status),
    )


def _read_at(run: Any) -> Any:
    return run.read_at


PAGES = [
    Page(
        "<uuid:pk>/cancel/",
        "run_cancel",
        _simple(gettext_lazy("Cancel run %(id)s"), gettext_lazy("cancelled"), control.cancel),
        act="cancel_run",
        label=gettext_lazy("Cancel"),
        help=gettext_lazy("End it before it starts; where it runs, ask it to stop."),
    ),
    Page(
        "<uuid:pk>/abort/",
        "run_abort",
        _simple(gettext_lazy("Abort run %(id)s"), gettext_lazy("aborted"), control.abort),
        act="abort_run",
        label=gettext_lazy("Abort"),
        help=gettext_lazy("Stop it by force, where its job type lets that be; else ask it to stop."),
    ),
    Page(
        "<uuid:pk>/retry/",
        "run_retry",
        _retry,
        act="retry_run",
        label=gettext_lazy("Retry now"),
        help=gettext_lazy("The same run, due now instead of later."),
    ),
    Page(
        "<uuid:pk>/again/",
        "run_again",
        _again,
        act="retry_run",
        label=gettext_lazy("Run again"),
        help=gettext_lazy("A new run with the same input, linked to this one. This one stays as it is."),
    ),
    Page(
        "<uuid:pk>/fail/",
        "run_fail",
        _fail,
        act="fail_run",
        label=gettext_lazy("Mark failed"),
        help=gettext_lazy("End it as failed, with your reason as its error. It is not tried again."),
    ),
    Page(
        "<uuid:pk>/requeue/",
        "run_requeue",
        _requeue,
        act="reconcile_runs",
        label=gettext_lazy("Requeue"),
        help=gettext_lazy("Its worker is gone: let it wait again at once, without waiting for its lease to end."),
    ),
]
