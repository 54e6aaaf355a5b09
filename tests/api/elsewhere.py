"""The addresses of a host that puts the interface somewhere else."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("work/queue/", include("jobs_app.urls"))]
