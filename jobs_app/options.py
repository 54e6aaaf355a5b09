"""Every option that may be given where a job is defined and where it is enqueued: its name, its type and its rule."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias, TypedDict
from uuid import UUID

from django.utils.functional import Promise

from jobs_app import limits, schedule_options, values
from jobs_app.errors import OptionInvalid
from jobs_app.presets import Preset
from jobs_app.retry import Backoff
from jobs_app.schedule_options import optional

Duration: TypeAlias = float | timedelta | str  # seconds, a timedelta, or text such as "30s", "5m", "1h", "7d"
FromPayload: TypeAlias = str | Callable[[dict[str, Any]], Any]  # a field, or a callable that gets the payload as stored
Errors: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]
Reader: TypeAlias = Callable[[Any], Any]

ISOLATIONS = ("thread", "process")
ON_CONFLICT = ("return", "error", "replace")


class JobOptions(TypedDict, total=False):
    """Options of `@job`. None means none, also where a preset would give a value."""

    name: str
    label: str | Promise
    enabled: bool | Callable[[], bool]
    queue: str
    priority: int
    max_attempts: int
    backoff: Backoff
    timeout: Duration | Callable[[dict[str, Any]], Duration | None] | None
    timeouts: Mapping[str, Duration]
    variant: FromPayload | None
    max_timeout: Duration | None
    lease: Duration | None
    policy: str
    key: FromPayload | None
    singleton: bool | FromPayload
    exclusive: bool | FromPayload
    subject: FromPayload | None
    concurrency: int | None
    concurrency_per_key: int | None
    concurrency_per_process: int | None
    rate: str | tuple[int, float] | None
    rate_per_key: str | tuple[int, float] | None
    on_conflict: str
    debounce: Duration | None
    throttle: Duration | None
    retry_on: Errors
    fail_on: Errors
    retry_unknown: bool
    retry_timeouts: bool
    retention: Duration | Mapping[str, Duration] | None
    keep_last: int | None
    meta: Mapping[str, Any]
    takes_context: bool
    isolation: str
    memory: int | str | None
    atomic: bool
    remote: bool
    target: FromPayload | None
    sink: Callable[[UUID, dict[str, Any]], int] | None
    permission: str | None
    every: Duration | None
    per_hour: float | None
    cron: str | None
    timezone: str
    payload: Mapping[str, Any] | None
    catch_up: str | None
    catch_up_max: int | None
    catch_up_window: Duration | None
    spread: Duration | None
    jitter: Duration | None
    phase: Duration | None
    overlap: str | None
    schema: Any
    preset: str | Preset | None


class EnqueueOptions(TypedDict, total=False):
    """Options of one enqueue. None is the same as not given."""

    run_at: datetime | None
    delay: Duration | None
    priority: int | None
    queue: str | None
    key: str | None
    subject: str | None
    idempotency_key: str | None
    expires_at: datetime | None
    meta: Mapping[str, Any] | None
    max_attempts: int | None
    timeout: Duration | None
    actor: Any  # a name; `trigger` also takes the user who asks
    parent: UUID | None
    on_conflict: str | None
    debounce: Duration | None
    throttle: Duration | None


def _as_given(value: Any) -> Any:
    return value


_priority = partial(values.whole, low=-100, high=100)
_attempts = partial(values.whole, low=1, high=10_000)
subject_text = partial(values.text, longest=200)
key_text = partial(values.text, longest=200, shortest=1)

JOB_READERS: dict[str, Reader] = {
    "name": values.name,
    "label": values.label,
    "enabled": values.switch,
    "queue": values.name,
    "priority": _priority,
    "max_attempts": _attempts,
    "backoff": values.backoff,
    "timeout": optional(values.timeout),
    "timeouts": values.periods,
    "variant": optional(values.from_payload),
    "max_timeout": optional(values.period),
    "lease": optional(values.period),
    "policy": limits.READERS["policy"],
    "key": optional(values.from_payload),
    "singleton": values.policy_key,
    "exclusive": values.policy_key,
    "subject": optional(values.from_payload),
    "concurrency": optional(limits.READERS["concurrency"]),
    "concurrency_per_key": optional(limits.READERS["concurrency_per_key"]),
    "concurrency_per_process": optional(limits.READERS["concurrency_per_process"]),
    "rate": optional(limits.rate),
    "rate_per_key": optional(limits.rate),
    "on_conflict": partial(values.choice, of=ON_CONFLICT),
    "debounce": optional(values.period),
    "throttle": optional(values.period),
    "retry_on": values.errors,
    "fail_on": values.errors,
    "retry_unknown": values.flag,
    "retry_timeouts": values.flag,
    "retention": optional(values.retention),
    "keep_last": optional(partial(values.whole, low=1, high=10_000)),
    "meta": values.mapping,
    "takes_context": values.flag,
    "isolation": partial(values.choice, of=ISOLATIONS),
    "memory": optional(values.memory),
    "atomic": values.flag,
    "remote": values.flag,
    "target": optional(values.from_payload),
    "sink": optional(values.function),
    "permission": optional(values.permission),
    **{name: reader for name, reader in schedule_options.READERS.items() if name != "at"},
    "schema": _as_given,
    "preset": optional(values.preset),
}

ENQUEUE_READERS: dict[str, Reader] = {
    "run_at": values.moment,
    "delay": values.seconds,
    "priority": _priority,
    "queue": values.name,
    "key": key_text,
    "subject": subject_text,
    "idempotency_key": key_text,
    "expires_at": values.moment,
    "meta": values.mapping,
    "max_attempts": _attempts,
    "timeout": values.period,
    "actor": partial(values.text, longest=150),
    "parent": values.uuid,
    "on_conflict": partial(values.choice, of=ON_CONFLICT),
    "debounce": values.period,
    "throttle": values.period,
}


def read(given: Mapping[str, Any], readers: Mapping[str, Reader], error: type[Exception], where: str) -> dict[str, Any]:
    """Check every option by its rule; `error` names the first that is unknown or cannot be used."""
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        if name not in readers:
            raise error(f"{where}: there is no option {name!r}.{did_you_mean(name, readers)}")
        try:
            chosen[name] = readers[name](value)
        except ValueError as problem:
            raise error(f"{where}: {name}={value!r} cannot be used: {problem}.") from None
    return chosen


def read_enqueue(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check the options of an enqueue, each alone and all together."""
    named = {name: value for name, value in given.items() if value is not None or name not in ENQUEUE_READERS}
    chosen = read(named, ENQUEUE_READERS, OptionInvalid, where)
    if "run_at" in chosen and "delay" in chosen:
        raise OptionInvalid(f"{where}: run_at and delay both say when. Give one of them.")
    if "run_at" in chosen and "expires_at" in chosen and chosen["expires_at"] <= chosen["run_at"]:
        raise OptionInvalid(f"{where}: it would expire before it is due. Give an expires_at after run_at.")
    if "debounce" in chosen and ("run_at" in chosen or "delay" in chosen):
        raise OptionInvalid(f"{where}: debounce says when it is due. Leave out run_at and delay.")
    return chosen


def did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else f" Known are: {', '.join(sorted(known))}."
