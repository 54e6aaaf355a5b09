"""How much `run_jobs` runs: which queues and job types, and how often."""

from __future__ import annotations

import threading

import pytest

from jobs_app import job
from jobs_app.errors import EndlessJobs, UnknownJobType
from jobs_app.models import Job, JobRun
from jobs_app.testing import run_jobs


@pytest.mark.django_db
def test_one_round_leaves_what_it_enqueued() -> None:
    @job(priority=9)
    def page(number: int) -> None:
        page.enqueue(number=number + 1)

    page.enqueue(number=1)
    page.enqueue(number=10)

    assert [run.payload["number"] for run in run_jobs(until_empty=False)] == [1, 10]
    assert sorted(payload["number"] for payload in Job.objects.values_list("payload", flat=True)) == [2, 11]


@pytest.mark.django_db
def test_a_job_that_never_stops_enqueuing_itself_is_an_error() -> None:
    @job
    def crawl(page: int = 0) -> None:
        crawl.enqueue(page=page + 1)

    crawl.enqueue()
    with pytest.raises(EndlessJobs, match=r"did 7 x crawl, and 1 x crawl are due.*enqueue itself"):
        run_jobs(limit=7)
    assert JobRun.objects.count() == 7
    assert not Job.objects.filter(state="running").exists()


@pytest.mark.django_db
def test_as_many_as_the_limit_are_no_error() -> None:
    @job
    def ping() -> None: ...

    ping.enqueue_many([{}] * 3)

    assert len(run_jobs(limit=3)) == 3


@pytest.mark.django_db
def test_queues_and_job_types_leave_out_the_others() -> None:
    @job(queue="mail.bulk")
    def letter() -> None: ...

    @job(queue="reports")
    def report() -> None: ...

    for each in (letter, report):
        each.enqueue_many([{}, {}])

    assert not run_jobs(queues="mail")
    assert [run.job_type for run in run_jobs(queues="mail.*", until_empty=False)] == ["letter", "letter"]
    assert [run.job_type for run in run_jobs(job_types="report", until_empty=False)] == ["report", "report"]
    letter.enqueue()
    report.enqueue()
    assert [run.job_type for run in run_jobs(queues=["mail.*", "other"])] == ["letter"]
    assert [run.job_type for run in run_jobs(job_types=[letter, report])] == ["report"]
    assert not run_jobs(queues=[])


@pytest.mark.django_db
def test_a_job_type_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnknownJobType, match="leter"):
        run_jobs(job_types=["leter"])
    with pytest.raises(TypeError, match="name a job by"):
        run_jobs(job_types=[threading.Thread])  # type: ignore[list-item]
