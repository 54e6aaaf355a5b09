"""What a worker logs when an attempt has ended."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jobs_app import Backoff, Cancel, Fail, Retry, Snooze, job
from jobs_app.lifecycle.moves import Ended
from jobs_app.models import JobAttempt
from jobs_app.testing import run_jobs
from jobs_app.worker.telling import tell
from tests.waiting import until
from tests.worker.flights import flight_of
from tests.worker.harness import working

database = pytest.mark.django_db(transaction=True)
LATER = Backoff(base=70, factor=1, jitter="none")


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """The event and the sentence of each line above info about a job."""
    lines = [record for record in caplog.records if record.levelno > logging.INFO and hasattr(record, "job_type")]
    return [(record.event, record.getMessage()) for record in lines]  # type: ignore[attr-defined]


@pytest.fixture
def work() -> Any:
    errors = {"bad": RuntimeError("bad 2"), "fail": Fail("bad 2"), "cancel": Cancel("bad 2")}
    errors |= {"snooze": Snooze(60), "retry": Retry("busy", after=5)}

    @job(backoff=LATER, max_attempts=2)
    def work(error: str) -> None:
        if error:
            raise errors[error]

    return work


@database
def test_an_attempt_that_is_tried_again_is_told_with_when(work: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = work.enqueue(error="bad")
    with working():
        until(JobAttempt.objects.exists, every=0.02)
    expected = f"job={run.id} type={run.job_type} attempt 1 of 2 failed: bad 2; again in 70 s"
    assert told(caplog) == [("job_retried", expected)]
    (line,) = [record for record in caplog.records if getattr(record, "event", "") == "job_retried"]
    facts = vars(line)
    assert (line.levelname, facts["attempt"], facts["outcome"], facts["error"]) == ("WARNING", 1, "error", "bad 2")
    assert (facts["delay_seconds"], facts["duration_ms"] >= 0) == (70, True)


@database
def test_a_retry_that_a_handler_asks_for_is_told_too(work: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = work.enqueue(error="retry")
    run_jobs()
    assert told(caplog) == [("job_retried", f"job={run.id} type={work.name} attempt 1 of 2 failed: busy; again in 5 s")]


@database
@pytest.mark.parametrize("error", ["", "snooze", "cancel"])
def test_what_ends_well_or_waits_on_purpose_is_not_told(
    error: str, work: Any, caplog: pytest.LogCaptureFixture
) -> None:
    work.enqueue(error=error)
    run_jobs()
    assert JobAttempt.objects.count() == 1
    assert told(caplog) == []


@database
def test_what_failed_for_good_is_told_once(work: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = work.enqueue(error="fail")
    with working():
        until(lambda: run.refresh().is_finished, every=0.02)
    assert told(caplog) == [("job_failed", f"job={run.id} type={work.name} failed: bad 2")]


@pytest.mark.parametrize(
    ("outcome", "is_told"),
    [
        ("error", True),
        ("timeout", True),
        ("crashed", True),
        ("snoozed", False),
        ("deferred", False),
        ("interrupted", False),
    ],
)
def test_only_attempts_that_failed_are_told_of_those_that_go_back(
    outcome: str, is_told: bool, work: Any, caplog: pytest.LogCaptureFixture
) -> None:
    flight = flight_of(work)
    ended = Ended(id=flight.job.id, token=flight.job.token, state="queued", outcome=outcome, error="so")
    tell(flight.job, ended, "w")
    assert [event for event, _ in told(caplog)] == ["job_retried"] * is_told
