"""Where schedules get their subjects from, and where work that is due lies: functions of the host, named in code.

@subjects("deal", "retrieval")
def providers():
    return Provider.objects.filter(active=True).values_list("address", flat=True)

@due("charge")
def due_subscriptions(now):
    return Subscription.objects.filter(status="ACTIVE", next_due_at__lte=now)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

from jobs_app import schedule_options, values
from jobs_app.errors import DefinitionInvalid, OptionInvalid
from jobs_app.options import read, subject_text
from jobs_app.registry import JobType
from jobs_app.schedule_options import ScheduleOptions

Function = TypeVar("Function", bound=Callable[..., Iterable[Any]])

CHUNK = 2000  # rows of a queryset that are fetched at once: a source may have a million


class SubjectRow(NamedTuple):
    """One row of a source: a subject, and what is said of it alone."""

    subject: str
    options: ScheduleOptions


@dataclass(frozen=True, kw_only=True)
class Source:
    """A function that yields rows: texts, numbers, model instances, or dicts with a `subject` and what it has of its
    own, its payload and its rate."""

    name: str
    function: Callable[..., Iterable[Any]]
    job_types: tuple[str, ...]
    kind: str  # "subjects", or "due"

    def rows(self, now: datetime) -> Iterable[Any]:
        takes_now = bool(inspect.signature(self.function).parameters)
        found = self.function(now) if takes_now else self.function()
        return found.iterator(chunk_size=CHUNK) if isinstance(found, QuerySet) else found


class Sources:
    """All that code names, by the path of their function. The same one may be named again (a reload)."""

    def __init__(self) -> None:
        self._known: dict[str, Source] = {}

    def add(self, source: Source) -> None:
        for job_type in source.job_types:
            other = self.of(job_type)
            if other is not None and other.name != source.name:
                raise DefinitionInvalid(
                    f"job type {job_type!r} has two sources: {other.name} and {source.name}. Let one yield all of them."
                )
        self._known[source.name] = source

    def of(self, job_type: str, kind: str | None = None) -> Source | None:
        """The source that names this job type, if there is one (of that kind)."""
        found = (source for source in self if job_type in source.job_types)
        return next((source for source in found if kind in (None, source.kind)), None)

    def remove(self, name: str) -> None:
        self._known.pop(name, None)

    def __iter__(self) -> Iterator[Source]:
        return iter([self._known[name] for name in sorted(self._known)])


sources = Sources()


def subjects(*job_types: Any) -> Callable[[Function], Function]:
    """Each of these job types has a schedule for each subject that the function yields, as long as it does."""
    return lambda function: _add(function, job_types, "subjects")


def due(*job_types: Any) -> Callable[[Function], Function]:
    """What the function yields is due: one job each, and no second one while the first is queued or running.

    The function may take the time that counts, as its only argument.
    """
    return lambda function: _add(function, job_types, "due")


def subject_of(row: Any) -> str:
    """Whom a row is about, whatever else it says. ValueError if it cannot be told."""
    return _subject_text(_split(row)[0])


def read_row(job_type: JobType, row: Any) -> SubjectRow:
    """What a row says about a job type. ValueError or OptionInvalid if it cannot be used."""
    value, said = _split(row)
    subject = _subject_text(value)
    options = schedule_options.take(read(said, schedule_options.READERS, OptionInvalid, f"subject {subject!r}"))
    if options.payload is None and isinstance(job_type.subject, str):
        payload = {**(job_type.schedule.payload or {}), job_type.subject: value if _is_plain(value) else subject}
        options = replace(options, payload=payload)
    return SubjectRow(subject, options.over(job_type.schedule))


def _add(function: Function, job_types: tuple[Any, ...], kind: str) -> Function:
    where = f"@{kind} on {getattr(function, '__qualname__', function)}"
    if not job_types or not callable(function):
        raise DefinitionInvalid(f'{where}: name the job types, as @{kind}("deal", "retrieval"), above a function.')
    names = tuple(getattr(each, "name", each) for each in job_types)
    for name in names:
        try:
            values.name(name)
        except ValueError as problem:
            raise DefinitionInvalid(f"{where}: {name!r} cannot be the name of a job type: {problem}.") from None
    path = f"{function.__module__}.{function.__qualname__}"
    sources.add(Source(name=path, function=function, job_types=names, kind=kind))
    return function


def _split(row: Any) -> tuple[Any, dict[str, Any]]:
    """The subject as the source gives it, and what else it says."""
    if isinstance(row, Mapping):
        if "subject" not in row:
            raise ValueError(f"a row needs a subject, as in {{'subject': 'f01234', 'per_hour': 4}}, not {dict(row)!r}")
        return row["subject"], {name: value for name, value in row.items() if name != "subject"}
    return (row.pk if isinstance(row, Model) else row), {}


def _subject_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        raise ValueError(f"{value!r} is no subject: yield texts, numbers, UUIDs, model instances, or dicts with one")
    return subject_text(str(value), shortest=1)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int)
