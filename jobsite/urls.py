"""The addresses of the demo site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from jobsite.views import again, landing, now

urlpatterns = [
    path("", landing, name="landing"),
    path("now/", now, name="now"),
    path("again/", again, name="again"),
    path("admin/", admin.site.urls),
    path("jobs/", include("jobs_app.urls")),
    path("", include("jobs_app.metrics.urls")),
]
