"""Settings in words: their values, their ranges, and what a change of one means for the work there is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app import durations
from jobs_app.conf import Settings
from jobs_app.knobs import Knob
from jobs_app.registry import usual_backoff

MOST_WAITS = 6


def shown(knob: Knob, value: Any) -> str:
    """A value as a person says it."""
    if value is None:
        return _("no limit")
    if knob.kind == "flag":
        return _("on") if value else _("off")
    if knob.kind == "kinds":
        return ", ".join(value) or _("none")
    if knob.kind == "seconds":
        return durations.exact(value)
    if knob.kind == "days":
        return ngettext("%(count)s day", "%(count)s days", int(value)) % {"count": f"{value:g}"}
    return str(value)


def bounds(knob: Knob) -> str:
    if knob.kind == "flag":
        return ""
    if knob.kind == "kinds":
        return _("some of %(choices)s") % {"choices": ", ".join(knob.choices)}
    return _("%(low)s to %(high)s") % {"low": shown(knob, knob.low), "high": shown(knob, knob.high)}


def effect(knob: Knob, settings: Settings, now: datetime) -> list[str]:
    """What holds with these settings, as far as it can be said in a line or two."""
    tell = EFFECTS.get(knob.name)
    return [] if tell is None else tell(settings, now)


def _attempts(settings: Settings, now: datetime) -> list[str]:
    backoff = usual_backoff(settings)
    waits = [backoff.delay_after(tried, lambda: 0.0) for tried in range(1, settings.max_attempts)]
    told = ngettext(
        "A job that is enqueued from now on fails for good after %(count)s attempt.",
        "A job that is enqueued from now on fails for good after %(count)s attempts.",
        settings.max_attempts,
    ) % {"count": settings.max_attempts}
    if not waits:
        return [told]
    listed = ", ".join(map(durations.exact, waits[:MOST_WAITS])) + (", …" if len(waits) > MOST_WAITS else "")
    share = f"{backoff.jitter_ratio:.0%}"
    between = _("It waits %(waits)s in between, each up to %(share)s longer.") % {"waits": listed, "share": share}
    total = _("It is tried for %(time)s at least.") % {"time": durations.rough(sum(waits))}
    return [told, between, total]


def _lease(settings: Settings, now: datetime) -> list[str]:
    seconds = settings.lease_seconds
    soon = durations.exact(seconds + settings.recover_seconds)
    return [
        _("The job of a worker that is killed is due again within %(time)s.") % {"time": soon},
        _("Workers renew their leases every %(time)s.") % {"time": durations.rough(seconds / 3)},
        _("A worker that was started with --lease keeps its own."),
    ]


def _remote_lease(settings: Settings, now: datetime) -> list[str]:
    first, then = (durations.exact(each) for each in (settings.remote_lease_seconds, settings.remote_extend_seconds))
    return [
        _("The job of a remote worker that says nothing is due again after %(time)s.") % {"time": first},
        _("Each of its reports lets it have the job for %(time)s more, from then on.") % {"time": then},
    ]


def _kept(name: str) -> Callable[[Settings, datetime], list[str]]:
    def tell(settings: Settings, now: datetime) -> list[str]:
        days = getattr(settings, name)
        if not days:
            return [_("Nothing of it is deleted.")]
        day = formats.date_format(timezone.localtime(now - timedelta(days=days)), "DATETIME_FORMAT")
        return [_("What ended before %(moment)s is deleted, and cannot be brought back.") % {"moment": day}]

    return tell


def _catch_up(settings: Settings, now: datetime) -> list[str]:
    told = {"count": settings.catch_up_max, "time": durations.exact(settings.catch_up_spread_seconds)}
    return [
        ngettext(
            "A schedule that is behind makes up for %(count)s slot in one turn, spread over %(time)s.",
            "A schedule that is behind makes up for %(count)s slots in one turn, spread over %(time)s.",
            settings.catch_up_max,
        )
        % told
    ]


EFFECTS: dict[str, Callable[[Settings, datetime], list[str]]] = {
    "max_attempts": _attempts,
    "backoff_base_seconds": _attempts,
    "backoff_max_seconds": _attempts,
    "lease_seconds": _lease,
    "recover_seconds": _lease,
    "remote_lease_seconds": _remote_lease,
    "remote_extend_seconds": _remote_lease,
    "catch_up_max": _catch_up,
    "catch_up_spread_seconds": _catch_up,
    "retention_days": _kept("retention_days"),
    "retention_failed_days": _kept("retention_failed_days"),
    "control_event_retention_days": _kept("control_event_retention_days"),
    "sample_retention_days": _kept("sample_retention_days"),
}
