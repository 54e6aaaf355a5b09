"""The landing page: what to look at, and what the worker is doing right now."""

from __future__ import annotations

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from jobs_app.handles import RunHandle
from jobs_app.models import Run
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobsite import demo_data

RECENT = 20


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    runs = Run.objects.exclude(queue=SYSTEM_QUEUE)  # the app's own chores would only push the others out
    recent = runs.annotate(read_at=Now()).order_by("-queued_at", "-id")[:RECENT]
    return render(
        request,
        "jobsite/landing.html",
        {
            "runs": [RunHandle(run.pk, run) for run in recent],
            "job_types": [
                job_type for job_type in registry if job_type.function.__module__.startswith("examples.first_steps")
            ],
            "database": connection.display_name,
            "debug": settings.DEBUG,
        },
    )


@require_POST
def again(request: HttpRequest) -> HttpResponse:
    """Anyone may press the button, so it is there in the demo only."""
    if not settings.DEBUG:
        raise Http404
    demo_data.fill()
    return redirect("landing")
