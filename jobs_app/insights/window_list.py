"""Every maintenance window there is, of the settings and of operators, with when it is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import settings_of_code
from jobs_app.models import MaintenanceWindow
from jobs_app.windows import Span, Window

MOST_WINDOWS = 500  # of operators, the newest
INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class WindowLine:
    name: str
    window: Window | None  # None: it cannot be read
    row: MaintenanceWindow | None = None  # None: of the settings
    problem: str = ""
    open: Span | None = None
    next: Span | None = None

    @property
    def is_enabled(self) -> bool:
        return self.row is None or self.row.enabled


def all_windows(connection: BaseDatabaseWrapper, now: datetime) -> list[WindowLine]:
    """Those of the settings first, as they count; then those of operators by name."""
    rows = MaintenanceWindow.objects.using(connection.alias).order_by("-pk")[:MOST_WINDOWS]
    of_settings = [_line(each, None, now) for each in settings_of_code().maintenance_windows]
    return [*of_settings, *(of_row(row, now) for row in sorted(rows, key=lambda row: row.name))]


def of_row(row: MaintenanceWindow, now: datetime) -> WindowLine:
    try:
        return _line(row.as_window(), row, now)
    except ValueError as problem:
        return WindowLine(name=row.name, window=None, row=row, problem=str(problem))


def openings(window: Window, now: datetime, count: int) -> Sequence[Span]:
    """The one that is open, if it is, and the next ones."""
    return [span for span, _ in zip(_from(window, now), range(count), strict=False)]


def _from(window: Window, now: datetime) -> Iterator[Span]:
    if (span := window.span_at(now)) is not None:
        yield span
        now = span.start + INSTANT
    while True:
        span = window.next_span(now)
        yield span
        now = span.start + INSTANT


def _line(window: Window, row: MaintenanceWindow | None, now: datetime) -> WindowLine:
    is_on = row is None or row.enabled
    return WindowLine(
        name=window.name,
        window=window,
        row=row,
        open=window.span_at(now) if is_on else None,
        next=window.next_span(now) if is_on else None,
    )
