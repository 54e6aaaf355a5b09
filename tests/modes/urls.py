"""What monitoring asks the web for, where it expects it."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("", include("jobs_app.metrics.urls"))]
