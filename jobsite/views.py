"""The landing page: what each example shows and where to look, and what the workers are doing right now."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe

from examples import pace
from jobs_app.handles import RunHandle
from jobs_app.models import Run
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobsite import demo_data

RECENT = 20


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    cards = [f"{label}/card.html" for label in demo_data.demos()]
    shown: dict[str, Any] = {
        "cards": cards,
        "database": connection.display_name,
        "debug": settings.DEBUG,
        "shows_runs": _may_see_runs(request),
        "minute": None if pace.IS_USUAL else pace.MINUTE,
    }
    return render(request, "jobsite/landing.html", shown)


@require_safe
@xframe_options_sameorigin
def now(request: HttpRequest) -> HttpResponse:
    """A frame of the landing page, which alone is read anew: the rest of it stays where its reader is."""
    if not _may_see_runs(request):
        raise Http404
    runs = Run.objects.exclude(queue=SYSTEM_QUEUE)  # the app's own chores would only push the others out
    recent = runs.annotate(read_at=Now()).order_by("-queued_at", "-id")[:RECENT]
    rows = [(_example_of(run.job_type), run.subject, RunHandle(run.pk, run)) for run in recent]
    return render(request, "jobsite/now.html", {"rows": rows})


@require_POST
def again(request: HttpRequest) -> HttpResponse:
    """Anyone may press the button, so it is there in the demo only."""
    if not settings.DEBUG:
        raise Http404
    demo_data.fill()
    return redirect("landing")


def _may_see_runs(request: HttpRequest) -> bool:
    """Results name people. In the demo nobody is real."""
    return settings.DEBUG or request.user.has_perms(("jobs_app.view_dashboard", "jobs_app.view_payload"))


def _example_of(job_type: str) -> str:
    """The name of the app that defines it."""
    if job_type not in registry:
        return ""
    config = apps.get_containing_app_config(registry.get(job_type).function.__module__)
    return str(config.verbose_name) if config else ""
