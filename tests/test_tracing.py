"""Spans around enqueues and handlers, seen through the real SDK."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from jobs_app import Backoff, current_job, job, tracing
from jobs_app.errors import Snooze
from jobs_app.models import Job, JobRun
from tests.waiting import until
from tests.worker.harness import ROOT, finished, working

pytestmark = pytest.mark.django_db(transaction=True)

NO_OPENTELEMETRY = """
import sys
sys.modules["opentelemetry"] = None  # an import of it fails
import django
django.setup()
from jobs_app import job, tracing
from jobs_app.testing import run_jobs
@job
def ping() -> None: ...
run = ping.enqueue()
ping.enqueue_many([{}, {}])
run_jobs()
assert tracing.trace is None
print(run.refresh().status)
"""


class Spans:
    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        [span] = self.named(name)
        return span


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """What a host's provider exports. A process can set one only once, so a test puts its own in its place."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(tracing, "_is_on", False)
    monkeypatch.setattr(tracing, "_look_at", 0.0)
    yield Spans(exporter)
    provider.shutdown()


def linked(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def test_a_run_is_linked_to_its_enqueue_and_its_handlers_spans_are_its_children(spans: Spans) -> None:
    @job(queue="mail")
    def send_mail(to: str) -> None:
        with trace.get_tracer("host").start_as_current_span("smtp"):
            pass

    with trace.get_tracer("host").start_as_current_span("request"):
        run = send_mail.enqueue(to="a secret address")
    with working():
        assert finished(run) == ["succeeded"]
    request, sent, processed, smtp = (spans.one(name) for name in ("request", "send mail", "process mail", "smtp"))
    assert sent.parent is not None
    assert (sent.kind, sent.parent.span_id) == (SpanKind.PRODUCER, span_id(request))
    assert (processed.kind, processed.parent, linked(processed)) == (SpanKind.CONSUMER, None, [span_id(sent)])
    assert smtp.parent is not None
    assert smtp.parent.span_id == span_id(processed)
    common = {
        "messaging.system": "jobs_app",
        "messaging.destination.name": "mail",
        "messaging.message.id": str(run.id),
        "jobs_app.job_type": "send_mail",
    }
    assert dict(sent.attributes or {}) == {**common, "messaging.operation.type": "send"}
    assert dict(processed.attributes or {}) == {**common, "messaging.operation.type": "process", "jobs_app.attempt": 1}
    assert processed.status.status_code == StatusCode.UNSET


def test_many_are_one_span_to_which_each_of_their_runs_is_linked(spans: Spans) -> None:
    @job
    def add(n: int) -> None: ...

    runs = add.enqueue_many([{"n": n} for n in range(3)])
    with working():
        finished(*runs)
    sent = spans.one("send default")
    assert (sent.attributes or {})["messaging.batch.message_count"] == 3
    assert [linked(span) for span in spans.named("process default")] == [[span_id(sent)]] * 3


def test_each_attempt_is_a_span_with_its_error_and_the_link_of_the_enqueue(spans: Spans) -> None:
    @job(max_attempts=2, backoff=Backoff(base=0, factor=1, jitter="none"))
    async def fetch() -> None:
        raise ValueError("no such page, token=abc")

    run = fetch.options(meta={"tenant": "t1"}).enqueue()
    with working():
        assert finished(run) == ["failed"]
    sent, tries = spans.one("send default"), spans.named("process default")
    assert [(span.attributes or {})["jobs_app.attempt"] for span in tries] == [1, 2]
    for span in tries:
        assert linked(span) == [span_id(sent)]
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "no such page, token=[hidden]")
        assert (span.attributes or {})["error.type"] == "ValueError"
        [event] = span.events
        assert event.name == "exception"
        assert "abc" not in str(event.attributes)
    meta = JobRun.objects.get(pk=run.id).meta
    assert meta["tenant"] == "t1"
    assert f"{span_id(sent):016x}" in meta["traceparent"]


def test_a_job_that_comes_back_later_is_no_error(spans: Spans) -> None:
    @job
    def poll() -> None:
        if current_job()._job.attempts == 1:
            raise Snooze(0)

    run = poll.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
    assert [span.status.status_code for span in spans.named("process default")] == [StatusCode.UNSET] * 2


def test_what_a_job_enqueues_leads_back_to_its_run(spans: Spans) -> None:
    @job
    def child() -> None: ...

    @job
    def parent() -> None:
        child.enqueue()

    run = parent.enqueue()
    with working():
        finished(run)
        until(JobRun.objects.filter(job_type="child").exists, every=0.02)
    [of_parent] = [span for span in spans.named("process default") if "parent" in str(span.attributes)]
    [sent] = [span for span in spans.named("send default") if span.parent is not None]
    assert sent.parent is not None
    assert sent.parent.span_id == span_id(of_parent)


def test_without_a_provider_nothing_is_stored() -> None:
    @job
    def ping() -> None: ...

    run = ping.enqueue()
    assert Job.objects.get(pk=run.id).meta == {}
    with working():
        assert finished(run) == ["succeeded"]
    assert JobRun.objects.get(pk=run.id).meta == {}


def test_jobs_work_where_opentelemetry_is_not_installed(child_environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(NO_OPENTELEMETRY)
    environment: dict[str, Any] = {**os.environ, **child_environment, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, script]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("succeeded", 0), done.stderr
