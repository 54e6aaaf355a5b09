"""What a test expects of an enqueued job, and in which words a job differs from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypedDict

from jobs_app import values
from jobs_app.errors import PayloadInvalid
from jobs_app.handles import RunHandle
from jobs_app.models import Run
from jobs_app.options import Duration, did_you_mean
from jobs_app.registry import registry

PLAIN = ("queue", "subject", "key", "priority", "actor")


class Criteria(TypedDict, total=False):
    """Each value may also be a function that gets what is stored and says whether it fits."""

    payload: Mapping[str, Any] | Callable[[dict[str, Any]], bool]  # these fields; others may be there too
    meta: Mapping[str, Any] | Callable[[dict[str, Any]], bool]  # likewise
    queue: str | Callable[[str], bool]
    subject: str | Callable[[str], bool]
    key: str | Callable[[str | None], bool] | None
    priority: int | Callable[[int], bool]
    actor: str | Callable[[str], bool]
    run_at: datetime | Callable[[datetime], bool]
    delay: Duration  # from its enqueue until it is due
    within: Duration  # how far `run_at` and `delay` may be off; a second where it is not said
    matching: Callable[[RunHandle], bool]


@dataclass(frozen=True)
class Wanted:
    job_type: str | None
    criteria: Mapping[str, Any]
    within: timedelta = field(init=False)

    def __post_init__(self) -> None:
        for name in self.criteria:
            if name not in Criteria.__annotations__:
                raise TypeError(f"there is no criterion {name!r}.{did_you_mean(name, Criteria.__annotations__)}")
        seconds = values.seconds(self.criteria.get("within", 1))
        object.__setattr__(self, "within", timedelta(seconds=seconds))

    def __str__(self) -> str:
        named = f"job {self.job_type!r}" if self.job_type else "job"
        said = ", ".join(f"{name}={_told(value)}" for name, value in self.criteria.items())
        return f"{named} with {said}" if said else named

    def differences(self, run: Run) -> list[str]:
        """One line for each criterion that the run does not meet; none where it is wanted."""
        return list(self._differences(run))

    def _differences(self, run: Run) -> Iterator[str]:
        if self.job_type not in (None, run.job_type):
            yield f"it is a {run.job_type}"
        for name, expected in self.criteria.items():
            yield from self._differing(name, expected, run)

    def _differing(self, name: str, expected: Any, run: Run) -> Iterator[str]:
        if name in PLAIN:
            yield from _unequal(name, expected, [getattr(run, name)])
        elif name == "payload":
            yield from _unequal_fields(name, expected, run.payload, _loaded(run))
        elif name == "meta":
            yield from _unequal_fields(name, expected, run.meta, run.meta)
        elif name == "run_at":
            yield from self._wrong_moment(expected, run)
        elif name == "delay":
            yield from self._wrong_delay(expected, run)
        elif name == "matching" and not expected(RunHandle(run.pk, run)):
            yield f"matching={_told(expected)} says no"

    def _wrong_moment(self, expected: Any, run: Run) -> Iterator[str]:
        if callable(expected):
            yield from _unequal("run_at", expected, [run.run_at])
        elif abs(run.run_at - values.moment(expected)) > self.within:
            yield f"run_at is {run.run_at}, not {expected}: {abs(run.run_at - expected)} apart"

    def _wrong_delay(self, expected: Any, run: Run) -> Iterator[str]:
        actual = run.run_at - run.queued_at
        if abs(actual - timedelta(seconds=values.seconds(expected))) > self.within:
            yield f"its delay is {actual}, not {expected}"


def _unequal_fields(name: str, expected: Any, stored: dict[str, Any], loaded: dict[str, Any]) -> Iterator[str]:
    if callable(expected):
        yield from _unequal(name, expected, [stored])
        return
    for part, value in expected.items():
        if part in stored or part in loaded:
            yield from _unequal(f"{name}[{part!r}]", value, [each[part] for each in (stored, loaded) if part in each])
        else:
            yield f"{name} has no {part!r}"


def _unequal(name: str, expected: Any, actual: list[Any]) -> Iterator[str]:
    """`actual` is the same value in its forms: as stored, and as the handler gets it."""
    if callable(expected):
        if not any(expected(form) for form in actual):
            yield f"{name} is {actual[0]!r}, and {_told(expected)} says no"
    elif not any(expected == form for form in actual):
        yield f"{name} is {actual[0]!r}, not {expected!r}"


def _loaded(run: Run) -> dict[str, Any]:
    """The payload as the handler would get it: dates are dates there."""
    job_type = registry.find(run.job_type)
    try:
        return {} if job_type is None else job_type.schema.load(run.payload)
    except PayloadInvalid:
        return {}


def _told(value: Any) -> str:
    return getattr(value, "__name__", repr(value)) if callable(value) else repr(value)
