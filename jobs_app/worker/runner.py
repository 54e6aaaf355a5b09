"""One attempt: call the handler, and say how it ended. Nothing here touches the jobs' tables, but for `atomic` jobs."""

from __future__ import annotations

import contextvars
import json
import logging
import time
import traceback
from contextlib import nullcontext
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.current import active
from jobs_app.errors import Directive, Fail, LeaseLost, PayloadInvalid
from jobs_app.frames import of_handler
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.finish import finish_within
from jobs_app.lifecycle.heartbeat import save_progress
from jobs_app.lifecycle.moves import Ended
from jobs_app.logs import about, event
from jobs_app.retry import LONGEST_DELAY, Decision, decide
from jobs_app.signals import job_finished, job_started
from jobs_app.text import clean, clean_block
from jobs_app.tracing import is_on, processing
from jobs_app.worker.flight import Flight, Report
from jobs_app.worker.results import result_text
from jobs_app.worker.verdicts import accept, is_timeout, meant, refuse_if_unfit

logger = logging.getLogger("jobs_app.worker")

MAX_TRACEBACK_BYTES = 32 * 1024

_read_json = json.JSONDecoder().raw_decode  # 0.4 us where `json.loads` takes 1.2
NOT_RUN_YET = (CoroutineType, GeneratorType, AsyncGeneratorType)  # what a function gives back without running


def run(flight: Flight) -> Report | None:
    """Run a sync handler here and now. None: others have the say about this job by now. Raises nothing.

    In a context of its own: a language, a time zone or a tenant that one job sets must not be the next one's.
    """
    return contextvars.copy_context().run(_run_here, flight)


async def run_async(flight: Flight) -> Report | None:
    """The same for an async handler, inside a task of its own."""
    active.set(flight.context)
    started = start(flight)
    return report(flight, await attempt_async(flight), started)


def call_handler(flight: Flight) -> Any:
    """With all that it takes, and nothing around it: also for those who want no more of a worker than that."""
    job_type = flight.job_type
    if job_type.takes_context:
        return job_type.function(flight.context, **arguments(flight))
    return job_type.function(**arguments(flight))


def attempt(flight: Flight) -> Ended:
    """Call a sync handler, here and now."""
    try:
        return succeeded(flight, _call(flight))
    except BaseException as error:  # whatever a handler raises ends its attempt, never the worker
        return failed(flight, error)


async def attempt_async(flight: Flight) -> Ended:
    try:
        return succeeded(flight, await _await(flight))
    except BaseException as error:
        return failed(flight, error)


def succeeded(flight: Flight, returned: Any) -> Ended:
    return Ended(
        id=flight.job.id,
        token=flight.job.token,
        state="succeeded",
        outcome="success",
        done_reason="worker_done",
        log=flight.context.log_text(),
        result=result_text(flight.job.id, flight.context.result_or(returned)),
        gate=flight.job.gate,
    )


def failed(flight: Flight, error: BaseException) -> Ended:
    if flight.on_error is not None:
        flight.on_error(error)
    decision, error = _decided(flight, error)
    said = isinstance(error, Directive)  # on purpose; what it stands for is the error behind it
    behind = (error.__cause__ or error.__context__) if said else error
    return Ended(
        id=flight.job.id,
        token=flight.job.token,
        state=decision.state,
        outcome=decision.outcome,
        done_reason=decision.done_reason,
        delay=min(decision.delay or 0.0, LONGEST_DELAY),  # a handler may ask for a moment that no calendar has
        free=decision.free,
        error_class=_class_path(error),
        error=clean(error) or clean(behind or "") or ("" if decision.free else type(behind or error).__name__),
        traceback="" if behind is None else _traceback(error),
        log=flight.context.log_text(),
        raised=error if decision.state != "queued" and job_finished.receivers else None,
        policy=flight.job.policy,
    )


def _decided(flight: Flight, error: BaseException) -> tuple[Decision, BaseException]:
    job, job_type = flight.job, flight.job_type
    try:
        error = meant(flight, error)
        decision = decide(
            error,
            counted_attempts=job.counted_attempts,
            max_attempts=job.max_attempts,
            backoff=job_type.backoff,
            retry_on=job_type.retry_on,
            fail_on=job_type.fail_on,
            retry_unknown=job_type.retry_unknown,
            retry_timeouts=job_type.retry_timeouts,
            timed_out=is_timeout(flight, error),
            stop_asked=flight.context.cancelled,
        )
    except Exception as problem:  # an error of the host's own may be made in any way; its job ends all the same
        return Decision(state="failed", done_reason="permanent"), problem
    return decision, error


def interrupted(flight: Flight, *, state: str, error: str) -> Ended:
    """The worker stopped first: released (not spent) or failed, as its setting says, or cancelled if that was asked."""
    asked = flight.context.cancelled
    state = "cancelled" if asked else state
    return Ended(
        id=flight.job.id,
        token=flight.job.token,
        state=state,
        outcome="cancelled" if asked else "interrupted",
        done_reason={"cancelled": "cancelled", "failed": "interrupted"}.get(state, ""),
        free=state == "queued",
        error=error,
        log=flight.context.log_text(),
        policy=flight.job.policy,
    )


def _run_here(flight: Flight) -> Report | None:
    active.set(flight.context)
    if flight.job_type.atomic:
        return _run_atomic(flight)
    started = start(flight)
    return report(flight, attempt(flight), started)


def _run_atomic(flight: Flight) -> Report | None:
    """The handler's writes and the end of its job commit together, or not at all."""
    started = start(flight)
    connection = jobs_connection()
    is_ours = False
    committed: list[bool] = []
    try:
        with transaction.atomic(using=connection.alias):
            transaction.on_commit(lambda: committed.append(True), using=connection.alias)  # the first to know
            ended = succeeded(flight, _call(flight))
            # Before the last statement, so that neither heartbeat nor shutdown takes the row's absence for a loss.
            if not (is_ours := flight.end()):
                raise LeaseLost(f"job {flight.job.id} was given up by this worker")
            _finish_within(connection, flight, ended, started)
    except LeaseLost as error:
        facts = event("report_refused", **about(flight.job), error=error)
        logger.warning("job=%s lost its lease; what it wrote is rolled back (%s)", flight.job.id, error, extra=facts)
        return None
    except BaseException as error:
        if not committed:
            return report(flight, failed(flight, error), started, is_ours=is_ours)
        facts = event("commit_hook_failed", **about(flight.job), error=error)
        logger.exception("job=%s succeeded; a hook after its commit failed", flight.job.id, extra=facts)
    return Report(flight, ended, started, time.monotonic(), stored=True)


def _finish_within(connection: BaseDatabaseWrapper, flight: Flight, ended: Ended, started: float) -> None:
    if words := flight.context.unsaved():
        save_progress(connection, [words])
    ended.started_ago = time.monotonic() - started
    finish_within(connection, ended)


def start(flight: Flight) -> float:
    """The attempt begins: its clock runs, and whoever wants to know is told."""
    flight.started = started = time.monotonic()
    if flight.timeout is not None:
        flight.context.begin(started, flight.timeout)
    if job_started.receivers:
        job_started.tell(flight.job_type, job=flight.job)
    if logger.isEnabledFor(logging.DEBUG):
        job = flight.job
        text, facts = "Processing %s (attempt %s/%s)", event("job_started", **about(job))
        logger.debug(text, job.job_type, job.counted_attempts, job.max_attempts, extra=facts)
    return started


def report(flight: Flight, ended: Ended, started: float, *, is_ours: bool = False) -> Report | None:
    """None: this worker gave the job up meanwhile, and said so."""
    if is_ours or flight.end():
        return Report(flight, ended, started, time.monotonic())
    facts = event("report_refused", **about(flight.job), outcome=ended.outcome)
    text = "job=%s ended after this worker gave it up; its %s is not recorded"
    logger.warning(text, flight.job.id, ended.outcome, extra=facts)
    return None


async def _await(flight: Flight) -> Any:
    refuse_if_unfit(flight)
    with processing(flight.job) if is_on() else nullcontext():
        returned = await call_handler(flight)
        accept(flight)
        return returned


def _call(flight: Flight) -> Any:
    refuse_if_unfit(flight)
    if not is_on():
        return _called(flight)
    with processing(flight.job):
        return _called(flight)


def _called(flight: Flight) -> Any:
    returned = call_handler(flight)
    if returned is not None and isinstance(returned, NOT_RUN_YET):
        found = type(returned).__name__
        raise Fail(f"{flight.job.job_type} gave back a {found} and did nothing; does a decorator hide an async def?")
    accept(flight)
    return returned


def arguments(flight: Flight) -> dict[str, Any]:
    """Checked again: the handler may have changed since the payload was stored."""
    text = flight.job.payload
    try:
        payload, end = _read_json(text)
    except ValueError as error:
        raise PayloadInvalid(f"the stored payload is not JSON: {error}") from error
    if end != len(text):
        raise PayloadInvalid("the stored payload is not JSON: something stands behind it")
    if not isinstance(payload, dict):
        raise PayloadInvalid(f"the stored payload is a {type(payload).__name__} and not an object")
    return flight.job_type.schema.load(payload)


def _class_path(error: BaseException) -> str:
    cls = type(error)
    return clean(cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}", 200)


def _traceback(error: BaseException) -> str:
    try:
        lines = traceback.format_exception(type(error), error, of_handler(error.__traceback__))
        return clean_block("".join(lines), MAX_TRACEBACK_BYTES)
    except Exception as problem:  # an error may be made in any way, and its outcome must be stored all the same
        return clean_block(f"the traceback cannot be shown: {type(problem).__name__}", MAX_TRACEBACK_BYTES)
