"""Which job this code runs for: one context variable, readable from every layer."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from jobs_app.errors import NoCurrentJob

if TYPE_CHECKING:
    from jobs_app.worker.context import JobContext

active: ContextVar[JobContext | None] = ContextVar("jobs_app_active", default=None)


def current_job() -> JobContext:
    """The job this code runs for, also in threads and tasks that the handler started."""
    context = active.get()
    if context is None:
        raise NoCurrentJob("current_job() works only inside a running job; pass what you need as an argument elsewhere")
    return context
