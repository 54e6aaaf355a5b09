"""The addresses of the HTTP interface: `path("jobs/", include("jobs_app.urls"))`."""

from __future__ import annotations

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured
from django.urls import path

if find_spec("ninja") is None:
    raise ImproperlyConfigured("jobs_app.urls needs the extra `api`: pip install 'jobs-app[api]'.")

from jobs_app.api.interface import urls

app_name = "jobs_app"
urlpatterns = [path("api/", urls())]
