"""The maintenance windows of the settings and of operators, and which schedules they hold now."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.logs import event
from jobs_app.models import MaintenanceWindow
from jobs_app.registry import registry
from jobs_app.timeouts import longest_timeout
from jobs_app.windows import FOR_EVER, Window, hold_until

logger = logging.getLogger("jobs_app.lifecycle")

_said: dict[str, frozenset[str]] = {}  # what was complained about the last time, by its kind


def read_windows(connection: BaseDatabaseWrapper) -> tuple[Window, ...]:
    """Those of the settings, then those of operators: one small query, so that whoever claims can ask each second."""
    rows = MaintenanceWindow.objects.using(connection.alias).filter(enabled=True).order_by("pk")
    return (*get_settings().maintenance_windows, *_readable(rows))


def held_types(connection: BaseDatabaseWrapper, now: datetime) -> dict[str, datetime]:
    """For each job type whose schedules enqueue nothing now: when they go on. The app's own chores always do.

    What they would enqueue shall have ended when a window opens, so that they are held for its lead before it too: the
    longest timeout of the job types that it covers.
    """
    windows = read_windows(connection)
    if not windows:
        return {}
    leads = {window: _lead(window) for window in windows}
    found = {each.name: hold_until(windows, each.queue, each.name, now, leads) for each in registry}
    held = {name: until for name, until in found.items() if until is not None}
    _say_new("held for ever", {name: _never(name) for name, until in held.items() if until - now >= FOR_EVER})
    return held


def _lead(window: Window) -> timedelta:
    settings = get_settings()
    covered = (each for each in registry if window.covers(each.queue, each.name))
    return timedelta(seconds=max((longest_timeout(each, settings) for each in covered), default=0.0))


def _never(job_type: str) -> str:
    return (
        f"schedules of {job_type} never enqueue: between the maintenance windows that cover it there is no time for "
        "the longest timeout of what they cover. Let them name other job types, or give these shorter timeouts"
    )


def _readable(rows: Iterable[MaintenanceWindow]) -> Sequence[Window]:
    """A row may have been written by anybody. One that cannot be read stops nothing, least of all a worker."""
    windows: list[Window] = []
    problems: dict[str, str] = {}
    for row in rows:
        try:
            windows.append(row.as_window())
        except ValueError as problem:
            problems[row.name] = f"maintenance window {row.name!r} cannot be read and is left out: {problem}"
    _say_new("unreadable", problems)
    return windows


def _say_new(kind: str, problems: dict[str, str]) -> None:
    """Once per streak: these are looked at each second."""
    for name in sorted(problems.keys() - _said.get(kind, frozenset())):
        logger.warning("%s", problems[name], extra=event("window_problem", window=name))
    _said[kind] = frozenset(problems)
