"""One attempt: call the handler, and say how it ended. Nothing here touches the jobs' tables, but for `atomic` jobs."""

from __future__ import annotations

import json
import logging
import time
import traceback
from typing import Any

from django.db import transaction

from jobs_app.conf import get_settings
from jobs_app.current import active
from jobs_app.errors import Directive, LeaseLost, PayloadInvalid
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.finish import finish_within
from jobs_app.lifecycle.moves import Ended
from jobs_app.retry import decide
from jobs_app.signals import job_started
from jobs_app.strict_json import dumps
from jobs_app.text import clean, clean_block
from jobs_app.worker.flight import Flight, Report

logger = logging.getLogger("jobs_app.worker")

MAX_TRACEBACK_BYTES = 32 * 1024


def run(flight: Flight) -> Report | None:
    """Run a sync handler here and now. None: the lease was lost and its writes are rolled back, so there is no word."""
    before = active.set(flight.context)
    try:
        started = _start(flight)
        if flight.job_type.atomic:
            return _run_atomic(flight, started)
        ended = succeeded(flight, flight.job_type.function(*_context(flight), **_arguments(flight)))
    except LeaseLost:
        flight.ended = True
        logger.warning("job=%s lost its lease; what it wrote is rolled back", flight.job.id)
        return None
    except BaseException as error:  # noqa: BLE001: whatever a handler raises ends its attempt, never the worker
        ended = failed(flight, error)
    finally:
        active.reset(before)
    return _report(flight, ended, started)


async def run_async(flight: Flight) -> Report:
    """The same for an async handler, inside a task of its own."""
    active.set(flight.context)
    started = _start(flight)
    try:
        ended = succeeded(flight, await flight.job_type.function(*_context(flight), **_arguments(flight)))
    except BaseException as error:
        ended = failed(flight, error)
    return _report(flight, ended, started)


def succeeded(flight: Flight, returned: Any) -> Ended:
    return Ended(
        id=flight.job.id,
        token=flight.job.token,
        state="succeeded",
        outcome="success",
        done_reason="worker_done",
        log=flight.context.log_text(),
        result=_result(flight.context.result_or(returned)),
    )


def failed(flight: Flight, error: BaseException) -> Ended:
    job, job_type = flight.job, flight.job_type
    decision = decide(
        error,
        counted_attempts=job.counted_attempts,
        max_attempts=job.max_attempts,
        backoff=job_type.backoff,
        retry_on=job_type.retry_on,
        fail_on=job_type.fail_on,
        retry_unknown=job_type.retry_unknown,
        retry_timeouts=job_type.retry_timeouts,
    )
    said_by_handler = isinstance(error, Directive)
    return Ended(
        id=job.id,
        token=job.token,
        state=decision.state,
        outcome=decision.outcome,
        done_reason=decision.done_reason,
        delay=decision.delay or 0.0,
        free=decision.free,
        error_class=_class_path(error),
        error=clean(str(error) or ("" if said_by_handler else type(error).__name__)),
        traceback="" if said_by_handler else _traceback(error),
        log=flight.context.log_text(),
    )


def interrupted(flight: Flight, *, state: str, error: str) -> Ended:
    """The worker stopped first: released (not spent), or failed, as its setting says."""
    return Ended(
        id=flight.job.id,
        token=flight.job.token,
        state=state,
        outcome="interrupted",
        done_reason="interrupted" if state == "failed" else "",
        free=state == "queued",
        error=error,
        log=flight.context.log_text(),
    )


def _run_atomic(flight: Flight, started: float) -> Report:
    """The handler's writes and the end of its job commit together, or not at all."""
    connection = jobs_connection()
    try:
        with transaction.atomic(using=connection.alias):
            ended = succeeded(flight, flight.job_type.function(*_context(flight), **_arguments(flight)))
            ended.started_ago = time.monotonic() - started
            finish_within(connection, ended)
    except LeaseLost:
        raise
    except BaseException as error:
        return _report(flight, failed(flight, error), started)
    return _report(flight, ended, started)._replace(stored=True)


def _start(flight: Flight) -> float:
    flight.started = time.monotonic()
    if job_started.receivers:
        job_started.send_robust(flight.job_type, job=flight.job)
    if logger.isEnabledFor(logging.DEBUG):
        job = flight.job
        logger.debug("Processing %s (attempt %s/%s)", job.job_type, job.counted_attempts, job.max_attempts)
    return flight.started


def _report(flight: Flight, ended: Ended, started: float) -> Report:
    flight.ended = True
    return Report(flight, ended, started, time.monotonic())


def _context(flight: Flight) -> tuple[Any, ...]:
    return (flight.context,) if flight.job_type.takes_context else ()


def _arguments(flight: Flight) -> dict[str, Any]:
    """Checked again: the handler may have changed since the payload was stored."""
    try:
        payload = json.loads(flight.job.payload)
    except ValueError as error:
        raise PayloadInvalid(f"the stored payload is not JSON: {error}") from error
    return flight.job_type.schema.load(payload)


def _result(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return dumps(value, limit=get_settings().max_result_bytes, what="result")
    except PayloadInvalid as error:
        return dumps({"not_stored": clean(error)}, limit=10_000)


def _class_path(error: BaseException) -> str:
    cls = type(error)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"[:200]


def _traceback(error: BaseException) -> str:
    return clean_block("".join(traceback.format_exception(error)), MAX_TRACEBACK_BYTES)
