"""The runs of a list as a file: as many as fit, with secrets hidden."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from jobs_app.admin.pages import Page
from jobs_app.admin.run_asked import read_filter
from jobs_app.admin.streams import CSV, FORMATS, stream
from jobs_app.admin.visits import Visit
from jobs_app.insights import run_list
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.runs import status_of
from jobs_app.redaction import redact

COLUMNS = (
    "id",
    "status",
    "job_type",
    "queue",
    "subject",
    "priority",
    "queued_at",
    "run_at",
    "first_started_at",
    "started_at",
    "finished_at",
    "attempts",
    "max_attempts",
    "worker_id",
    "actor",
    "schedule",
    "slot_at",
    "parent",
    "key",
    "outcome",
    "done_reason",
    "error_class",
    "error",
    "progress_count",
    "result_count",
    "target_count",
)


def export(visit: Visit) -> HttpResponseBase:
    """A filter that cannot be read exports nothing rather than everything."""
    chosen, problems = read_filter(visit)
    kind = visit.request.GET.get("format", CSV)
    if kind not in FORMATS:
        known = ", ".join(FORMATS)
        problems["format"] = _("There is no format %(kind)s. Known are: %(known)s.") % {
            "kind": repr(kind),
            "known": known,
        }
    if problems:
        return visit.render(
            "bulk_refused.html",
            _("Export runs"),
            problem=" ".join(problems.values()),
            back=visit.url("run_changelist", query=chosen.as_query()),
            status=400,
        )
    columns = (*COLUMNS, *run_list.LARGE) if visit.may("view_payload") else COLUMNS
    return stream(_rows(visit, chosen, columns), columns=columns, kind=kind, name="runs")


def _rows(visit: Visit, chosen: RunFilter, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for run in run_list.each(visit.connection, chosen, large=columns != COLUMNS):
        status = status_of(state=run.state, attempts=run.attempts, run_at=run.run_at, now=run.read_at)
        row = {name: status if name == "status" else getattr(run, name) for name in columns}
        yield row | {name: redact(row[name]) for name in run_list.LARGE if name in row}


PAGES = [Page("export/", "run_export", export)]
