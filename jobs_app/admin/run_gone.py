"""What is shown where a run was, or never was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from jobs_app.admin.run_links import link
from jobs_app.admin.visits import Visit
from jobs_app.conf import get_settings
from jobs_app.errors import RunNotFound


def of_a_run(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let a page about one run say what may have become of it, where no run has its id."""

    @wraps(view)
    def answer(visit: Visit, pk: UUID, **arguments: object) -> HttpResponseBase:
        try:
            return view(visit, pk, **arguments)
        except RunNotFound:
            return gone(visit, pk)

    return answer


def gone(visit: Visit, pk: UUID) -> HttpResponseBase:
    settings = get_settings()
    return visit.render(
        "run_gone.html",
        _("No such run"),
        status=404,
        crumbs=[(link(visit, "run_changelist"), _("Runs"))],
        run_id=pk,
        days=settings.retention_days,
        failed_days=settings.retention_failed_days,
    )
