"""A job that crashed three times gets no fourth process."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.moves import Ended
from jobs_app.lifecycle.quarantine import quarantine
from tests.lifecycle.rows import done, ended, one_running, take

pytestmark = pytest.mark.django_db


def crashes(count: int, state: str = "queued") -> Ended:
    """The report of a job that crashes for the last of so many times."""
    job = one_running(max_attempts=10)
    for _ in range(count - 1):
        assert done(job, "queued", outcome="crashed")
        (job,) = take(1)
    return ended(job, state, outcome="crashed", error="killed by SIGSEGV", delay=60)


@pytest.mark.parametrize("state", ["queued", "failed"])
def test_the_third_crash_is_the_last(state: str) -> None:
    report = crashes(3, state)
    quarantine(connection, [report])
    assert (report.state, report.done_reason, report.error) == ("failed", "quarantined", "killed by SIGSEGV")


def test_two_crashes_are_not_enough() -> None:
    report = crashes(2)
    quarantine(connection, [report])
    assert (report.state, report.delay) == ("queued", 60)


def test_errors_lost_workers_and_other_jobs_do_not_count() -> None:
    crashes(3)
    job = one_running(max_attempts=10)
    for outcome in ("error", "lost", "timeout"):
        assert done(job, "queued", outcome=outcome)
        (job,) = take(1)
    report = ended(job, "queued", outcome="crashed")
    quarantine(connection, [report])
    assert report.state == "queued"


def test_a_report_that_is_stored_again_does_not_count_itself() -> None:
    report = crashes(2)
    assert finish(connection, [report]) == {report.id}
    quarantine(connection, [report])
    assert report.state == "queued"


@pytest.mark.parametrize("state", ["succeeded", "cancelled"])
def test_other_ends_stay_as_they_are(state: str) -> None:
    job = one_running()
    report = ended(job, state)
    quarantine(connection, [report])
    assert report.state == state
