"""The app's addresses, for `path("jobs/", include("jobs_app.urls"))`: monitoring, and with the extra `api` the HTTP
interface."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path, re_path

from jobs_app.checks.addresses import is_interface_installed

app_name = "jobs_app"
urlpatterns: list[URLPattern | URLResolver] = [path("", include("jobs_app.metrics.urls"))]

if is_interface_installed():
    from jobs_app.api.interface import urls

    urlpatterns.append(path("api/", urls()))
else:

    def say_what_is_missing(request: HttpRequest) -> HttpResponse:
        text = "the HTTP interface needs the extra `api`: pip install 'jobs-app[api]'.\n"
        return HttpResponse(text, status=501, content_type="text/plain; charset=utf-8")

    urlpatterns.append(re_path("^api/", say_what_is_missing))
