"""Job types: what code has, how each does, and one of them in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils import formats, timezone
from django.utils.translation import gettext as _

from jobs_app.admin import words
from jobs_app.admin.docstrings import about_arguments
from jobs_app.admin.pages import Page
from jobs_app.admin.pausing import pause_pages
from jobs_app.admin.payload_drawing import as_json
from jobs_app.admin.trigger import may_trigger
from jobs_app.admin.visits import Visit
from jobs_app.insights import failures, job_types, measured
from jobs_app.insights.histogram import histogram
from jobs_app.insights.job_types import HourlyEnds, TypeLine
from jobs_app.insights.run_filter import RunFilter
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Scope, State
from jobs_app.redaction import is_secret
from jobs_app.registry import JobType

MOST_SCHEDULES = 20
MOST_FAILURES = 1000  # looked at


@dataclass(frozen=True)
class Entry:
    """A line of the list, with words for what code says."""

    line: TypeLine
    may_trigger: bool

    @property
    def retries(self) -> str:
        return words.retries_in_short(self.line.job_type) if self.line.job_type else ""

    @property
    def timeout(self) -> str:
        return words.timeout(self.line.job_type) if self.line.job_type else ""

    @property
    def failure_percent(self) -> float | None:
        rate = self.line.ended.failure_rate
        return None if rate is None else 100 * rate


def _listing(visit: Visit) -> HttpResponseBase:
    found = visit.read(lambda: job_types.listing(visit.connection))
    entries = [Entry(line, may_trigger(visit, line.job_type)) for line in found.lines] if found else []
    return visit.render(
        "job_types.html",
        _("Job types"),
        live=15,
        known=[entry for entry in entries if not entry.line.is_own],
        own=[entry for entry in entries if entry.line.is_own],
        is_read=found is not None,
        is_capped=found is not None and found.is_capped,
    )


def _detail(visit: Visit, name: str) -> HttpResponseBase:
    line = visit.read(lambda: job_types.one(visit.connection, name))
    if line is None and not visit.cut:
        raise Http404(f"no job type is named {name!r}")
    job_type = line.job_type if line else None
    return visit.render(
        "job_type.html",
        _("Job type %(name)s") % {"name": name},
        live=15,
        crumbs=[(visit.url("jobdefinition_changelist"), _("Job types"))],
        name=name,
        entry=Entry(line, may_trigger(visit, job_type)) if line else None,
        job_type=job_type,
        options=words.options(job_type) if job_type else [],
        payload=_payload_table(job_type) if job_type else [],
        schedules=visit.read(lambda: job_types.schedules_of(visit.connection, name, limit=MOST_SCHEDULES + 1)),
        most_schedules=MOST_SCHEDULES,
        **_charts(visit, name),
        **_failures(visit, name),
    )


def _charts(visit: Visit, name: str) -> dict[str, Any]:
    now = database_now(visit.connection)
    seconds = visit.read(lambda: measured.seconds_of_type(visit.connection, name, now=now), seconds=2)
    hours = visit.read(lambda: job_types.hourly(visit.connection, name), seconds=2)
    return {
        "lengths": [(bar.label, bar.runs) for bar in histogram(seconds or [])],
        "measured_runs": len(seconds or []),
        "hours": [_column(each) for each in hours or []],
        "hourly_runs": sum(sum(each.states.values()) for each in hours or []),
        "hourly_failures": sum(each.states.get("failed", 0) for each in hours or []),
    }


def _failures(visit: Visit, name: str) -> dict[str, Any]:
    """By error class, each with a link to its runs."""
    chosen = RunFilter(job_type=name, state=State.FAILED)
    found = visit.read(lambda: failures.failures(visit.connection, chosen=chosen, most=MOST_FAILURES), seconds=2)
    groups = (
        [(group, visit.url("run_changelist", query=group.runs.as_query())) for group in found.groups] if found else []
    )
    return {"failures": groups, "failures_are_capped": found is not None and found.is_capped}


def _column(hour: HourlyEnds) -> tuple[str, list[tuple[str, float]]]:
    name = formats.time_format(timezone.localtime(hour.at), "TIME_FORMAT")
    parts = [("ok", "succeeded"), ("idle", "cancelled"), ("bad", "failed")]
    return name, [(kind, float(hour.states.get(state, 0))) for kind, state in parts]


def _payload_table(job_type: JobType) -> list[dict[str, Any]]:
    told = about_arguments(job_type.function)
    return [
        {
            "name": field.alias or field.name,
            "kind": words.kind_of(field),
            "required": field.required,
            "is_secret": is_secret(field.name),
            "default": None if field.required or is_secret(field.name) else as_json(field.default),
            "help": field.help or told.get(field.name, ""),
        }
        for field in job_type.schema.fields
    ]


LIST = [Page("", "jobdefinition_changelist", _listing)]
PAGES = [
    *pause_pages(Scope.JOB_TYPE, "jobdefinition"),
    Page("<path:name>/", "jobdefinition_detail", _detail),
]
