"""`path("", include("jobs_app.metrics.urls"))`: `/metrics`, `/livez` and `/readyz` where monitoring expects them."""

from __future__ import annotations

from django.urls import path

from jobs_app.metrics import views

urlpatterns = [
    path("metrics", views.metrics, name="jobs_metrics"),
    path("livez", views.livez, name="jobs_livez"),
    path("readyz", views.readyz, name="jobs_readyz"),
]
