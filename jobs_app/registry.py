"""What job types exist: data from code, no database."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from jobs_app.conf import Settings, get_settings, settings_or_defaults
from jobs_app.errors import DefinitionInvalid, UnknownJobType
from jobs_app.limits import SYSTEM_NAMES as SYSTEM_NAMES
from jobs_app.limits import SYSTEM_QUEUE as SYSTEM_QUEUE
from jobs_app.limits import Limits, Rate, gate
from jobs_app.presets import Preset
from jobs_app.retry import Backoff
from jobs_app.schedule_options import UNSCHEDULED, ScheduleOptions
from jobs_app.schemas import PayloadSchema
from jobs_app.timetable import Timetable

LIMITS = [field.name for field in fields(Limits)]


@dataclass(frozen=True, kw_only=True, eq=False)
class JobType:
    """One handler and all its options, every default filled in: by the settings in force where code says nothing."""

    name: str
    function: Callable[..., Any]
    schema: PayloadSchema
    label: str
    queue: str
    priority: int
    own_attempts: int | None = None  # None: as the settings say
    own_backoff: Backoff | None = None  # likewise
    preset: Preset | None = None
    enabled: bool | Callable[[], bool] = True
    timeout: float | Callable[..., Any] | None = None  # seconds, or a callable that gets the payload
    timeouts: Mapping[str, float] = field(default_factory=dict)  # seconds by variant; no maximum applies to these
    variant: str | Callable[..., Any] | None = None  # a payload field, or a callable that gets the payload
    max_timeout: float | None = None  # seconds; None: as the settings say
    lease: float | None = None  # seconds; None: what the worker gives
    policy: str = "standard"
    key: str | Callable[..., str] | None = None  # a payload field, or a callable that gets the payload
    subject: str | Callable[..., str] | None = None  # likewise
    concurrency: int | None = None
    concurrency_per_key: int | None = None
    concurrency_per_process: int | None = None
    rate: Rate | None = None
    rate_per_key: Rate | None = None
    on_conflict: str = "return"  # what an enqueue gets where its key is taken: the run, an error, or its place
    debounce: float | None = None  # seconds
    throttle: float | None = None  # seconds
    retry_on: tuple[type[BaseException], ...] = ()
    fail_on: tuple[type[BaseException], ...] = ()
    retry_unknown: bool = True
    retry_timeouts: bool = False
    retention: Mapping[str, timedelta] | None = None  # by final state; what is not in it: as the settings say
    keep_last: int | None = None  # runs per schedule that stay, whatever their age
    meta: Mapping[str, Any] = field(default_factory=dict)
    takes_context: bool = False
    isolation: str = "thread"
    memory: int | None = None  # bytes, of its process and all that it starts
    atomic: bool = False
    remote: bool = False  # its handler is elsewhere: workers of this project leave it to those that pull it over HTTP
    target: str | Callable[..., Any] | None = None  # results that are enough: a payload field, or a callable
    sink: Callable[..., int] | None = None  # takes what remote workers report; None: `JobItem`
    permission: str | None = None
    own_schedule: ScheduleOptions = UNSCHEDULED  # how it comes back by itself; its subjects may say otherwise
    paced_by: str | None = None  # the setting that says after how many seconds it does
    is_async: bool = False

    @property
    def max_attempts(self) -> int:
        return get_settings().max_attempts if self.own_attempts is None else self.own_attempts

    @property
    def backoff(self) -> Backoff:
        return self.own_backoff or usual_backoff(get_settings())

    @property
    def schedule(self) -> ScheduleOptions:
        if self.paced_by is None:
            return self.own_schedule
        return replace(self.own_schedule, timetable=Timetable(every=getattr(settings_or_defaults(), self.paced_by)))

    @property
    def is_enabled(self) -> bool:
        return self.enabled() if callable(self.enabled) else self.enabled

    @cached_property
    def limits(self) -> Limits:
        return Limits(**{name: getattr(self, name) for name in LIMITS})

    @property
    def may_time_out(self) -> bool:
        return self.timeout is not None or bool(self.timeouts)

    @property
    def runs_in_loop(self) -> bool:
        return self.is_async and self.isolation == "thread"

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "")


class Registry:
    """Job types by name. The same function may be registered again (a reload); another one under its name may not."""

    def __init__(self) -> None:
        self._types: dict[str, JobType] = {}

    def register(self, job_type: JobType) -> None:
        known = self._types.get(job_type.name)
        if known is not None and _path(known.function) != _path(job_type.function):
            raise DefinitionInvalid(
                f"two jobs are named {job_type.name!r}: {_path(known.function)} and {_path(job_type.function)}. "
                "Give one of them another name=."
            )
        self._types[job_type.name] = job_type

    def get(self, name: str) -> JobType:
        try:
            return self._types[name]
        except KeyError:
            raise UnknownJobType(f"job type {name!r} is not registered.{self._hint(name)}") from None

    def find(self, name: str) -> JobType | None:
        return self._types.get(name)

    def names(self) -> list[str]:
        return sorted(self._types)

    def unregister(self, name: str) -> None:
        self._types.pop(name, None)

    def __iter__(self) -> Iterator[JobType]:
        return iter(sorted(self._types.values(), key=lambda job_type: job_type.name))

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def _hint(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._types, n=1)
        if near:
            return f" Did you mean {near[0]!r}?"
        return " Define it with @job in a jobs.py of an installed app."


registry = Registry()


def usual_backoff(settings: Settings) -> Backoff:
    """Of what says nothing itself."""
    return Backoff(base=settings.backoff_base_seconds, cap=settings.backoff_max_seconds)


def gate_in(queue: str, policy: str, *rules: Limits) -> int:
    """What a job must pass there before it is open to claims."""
    return gate(policy) if queue == SYSTEM_QUEUE else gate(policy, *rules)


def _path(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
