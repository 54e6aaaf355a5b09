"""Spans of OpenTelemetry around enqueues and handlers, where its API is installed and a provider is configured."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from jobs_app.errors import Cancel, Snooze
from jobs_app.redaction import redact_text
from jobs_app.text import clean

try:
    from opentelemetry import context as otel_context
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    trace = None  # type: ignore[assignment]
else:
    NO_PROVIDER = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
    propagator = TraceContextTextMapPropagator()

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from jobs_app.lifecycle.claim import ClaimedJob
    from jobs_app.lifecycle.new_job import NewJob

SYSTEM = "jobs_app"
NO_ERRORS = (Snooze, Cancel)  # how a handler says what comes next
LOOK_SECONDS = 1.0

_is_on = False
_look_at = 0.0  # by the monotonic clock


def sending(jobs: Sequence[NewJob]) -> AbstractContextManager[Sequence[NewJob]]:
    """Around one call that stores these jobs of one type. They come back with the trace they belong to in their meta:
    `traceparent`, and `tracestate` where there is one."""
    return _sending(jobs) if jobs and is_on() else nullcontext(jobs)


def is_on() -> bool:
    """Is a provider configured? It stays once it is. OpenTelemetry takes 1 us to say that none is, so that it is asked
    once a second."""
    return _is_on or (trace is not None and time.monotonic() >= _look_at and _look())


def _look() -> bool:
    global _is_on, _look_at
    _is_on = not isinstance(trace.get_tracer_provider(), NO_PROVIDER)
    _look_at = time.monotonic() + LOOK_SECONDS
    return _is_on


@contextmanager
def _sending(jobs: Sequence[NewJob]) -> Iterator[Sequence[NewJob]]:
    first, count = jobs[0], len(jobs)
    about = {"messaging.message.id": str(first.id)} if count == 1 else {"messaging.batch.message_count": count}
    with _span("send", first, about, kind=trace.SpanKind.PRODUCER):
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        meta = json.dumps({**json.loads(first.meta), **carrier})  # what is enqueued by one call has one
        yield [job._replace(meta=meta) for job in jobs]


@contextmanager
def processing(job: ClaimedJob) -> Iterator[None]:
    """Around one call of a handler, where tracing is on: a trace of its own, which an enqueue of long ago would only
    blur, with a link to the span of that enqueue."""
    about = {"messaging.message.id": str(job.id), "jobs_app.attempt": job.counted_attempts}
    own = otel_context.Context()
    with _span("process", job, about, kind=trace.SpanKind.CONSUMER, links=_links(job.meta), context=own):
        yield


@contextmanager
def _span(operation: str, job: NewJob | ClaimedJob, about: dict[str, Any], **options: Any) -> Iterator[None]:
    attributes = {
        "messaging.system": SYSTEM,
        "messaging.operation.type": operation,
        "messaging.destination.name": job.queue,
        "jobs_app.job_type": job.job_type,
        **about,
    }
    begin = trace.get_tracer(SYSTEM).start_as_current_span
    options |= {"record_exception": False, "set_status_on_exception": False}  # told below
    with begin(f"{operation} {job.queue}", attributes=attributes, **options) as span:
        try:
            yield
        except BaseException as error:  # also those that end a thread or a task, which OpenTelemetry passes by
            if not isinstance(error, NO_ERRORS):
                _tell_error(span, error)
            raise


def _tell_error(span: Span, error: BaseException) -> None:
    """A traceback would say again what the error says, secrets and all: it is with the attempt."""
    text = redact_text(clean(error))
    facts = {"exception.type": type(error).__qualname__, "exception.message": text}
    span.add_event("exception", facts)
    span.set_attribute("error.type", type(error).__qualname__)
    span.set_status(trace.Status(trace.StatusCode.ERROR, text))


def _links(meta: str) -> list[trace.Link]:
    if "traceparent" not in meta:
        return []
    sent = propagator.extract({name: str(value) for name, value in json.loads(meta).items()}, otel_context.Context())
    context = trace.get_current_span(sent).get_span_context()
    return [trace.Link(context)] if context.is_valid else []
