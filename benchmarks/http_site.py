"""The web application that remote workers are measured against: the app's own addresses and nothing else."""

from __future__ import annotations

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()

from django.urls import include, path  # noqa: E402

from jobs_app import job  # noqa: E402


@job(name="noop")
def noop(n: int) -> None:
    """As `jobs_app_peer` has it, so that a web process knows what it hands out. It is called elsewhere."""


urlpatterns = [path("jobs/", include("jobs_app.urls"))]
