"""The app's addresses, for `path("jobs/", include("jobs_app.urls"))`: monitoring, and with the extra `api` the HTTP
interface."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path, re_path

app_name = "jobs_app"
urlpatterns: list[URLPattern | URLResolver] = [path("", include("jobs_app.metrics.urls"))]

has_api = False
with suppress(ModuleNotFoundError):
    has_api = find_spec("ninja.openapi") is not None  # a tool to build programs is called ninja, too

if has_api:
    from jobs_app.api.interface import urls

    urlpatterns.append(path("api/", urls()))
else:

    def say_what_is_missing(request: HttpRequest) -> HttpResponse:
        text = "the HTTP interface needs the extra `api`: pip install 'jobs-app[api]'.\n"
        return HttpResponse(text, status=501, content_type="text/plain; charset=utf-8")

    urlpatterns.append(re_path("^api/", say_what_is_missing))
