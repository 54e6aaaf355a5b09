"""The values of a filter of runs: in words, and how each is read from the text of an address and written there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs_app import values

ANY_TIME, DEFAULT_WINDOW = "all", "24h"
WINDOWS: dict[str, timedelta | None] = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    ANY_TIME: None,
}
LIVE_STATES = {
    "queued": gettext_lazy("queued"),
    "scheduled": gettext_lazy("scheduled"),
    "retrying": gettext_lazy("retrying"),
    "running": gettext_lazy("running"),
    "waiting": gettext_lazy("all that wait"),
    "live": gettext_lazy("all that are live"),
}
FINISHED_STATES = {
    "succeeded": gettext_lazy("succeeded"),
    "failed": gettext_lazy("failed"),
    "cancelled": gettext_lazy("cancelled"),
    "finished": gettext_lazy("all that have ended"),
}
STATES = LIVE_STATES | FINISHED_STATES
LABELS = {
    "state": gettext_lazy("state"),
    "job_type": gettext_lazy("job type"),
    "queue": gettext_lazy("queue"),
    "subject": gettext_lazy("subject"),
    "worker": gettext_lazy("worker"),
    "error": gettext_lazy("error class"),
    "window": gettext_lazy("queued within"),
    "since": gettext_lazy("queued from"),
    "until": gettext_lazy("queued before"),
    "attempts": gettext_lazy("attempts"),
    "longer": gettext_lazy("seconds at least"),
    "schedule": gettext_lazy("schedule"),
    "parent": gettext_lazy("repeats run"),
    "open": gettext_lazy("not run again since"),
    "q": gettext_lazy("search"),
    "order": gettext_lazy("order"),
}
NO_CLASS = "-"  # in the place of an error class: none, as where a run failed before it started
EXACTLY = "="  # before an error class: this one, and not one of the same name in some module
LONGEST_TEXT = 500
LARGEST_ID = 2**63 - 1  # what the column holds


def moment(text: str) -> datetime:
    """ISO 8601; without a zone it is by the clocks of who asks."""
    try:
        at = parse_datetime(text) or datetime.combine(date.fromisoformat(text), time())
        return (timezone.make_aware(at) if timezone.is_naive(at) else at).astimezone(UTC)
    except (ValueError, OverflowError):  # of another form, or no such day
        raise ValueError(_("use a moment such as 2026-01-31T18:00")) from None


def seconds(text: str) -> float:
    """A number, or with its unit: 90, 1.5, 30s, 5m, 1h."""
    try:
        given: float | str = float(text)
    except ValueError:
        given = text
    return values.period(given)


def whole(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= LARGEST_ID:
        return int(text)
    raise ValueError(_("use a whole number above 0"))


def run_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValueError(_("use the id of a run, a UUID")) from None


def exactly(error_class: str) -> str:
    """The value that finds this class and no other."""
    if not error_class:
        return NO_CLASS
    return error_class if "." in error_class else EXACTLY + error_class


def flag(text: str) -> bool:
    return values.choice(text, of=("0", "1")) == "1"


def as_text(value: Any) -> str:
    """The other way."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, bool):
        return "1"
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return str(value)


_text = partial(values.text, longest=LONGEST_TEXT)

# In the order in which an address has them.
READERS: dict[str, Callable[[str], Any]] = {
    "state": partial(values.choice, of=tuple(STATES)),
    "job_type": _text,
    "queue": _text,
    "subject": _text,
    "worker": _text,
    "error": _text,
    "window": partial(values.choice, of=tuple(WINDOWS)),
    "since": moment,
    "until": moment,
    "attempts": partial(values.choice, of=("more",)),
    "longer": seconds,
    "schedule": whole,
    "parent": run_id,
    "open": flag,
    "q": _text,
    "order": partial(values.choice, of=("due",)),
}
