"""`@job`: makes a function a job type, and the object that people enqueue with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial, update_wrapper
from inspect import isroutine
from typing import TYPE_CHECKING, Any, Generic, Never, ParamSpec, TypeVar, Unpack, overload

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseTrouble
from django.db import transaction

from jobs_app.conf import are_overrides_stale
from jobs_app.counters import ENQUEUES
from jobs_app.declarations import declare
from jobs_app.drafts import Drafts
from jobs_app.errors import DefinitionInvalid, JobDisabled, OptionInvalid, PayloadInvalid, RunNotFound
from jobs_app.handles import NewRun, RunHandle
from jobs_app.options import EnqueueOptions, JobOptions, read_enqueue
from jobs_app.registry import JobType, registry
from jobs_app.signals import job_enqueued
from jobs_app.tracing import sending

if TYPE_CHECKING:
    from prometheus_client import Counter

    from jobs_app.lifecycle.new_job import Enqueued, NewJob

Params = ParamSpec("Params")
Returned = TypeVar("Returned")

NOT_IN_BULK = ("idempotency_key", "parent", "debounce", "throttle")  # each names one run


class JobDefinition(Generic[Params, Returned]):
    """A job type as its callers hold it: call it as the plain function, or enqueue it."""

    def __init__(self, job_type: JobType, options: Mapping[str, Any] | None = None) -> None:
        update_wrapper(self, job_type.function)
        self.job_type = job_type
        self._options = read_enqueue(options or {}, f"job {job_type.name!r}")
        self._drafts = Drafts(job_type, self._options)

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
        return self.enqueue_payload(payload)

    def enqueue_many(self, payloads: Iterable[Mapping[str, Any]]) -> list[RunHandle]:
        """Check every payload, then store all the jobs or none, thousands per statement."""
        from jobs_app.lifecycle.conflicts import enqueue_all

        for option in NOT_IN_BULK:
            if option in self._options or getattr(self._drafts, option, None):
                raise OptionInvalid(f"job {self.name!r}: {option}= is about one run. Enqueue these one by one.")
        self._require_enabled()
        _keep_up_with_operators()
        drafts = [self._draft_of_many(place, payload) for place, payload in enumerate(payloads)]
        if not drafts:
            return []
        try:
            with sending([job for job, _ in drafts]) as jobs:
                stored = enqueue_all(jobs, self._drafts.on_conflict)
        except DatabaseTrouble:
            self._count_error(len(drafts))
            raise
        self._successes.inc(len(drafts))
        return [_handle(self.job_type, new, payload) for new, (_, payload) in zip(stored, drafts, strict=True)]

    async def aenqueue(self, /, *positional: Never, **payload: Any) -> RunHandle:
        """`enqueue` for async code, on the connection of Django's sync thread and so in its transaction."""
        run = await sync_to_async(self.enqueue, thread_sensitive=True)(*positional, **payload)
        if not run.created:
            with suppress(RunNotFound):  # its key may outlive it
                await run.arefresh()  # now, because async code cannot read when a value is asked for
        return run

    def enqueue_payload(self, payload: Mapping[str, Any] | None = None) -> RunHandle:
        """`enqueue` for a payload that came as one value."""
        self._require_enabled()
        _keep_up_with_operators()
        job, checked = self._drafts.draft({} if payload is None else payload)
        try:
            with sending((job,)) as (job,):
                run = self._enqueue(job, checked)
        except DatabaseTrouble:
            self._count_error(1)
            raise
        self._successes.inc()
        return run

    @cached_property
    def _store(self) -> Callable[[NewJob], Enqueued]:
        """Found out at the first enqueue, when models can be imported."""
        from jobs_app.lifecycle.conflicts import enqueue_or, enqueue_throttled

        if self._drafts.throttle is None:
            return partial(enqueue_or, on_conflict=self._drafts.on_conflict)
        return partial(enqueue_throttled, seconds=self._drafts.throttle, on_conflict=self._drafts.on_conflict)

    def _enqueue_once(self, job: NewJob, checked: dict[str, Any]) -> RunHandle:
        from jobs_app.lifecycle.conflicts import enqueue_once

        # Without defaults: spelling one out is no other work, and neither is a field that a later release adds.
        body = self.job_type.schema.without_defaults(checked)
        run_id, stored = enqueue_once(job, key=self._options["idempotency_key"], body=body, store=self._store)
        return RunHandle(run_id, created=False) if stored is None else _handle(self.job_type, stored, checked)

    def _enqueue(self, job: NewJob, checked: dict[str, Any]) -> RunHandle:
        if "idempotency_key" in self._options:
            return self._enqueue_once(job, checked)
        return _handle(self.job_type, self._store(job), checked)

    def _count_error(self, number: int) -> None:
        """One that was refused for what it asks is none."""
        ENQUEUES.labels(self.name, "error").inc(number)

    @cached_property
    def _successes(self) -> Counter:
        return ENQUEUES.labels(self.name, "success")

    def _require_enabled(self) -> None:
        if not self.job_type.is_enabled:
            raise JobDisabled(f"job {self.name!r} is switched off by its enabled= option. Nothing was stored.")

    def _draft_of_many(self, place: int, payload: Mapping[str, Any]) -> tuple[NewJob, dict[str, Any]]:
        try:
            return self._drafts.draft(payload)
        except PayloadInvalid as problem:
            told = str(problem).rstrip(".")
            raise PayloadInvalid(f"payload number {place}: {told}. No job was stored.", problem.errors) from None


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


def _define(function: Callable[..., Any], options: Mapping[str, Any]) -> JobDefinition[..., Any]:
    if not isroutine(function):
        raise DefinitionInvalid(f"@job stands above a function, not {function!r}. Options go by name: @job(name=...).")
    job_type = declare(function, options)
    registry.register(job_type)
    return JobDefinition(job_type)


def _keep_up_with_operators() -> None:
    """They may have changed settings since; a process that only enqueues hears of it here."""
    if are_overrides_stale():
        from jobs_app.lifecycle.overrides import keep_up

        keep_up()


def _handle(job_type: JobType, new: Enqueued, payload: dict[str, Any]) -> RunHandle:
    if not new.created:
        return RunHandle(new.id, created=False)
    run = RunHandle(new.id, NewRun(new.id, job_type.name, payload, new.queued_at, new.run_at))
    if job_enqueued.receivers:
        _announce(job_type, run)
    return run


def _announce(job_type: JobType, run: RunHandle) -> None:
    from jobs_app.models import jobs_database

    transaction.on_commit(lambda: job_enqueued.tell(job_type, run=run), using=jobs_database())
