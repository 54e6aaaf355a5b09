"""What a job type and a queue say about themselves, in words of people."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs_app import durations
from jobs_app.admin.payload_drawing import allowed_by, without_null
from jobs_app.conf import get_settings
from jobs_app.limits import NO_RULES, Rate
from jobs_app.models import Policy
from jobs_app.registry import JobType
from jobs_app.retry import Backoff
from jobs_app.schemas import Field
from jobs_app.schemas.annotations import unwrap

PERIODS = {1: "second", 60: "minute", 3600: "hour", 86400: "day"}  # as a rate is written


def retries(job_type: JobType) -> str:
    """How often it is tried, and how long it waits in between."""
    most = job_type.max_attempts
    if most == 1:
        return _("one attempt")
    told = ngettext("%(count)s attempt", "%(count)s attempts", most) % {"count": most}
    return f"{told}, {backoff(job_type.backoff)}"


def retries_in_short(job_type: JobType) -> str:
    most, rule = job_type.max_attempts, job_type.backoff
    if most == 1:
        return _("one attempt")
    first, last = (rule.delay_after(attempt, random=lambda: 0.0) for attempt in (1, most - 1))
    told = {"count": most, "first": durations.rough(first), "last": durations.rough(last)}
    if first == last:
        return ngettext("%(count)s attempt, %(first)s apart", "%(count)s attempts, %(first)s apart", most) % told
    text = ngettext(
        "%(count)s attempt, %(first)s to %(last)s apart", "%(count)s attempts, %(first)s to %(last)s apart", most
    )
    return text % told


def backoff(rule: Backoff) -> str:
    first = rule.delay_after(1, random=lambda: 0.0)
    if rule.factor == 1 or not rule.base:
        return _("%(time)s apart") % {"time": durations.exact(first)}
    told = {"first": durations.exact(first), "factor": f"{rule.factor:g}"}
    if rule.cap is None:
        return _("waits from %(first)s on, each %(factor)s times as long") % told
    told["most"] = durations.exact(rule.cap)
    return _("waits from %(first)s on, each %(factor)s times as long, up to %(most)s") % told


def timeout(job_type: JobType) -> str:
    """Empty where it may take as long as it takes."""
    told = _by_payload(job_type.timeout)
    listed = ", ".join(f"{name} {durations.exact(seconds)}" for name, seconds in job_type.timeouts.items())
    return "; ".join(filter(None, (told, listed)))


def policy(job_type: JobType) -> str:
    """The type's own, else that of its queue."""
    of_queue = get_settings().queues.get(job_type.queue, NO_RULES).policy
    chosen = job_type.policy if job_type.policy != Policy.STANDARD else of_queue
    return str(Policy(chosen).label)


def rate(value: Rate | None) -> str:
    """As it is written in settings too: 10/minute, 5/30s."""
    if value is None:
        return ""
    return f"{value.starts}/{PERIODS.get(value.seconds) or f'{value.seconds:g}s'}"  # type: ignore[call-overload]


def options(job_type: JobType) -> list[tuple[str, str]]:
    """All that code says about it, but for what it does not say."""
    told = {
        _("Queue"): job_type.queue,
        _("Priority"): str(job_type.priority),
        _("Retries"): retries(job_type),
        _("Errors that are retried"): _classes(job_type.retry_on),
        _("Errors that end it"): _classes(job_type.fail_on),
        _("Timeout"): timeout(job_type) or _("none"),
        _("Lease"): _length(job_type.lease),
        _("Policy"): policy(job_type),
        _("Subject"): _source(job_type.subject),
        _("Key"): _source(job_type.key),
        **_limits(job_type),
        _("Runs in"): _("a process of its own") if job_type.isolation == "process" else "",
        _("Memory at most"): "" if job_type.memory is None else f"{job_type.memory / 1024**2:.0f} MB",
        _("Commits with its end"): _("yes") if job_type.atomic else "",
        _("Kept for"): _retention(job_type.retention),
        _("Needs permission"): job_type.permission or "",
        _("Preset"): job_type.preset.name if job_type.preset else "",
    }
    return [(name, text) for name, text in told.items() if text]


def kind_of(field: Field) -> str:
    """What a value of the payload is, as a person would say it."""
    annotation = unwrap(field.annotation)
    if isinstance(annotation, forms.Field):
        return type(annotation).__name__
    kind, is_nullable = without_null(annotation)
    allowed = [str(each) for each in field.choices or allowed_by(kind) if each is not None]
    told = _("one of %(values)s") % {"values": ", ".join(allowed)} if allowed else _name(kind)
    return get_text_list([told, _("nothing")], _("or")) if is_nullable else told


def _name(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is None:
        return getattr(kind, "__name__", str(kind))
    inner = ", ".join("..." if each is Ellipsis else _name(unwrap(each)) for each in arguments)
    return f"{getattr(origin, '__name__', origin)}[{inner}]"


def _limits(job_type: JobType) -> dict[str, str]:
    found = {
        _("Running at most"): job_type.concurrency,
        _("Running at most per key"): job_type.concurrency_per_key,
        _("Running at most per process"): job_type.concurrency_per_process,
        _("Starts at most"): rate(job_type.rate),
        _("Starts at most per key"): rate(job_type.rate_per_key),
        _("Debounced by"): _length(job_type.debounce),
        _("Throttled by"): _length(job_type.throttle),
    }
    return {name: str(value) for name, value in found.items() if value}


def _source(given: Any) -> str:
    if given is None:
        return ""
    return _("by its payload") if callable(given) else _("from %(field)s") % {"field": given}


def _by_payload(seconds: Any) -> str:
    return _("by its payload") if callable(seconds) else _length(seconds)


def _length(seconds: float | None) -> str:
    return "" if seconds is None else durations.exact(seconds)


def _classes(given: tuple[type[BaseException], ...]) -> str:
    return ", ".join(each.__name__ for each in given)


def _retention(given: Mapping[str, timedelta] | None) -> str:
    if not given:
        return ""
    return ", ".join(f"{state} {durations.exact(age.total_seconds())}" for state, age in given.items())
