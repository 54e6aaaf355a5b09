"""Where the things that a run names have their pages."""

from __future__ import annotations

from django.urls import NoReverseMatch

from jobs_app.admin.visits import Visit
from jobs_app.insights.run_facts import RunFacts
from jobs_app.insights.waiting import Target

PAGES_OF = {
    "run": "run_detail",
    "queue": "queuestate_detail",
    "job_type": "jobdefinition_detail",
    "subject": "subject_detail",
    "workers": "workerstate_changelist",
    "windows": "maintenancewindow_changelist",
    "everything": "dashboard_changelist",
}
LISTS = ("workers", "windows", "everything")


def link(visit: Visit, name: str, *arguments: object) -> str:
    """The address of a page; empty for a name that no address can hold."""
    try:
        return visit.url(name, *arguments)
    except NoReverseMatch:
        return ""


def link_to(visit: Visit, target: Target | None) -> str:
    if target is None:
        return ""
    page = PAGES_OF[target.kind]
    return link(visit, page) if target.kind in LISTS else link(visit, page, target.name)


def links_of(visit: Visit, facts: RunFacts) -> dict[str, str]:
    """By what they lead to; what a run does not have is not among them."""
    run = facts.run
    wanted = {
        "job_type": ("jobdefinition_detail", run.job_type),
        "queue": ("queuestate_detail", run.queue),
        "subject": ("subject_detail", run.subject),
        "worker": ("workerstate_detail", facts.worker.pk if facts.worker else ""),
        "schedule": ("schedulestate_detail", facts.schedule.pk if facts.schedule else ""),
        "parent": ("run_detail", facts.parent.pk if facts.parent else ""),
    }
    return {name: link(visit, page, argument) for name, (page, argument) in wanted.items() if argument}
