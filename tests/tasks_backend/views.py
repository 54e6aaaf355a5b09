"""A view with tasks beside it, loaded by the URLconf alone."""

from __future__ import annotations

import os

from django.http import HttpRequest, HttpResponse

from jobs_app.tasks_backend import task


@task()
def beside_view() -> str:
    return "seen"


@task(isolation="process")
def beside_view_apart() -> int:
    return os.getpid()


def index(request: HttpRequest) -> HttpResponse:
    return HttpResponse(beside_view.enqueue().id)
