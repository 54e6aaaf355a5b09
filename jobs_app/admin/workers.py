"""Workers and schedulers: who is alive, late, lost or draining, and what each of them runs."""

from __future__ import annotations

from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs_app.admin.acts import act
from jobs_app.admin.pages import Page
from jobs_app.admin.visits import Visit
from jobs_app.insights import processes
from jobs_app.insights.processes import ALIVE, DRAINING, LATE, LOST, Process, Processes
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control.drain import ALL
from jobs_app.lifecycle.database import database_now

SAMPLE = 10
STATUSES = {
    ALIVE: ("ok", gettext_lazy("alive")),
    DRAINING: ("info", gettext_lazy("draining")),
    LATE: ("warn", gettext_lazy("late")),
    LOST: ("bad", gettext_lazy("lost")),
}
WORKER, SCHEDULER = "worker", "scheduler"


def listing(visit: Visit) -> HttpResponseBase:
    status, kind = visit.request.GET.get("status", ""), visit.request.GET.get("kind", "")
    found = visit.read(lambda: processes.at_work(visit.connection, database_now(visit.connection)))
    return visit.render(
        "workers.html",
        _("Workers"),
        live=5,
        found=found,
        shown=[(each, *_status(each)) for each in _chosen(found, status, kind)],
        statuses=[(name, str(text), found.statuses[name] if found else 0) for name, (_kind, text) in STATUSES.items()],
        chosen_status=status,
        chosen_kind=kind,
        versions=sorted(found.versions.items()) if found and len(found.versions) > 1 else [],
        is_capped=found is not None and len(found.found) == processes.MOST_SHOWN,
    )


def detail(visit: Visit, worker: str) -> HttpResponseBase:
    found = visit.read(lambda: processes.one(visit.connection, worker, database_now(visit.connection)))
    if found is None and not visit.cut:
        raise Http404(_("No such worker: it has left, or nobody has heard of it for a day."))
    return visit.render(
        "worker.html",
        str(found.row) if found else worker,
        live=5,
        worker=found,
        badge=_status(found) if found else None,
        crumbs=[(visit.url("workerstate_changelist"), _("Workers"))],
    )


def drain(visit: Visit, worker: str) -> HttpResponseBase:
    found = visit.read(lambda: processes.one(visit.connection, worker, database_now(visit.connection)))
    return act(
        visit,
        title=_("Drain worker %(worker)s") % {"worker": found.row if found else worker},
        perform=lambda form: control.drain(worker, visit.user, form.reason_given),
        back=visit.url("workerstate_changelist"),
        done=_("asked to drain"),
        target=worker,
        summary=_running_text(found.running if found else 0),
        facts=[(_("Id"), worker), (_("Status"), _status(found)[1])] if found else [(_("Id"), worker)],
    )


def drain_all(visit: Visit) -> HttpResponseBase:
    found = visit.read(lambda: processes.at_work(visit.connection, database_now(visit.connection)))
    workers = [each for each in (found.workers if found else []) if not each.row.drain_requested]
    return act(
        visit,
        title=_("Drain all workers"),
        perform=lambda form: control.drain(ALL, visit.user, form.reason_given),
        back=visit.url("workerstate_changelist"),
        done=_("asked to drain"),
        target=ALL,
        summary=_running_text(sum(each.running for each in workers)),
        count=len(workers),
        counted_what=ngettext("worker", "workers", len(workers)),
        sample=[(visit.url("workerstate_detail", each.row.pk), str(each.row)) for each in workers[:SAMPLE]],
    )


def _chosen(found: Processes | None, status: str, kind: str) -> list[Process]:
    chosen = found.found if found else []
    if kind in (WORKER, SCHEDULER):
        chosen = [each for each in chosen if each.is_worker == (kind == WORKER)]
    return [each for each in chosen if each.status == status] if status in STATUSES else chosen


def _status(process: Process) -> tuple[str, str]:
    kind, text = STATUSES[process.status]
    return kind, str(text)


def _running_text(running: int) -> str:
    if not running:
        return _("Nothing runs there.")
    text = ngettext(
        "%(count)s job runs there and goes on to its end.", "%(count)s jobs run there and go on to their end.", running
    )
    return text % {"count": running}


DRAIN_HELP = gettext_lazy(
    "It takes no more jobs from the next seconds on, lets what runs come to its end, however long that takes, and"
    " then ends. Whatever starts processes anew on its host then starts a new one."
)

PAGES = [
    Page("", "workerstate_changelist", listing),
    Page(
        "drain-all/",
        "workerstate_drain_all",
        drain_all,
        act="drain_worker",
        label=gettext_lazy("Drain all"),
        help=DRAIN_HELP,
    ),
    Page(
        "<path:worker>/drain/",
        "workerstate_drain",
        drain,
        act="drain_worker",
        label=gettext_lazy("Drain"),
        help=DRAIN_HELP,
    ),
    Page("<path:worker>/", "workerstate_detail", detail),
]
