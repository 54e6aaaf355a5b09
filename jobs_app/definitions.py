"""`@job`: makes a function a job type, and the object that people enqueue with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import update_wrapper
from inspect import isroutine
from typing import TYPE_CHECKING, Any, Generic, Never, ParamSpec, TypeVar, Unpack, overload

from asgiref.sync import sync_to_async

from jobs_app.conf import get_settings
from jobs_app.declarations import declare
from jobs_app.errors import DefinitionInvalid, JobDisabled, OptionInvalid, PayloadInvalid, RunNotFound
from jobs_app.handles import NewRun, RunHandle
from jobs_app.ids import uuid7
from jobs_app.options import EnqueueOptions, JobOptions, key_text, read_enqueue, subject_text
from jobs_app.registry import JobType, registry
from jobs_app.strict_json import dumps

if TYPE_CHECKING:
    from jobs_app.lifecycle.enqueue import Enqueued, NewJob

Params = ParamSpec("Params")
Returned = TypeVar("Returned")

NOT_IN_BULK = ("idempotency_key", "parent")  # each names one run


class JobDefinition(Generic[Params, Returned]):
    """A job type as its callers hold it: call it as the plain function, or enqueue it."""

    def __init__(self, job_type: JobType, options: Mapping[str, Any] | None = None) -> None:
        update_wrapper(self, job_type.function)
        self.job_type = job_type
        self._options = read_enqueue(options or {}, f"job {job_type.name!r}")
        self._columns = _columns(job_type, self._options)

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Returned:
        returned: Returned = self.job_type.function(*args, **kwargs)
        return returned

    def __repr__(self) -> str:
        return f"<job {self.name}>"

    @property
    def name(self) -> str:
        return self.job_type.name

    def options(self, **options: Unpack[EnqueueOptions]) -> JobDefinition[Params, Returned]:
        """The same job, with these options for what is enqueued through it."""
        return JobDefinition(self.job_type, {**self._options, **options})

    def enqueue(self, /, *positional: Never, **payload: Any) -> RunHandle:
        """Check the payload and store one job, in the caller's transaction."""
        if positional:
            raise PayloadInvalid(f"job {self.name!r} takes its payload by name: enqueue(field=value, ...).")
        return self._enqueue(payload)

    def enqueue_many(self, payloads: Iterable[Mapping[str, Any]]) -> list[RunHandle]:
        """Check every payload, then store all the jobs or none, thousands per statement."""
        from jobs_app.lifecycle.database import jobs_connection, write_transaction
        from jobs_app.lifecycle.enqueue import enqueue

        for option in NOT_IN_BULK:
            if option in self._options:
                raise OptionInvalid(f"job {self.name!r}: {option}= is about one run. Enqueue these one by one.")
        self._require_enabled()
        drafts = [self._draft_of_many(place, payload) for place, payload in enumerate(payloads)]
        if not drafts:
            return []
        with write_transaction(jobs_connection()):
            stored = enqueue([job for job, _ in drafts])
        return [_handle(self.name, new, payload) for new, (_, payload) in zip(stored, drafts, strict=True)]

    async def aenqueue(self, /, *positional: Never, **payload: Any) -> RunHandle:
        """`enqueue` for async code, on the connection of Django's sync thread and so in its transaction."""
        run = await sync_to_async(self.enqueue, thread_sensitive=True)(*positional, **payload)
        if not run.created:
            with suppress(RunNotFound):  # its key may outlive it
                await run.arefresh()  # now, because async code cannot read when a value is asked for
        return run

    def _enqueue(self, payload: Mapping[str, Any]) -> RunHandle:
        from jobs_app.lifecycle.enqueue import enqueue, enqueue_once

        self._require_enabled()
        job, checked = self._draft(payload)
        if "idempotency_key" not in self._options:
            return _handle(self.name, enqueue([job])[0], checked)
        # Without defaults: spelling one out is no other work, and neither is a field that a later release adds.
        body = self.job_type.schema.without_defaults(checked)
        run_id, stored = enqueue_once(job, key=self._options["idempotency_key"], body=body)
        return RunHandle(run_id, created=False) if stored is None else _handle(self.name, stored, checked)

    def _require_enabled(self) -> None:
        if not self.job_type.is_enabled:
            raise JobDisabled(f"job {self.name!r} is switched off by its enabled= option. Nothing was stored.")

    def _draft(self, payload: Mapping[str, Any]) -> tuple[NewJob, dict[str, Any]]:
        from jobs_app.lifecycle.enqueue import NewJob

        checked = self._checked(payload)
        text = dumps(checked, limit=get_settings().max_payload_bytes)
        subject, key = self._options.get("subject"), self._options.get("key")
        if subject is None:
            subject = _from_payload(self.job_type, "subject", checked) or ""
        if key is None:
            key = _from_payload(self.job_type, "key", checked)
        if key is None and self.job_type.policy != "standard":
            key = subject or self.name
        return NewJob(id=uuid7(), payload=text, subject=subject, key=key, **self._columns), checked

    def _draft_of_many(self, place: int, payload: Mapping[str, Any]) -> tuple[NewJob, dict[str, Any]]:
        try:
            return self._draft(payload)
        except PayloadInvalid as problem:
            raise PayloadInvalid(f"payload number {place}: {problem} No job was stored.", problem.errors) from None

    def _checked(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.job_type.schema.dump(payload)
        except PayloadInvalid as problem:
            raise PayloadInvalid(f"job {self.name!r}: {problem}", problem.errors) from None


@overload
def job(function: Callable[Params, Returned], /) -> JobDefinition[Params, Returned]: ...


@overload
def job(
    **options: Unpack[JobOptions],
) -> Callable[[Callable[Params, Returned]], JobDefinition[Params, Returned]]: ...


def job(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a job type: `@job`, or `@job(name=..., queue=..., ...)`."""
    if function is None:
        return lambda decorated: _define(decorated, options)
    return _define(function, options)


def trigger(name: str, payload: Mapping[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> RunHandle:
    """Enqueue a job by the name of its type, as operators, schedules and other systems do."""
    definition: JobDefinition[..., Any] = JobDefinition(registry.get(name), options)
    return definition._enqueue({} if payload is None else payload)


def draft(name: str, payload: Mapping[str, Any], **options: Unpack[EnqueueOptions]) -> NewJob:
    """The job that `trigger` would store, checked and not stored yet: a schedule gives it its slot first."""
    definition: JobDefinition[..., Any] = JobDefinition(registry.get(name), options)
    return definition._draft(payload)[0]


def _define(function: Callable[..., Any], options: Mapping[str, Any]) -> JobDefinition[..., Any]:
    if not isroutine(function):
        raise DefinitionInvalid(f"@job stands above a function, not {function!r}. Options go by name: @job(name=...).")
    job_type = declare(function, options)
    registry.register(job_type)
    return JobDefinition(job_type)


def _columns(job_type: JobType, options: Mapping[str, Any]) -> dict[str, Any]:
    """What every job that is enqueued with these options has in common."""
    columns: dict[str, Any] = {
        "job_type": job_type.name,
        "policy": job_type.policy,
        "meta": _meta_text(job_type, options),
    }
    for name in ("queue", "priority", "max_attempts"):
        columns[name] = options.get(name, getattr(job_type, name))
    for name in ("run_at", "delay", "expires_at", "actor", "parent"):
        if name in options:
            columns[name] = options[name]
    return columns


def _meta_text(job_type: JobType, options: Mapping[str, Any]) -> str:
    try:
        merged = {**job_type.meta, **options.get("meta", {})}
        return dumps(merged, limit=get_settings().max_payload_bytes, what="meta")
    except PayloadInvalid as problem:
        raise OptionInvalid(f"job {job_type.name!r}: {problem}") from None


def _from_payload(job_type: JobType, option: str, checked: dict[str, Any]) -> str | None:
    """The subject or the key that the job type takes from a payload; None where it finds none."""
    source = getattr(job_type, option)
    if source is None:
        return None
    found = source(checked) if callable(source) else _field(job_type, source, checked)
    if found is None or found == "":
        return None
    try:
        return (key_text if option == "key" else subject_text)(str(found))
    except ValueError as problem:
        raise PayloadInvalid(f"job {job_type.name!r}: its {option} {str(found)!r} cannot be used: {problem}.") from None


def _field(job_type: JobType, name: str, checked: dict[str, Any]) -> Any:
    if name in checked:
        return checked[name]
    default = next((field.default for field in job_type.schema.fields if field.name == name), None)
    return None if default is None else job_type.schema.dump({**checked, name: default})[name]


def _handle(name: str, new: Enqueued, payload: dict[str, Any]) -> RunHandle:
    known = NewRun(id=new.id, job_type=name, payload=payload, queued_at=new.queued_at, run_at=new.run_at)
    return RunHandle(new.id, known)
