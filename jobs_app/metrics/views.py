"""The web's pages for monitoring: `/metrics`, `/livez` and `/readyz`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseTrouble
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView
from prometheus_client import generate_latest

from jobs_app.conf import get_settings
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.tokens import find_token, note_use
from jobs_app.logs import event
from jobs_app.metrics.child_files import VARIABLE
from jobs_app.metrics.gauges import ALONE
from jobs_app.models import RuntimeSetting

logger = logging.getLogger("jobs_app.metrics")

View: TypeAlias = Callable[[HttpRequest], HttpResponse]

SCOPE = "metrics"
PERMISSION = "jobs_app.view_dashboard"
REFUSED = (
    "this needs an API token with the scope metrics, as Authorization: Bearer jobs_... (manage.py jobs token create "
    "prometheus --scopes metrics), or METRICS_PUBLIC in settings.JOBS.\n"
)
TEXT = "text/plain; charset=utf-8"


def _page(view: View) -> View:
    """For machines: no login page, and no transaction around it, which would ask a database that is away."""
    for alias in connections:
        transaction.non_atomic_requests(alias)(view)
    return login_not_required(never_cache(require_safe(view)))


@_page
def metrics(request: HttpRequest) -> HttpResponse:
    """What this web process counted, and the gauges of the database."""
    try:
        may_read = _may_read(request)
    except DatabaseTrouble as error:
        return _unavailable(error)
    if not may_read:
        answer = HttpResponse(REFUSED, status=401, content_type=TEXT)
        answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    page: HttpResponse = ExportToDjangoView(request)
    if os.environ.get(VARIABLE):  # of many processes only files are read, and no collector is asked
        page.write(generate_latest(ALONE))
    return page


@_page
def livez(request: HttpRequest) -> HttpResponse:
    """A process that answers is alive. The database is not asked: while it is away, a restart helps nobody."""
    return HttpResponse("ok\n", content_type=TEXT)


@_page
def readyz(request: HttpRequest) -> HttpResponse:
    """Can a job be enqueued here? The reason is not told: who asks is anybody."""
    try:
        RuntimeSetting.objects.using(jobs_connection().alias).exists()  # small, whatever the backlog
    except DatabaseTrouble as error:
        return _unavailable(error)
    return HttpResponse("ok\n", content_type=TEXT)


def _unavailable(error: Exception) -> HttpResponse:
    logger.debug("monitoring found no database: %s", error, extra=event("database_not_found", error=str(error)))
    return HttpResponse("the database does not answer, or is not migrated\n", status=503, content_type=TEXT)


def _may_read(request: HttpRequest) -> bool:
    if get_settings().metrics_public:
        return True
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _has_scope(text)
    user: Any = getattr(request, "user", None)
    return user is not None and user.is_active and user.has_perm(PERMISSION)


def _has_scope(text: str) -> bool:
    connection = jobs_connection()
    token = find_token(connection, text)
    if token is None or SCOPE not in token.scopes:
        return False
    note_use(connection, token)
    return True
