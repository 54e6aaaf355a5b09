"""Jobs that pass their deadline: async ones end by force, those in threads keep what they hold until they return."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from jobs_app import Backoff, current_job, job
from jobs_app.insights.overdue import overdue
from jobs_app.models import Job, JobRun
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished, outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., WorkerProcess]

TIMEOUT = ("failed", "timeout", "timeout")


def ending(run: Any) -> tuple[str, str, str]:
    stored = JobRun.objects.get(pk=run.id)
    return stored.state, stored.outcome, stored.done_reason


@pytest.fixture
def short_grace(settings: Any) -> None:
    settings.JOBS = {"TIMEOUT_GRACE_SECONDS": 0.2}


@pytest.mark.spec("S3.6")
def test_a_thread_past_its_deadline_keeps_its_lease_and_its_slot_and_ends_as_timeout_when_it_returns(
    start: Start, samples: Any, ledger: Ledger, tmp_path: Path, settings: Any
) -> None:
    settings.JOBS = {"TIMEOUT_GRACE_SECONDS": 0.5}
    gate = tmp_path / "gate"
    workers = [start("--concurrency", "1", TIMEOUT_GRACE_SECONDS="0.5").wait_for_start() for _ in range(2)]
    run = samples.hold_past_deadline.enqueue(until=str(gate))
    (began,) = ledger.wait("began")
    holder = next(worker for worker in workers if worker.pid == began["pid"])
    holder.wait_for_log("is overdue: it runs for ")
    lease = Job.objects.get(pk=run.id).lease_expires_at
    until(lambda: Job.objects.get(pk=run.id).lease_expires_at > lease, every=0.05)
    assert [one.job.id for one in overdue(connection)] == [run.id]
    assert {line["pid"] for line in samples_ran(samples, ledger, 3)} == {w.pid for w in workers if w is not holder}
    assert (state(run), run.refresh().attempts) == ("running", 1)
    gate.touch()
    assert (finished(run), ending(run), run.result) == (["failed"], TIMEOUT, None)
    assert run.error.startswith("timed out after ")
    assert run.error.endswith(" s (limit 1 s); what it returned is not kept")
    assert holder.log().count("is overdue") == 1
    for worker in workers:
        worker.stop()


def samples_ran(samples: Any, ledger: Ledger, count: int) -> list[dict[str, Any]]:
    finished(*(samples.ping.enqueue() for _ in range(count)))
    return ledger.lines("ran")


@pytest.mark.spec("S3.6")
def test_an_async_job_ends_at_its_deadline_though_it_ignores_the_first_cancel(
    start: Start, samples: Any, ledger: Ledger
) -> None:
    worker = start(TIMEOUT_GRACE_SECONDS="0.5").wait_for_start()
    run = samples.ignore_deadline.enqueue()
    assert (finished(run), ending(run)) == (["failed"], TIMEOUT)
    assert [line["what"] for line in ledger.lines()] == ["began", "ignored", "cleaned up"]
    assert outcomes(run) == ["timeout"]
    assert finished(samples.aping.enqueue()) == ["succeeded"]
    worker.stop()


@pytest.mark.spec("S3.7", "S3.9", "A3.3")
def test_a_handler_that_checks_its_deadline_fails_for_good() -> None:
    @job(timeout=0.3, preset="transient")
    def evaluate() -> None:
        while True:
            current_job().check_timeout()
            time.sleep(current_job().remaining(limit=0.01))

    run = evaluate.enqueue()
    with working():
        assert finished(run) == ["failed"]
    assert (ending(run), run.attempts, run.label) == (TIMEOUT, 1, "FAILED")
    assert re.fullmatch(r"timed out after \S+ s \(limit 0.3 s\)", run.error)


@pytest.mark.spec("S0.R10")
def test_a_job_of_the_rate_preset_that_passes_its_deadline_is_not_tried_again() -> None:
    @job(timeout=0.1, preset="rate")
    def check_provider() -> None:
        until(lambda: current_job().remaining() == 0, every=0.01)
        raise ConnectionError("no answer")

    run = check_provider.enqueue()
    with working():
        assert finished(run) == ["failed"]
    assert (ending(run), outcomes(run)) == (TIMEOUT, ["timeout"])


def test_a_timeout_is_an_attempt_like_any_other_where_timeouts_are_retried() -> None:
    @job(timeout=0.1, retry_timeouts=True, backoff=Backoff(base=0, factor=1, jitter="none"))
    def second() -> int:
        while current_job().attempt == 1:
            current_job().check_timeout()
            time.sleep(0.01)
        return current_job().attempt

    run = second.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
    assert (outcomes(run), run.result) == (["timeout", "success"], 2)


def test_a_late_success_within_the_grace_stands() -> None:
    @job(timeout=0.1)
    def late() -> str:
        until(lambda: current_job().remaining() == 0, every=0.005)
        return "just so"

    run = late.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
    assert run.result == "just so"


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("checks", [True, False])
def test_an_atomic_job_past_its_deadline_writes_nothing(checks: bool) -> None:
    @job(timeout=0.1, atomic=True)
    def pay() -> None:
        Group.objects.create(name="paid")
        deadline = current_job().deadline
        assert deadline is not None
        until(lambda: time.monotonic() > deadline + 0.3, every=0.01)
        if checks:
            current_job().check_timeout()

    run = pay.enqueue()
    with working():
        assert finished(run) == ["failed"]
    assert (ending(run), Group.objects.count()) == (TIMEOUT, 0)


@pytest.mark.spec("S3.10", "S3.R8")
def test_a_worker_gives_each_variant_its_time_and_each_enqueue_what_it_asks_for() -> None:
    @job(variant="agent", timeout="4m", max_timeout="20m", timeouts={"fallacy-check": "10m", "agentic": "2h"})
    def evaluate(agent: str) -> float | None:
        return current_job().timeout

    runs = [evaluate.enqueue(agent=agent) for agent in ("plain", "fallacy-check", "agentic")]
    runs.append(evaluate.options(timeout="3h").enqueue(agent="agentic"))
    with working():
        finished(*runs)
    assert [run.result for run in runs] == [240, 600, 7200, 10800]


def test_a_timeout_that_cannot_be_told_costs_one_job_and_not_its_worker() -> None:
    @job(timeout=lambda payload: 60 / payload["pages"])
    def report(pages: int) -> None: ...

    bad, good = report.enqueue(pages=0), report.enqueue(pages=2)
    with working():
        assert finished(bad, good) == ["failed", "succeeded"]
    assert bad.error == "the timeout of report cannot be told: ZeroDivisionError: division by zero"
    assert JobRun.objects.get(pk=bad.id).done_reason == "permanent"
