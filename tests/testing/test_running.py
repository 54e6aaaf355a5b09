"""`run_jobs` inside a test: the worker's own claim, runner and finish, in the test's transaction."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.dispatch import receiver

from jobs_app import current_job, get_run, job
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.signals import job_finished, job_started
from jobs_app.testing import run_jobs
from tests.testing.surroundings import in_and_out_of_a_transaction


@in_and_out_of_a_transaction
def test_what_is_due_runs_on_this_thread_and_leaves_a_run_and_an_attempt(within: bool) -> None:
    @job
    def add(first: int, second: int) -> dict[str, Any]:
        current_job().log("adding")
        current_job().progress(1, 1, message="added")
        return {"sum": first + second, "thread": threading.get_ident()}

    run = add.enqueue(first=2, second=3)
    [ran] = run_jobs()

    assert connection.in_atomic_block is within
    assert ran.id == run.id
    assert ran.status == "succeeded"
    assert ran.result == {"sum": 5, "thread": threading.get_ident()}
    assert ran.progress.message == "added"
    attempt = JobAttempt.objects.get(job_id=run.id)
    assert (attempt.outcome, attempt.log_excerpt) == ("success", "adding")
    assert attempt.started_at <= attempt.finished_at
    assert not Job.objects.exists()


@in_and_out_of_a_transaction
def test_jobs_that_jobs_enqueue_run_too(within: bool) -> None:
    @job
    def last() -> str:
        return "end"

    @job
    def middle() -> None:
        last.enqueue()

    @job
    def first() -> None:
        middle.enqueue()
        middle.enqueue()

    first.enqueue()

    assert [run.job_type for run in run_jobs()] == ["first", "middle", "middle", "last", "last"]


@pytest.mark.django_db
def test_the_most_urgent_runs_first() -> None:
    @job
    def ping(name: str) -> None: ...

    ping.enqueue(name="usual")
    ping.options(priority=5, queue="other").enqueue(name="urgent")
    ping.options(priority=-5).enqueue(name="whenever")

    assert [run.payload["name"] for run in run_jobs()] == ["urgent", "usual", "whenever"]


@pytest.mark.django_db
def test_a_disabled_type_waits() -> None:
    enabled = True

    @job(enabled=lambda: enabled)
    def optional() -> None: ...

    optional.enqueue()
    enabled = False

    assert not run_jobs()


@in_and_out_of_a_transaction
def test_async_handlers_run_on_this_connection(within: bool) -> None:
    @job
    async def rename(pk: int) -> str:
        group = await Group.objects.aget(pk=pk)  # written by this test, committed or not
        group.name = f"{group.name} of {current_job().job_type}"
        await group.asave()
        return group.name

    @job
    async def stumble() -> None:
        raise LookupError("async")

    group = Group.objects.create(name="friends")
    rename.enqueue(pk=group.pk)
    stumble.enqueue()
    with pytest.raises(LookupError):
        run_jobs()

    group.refresh_from_db()
    assert group.name == "friends of rename"


@in_and_out_of_a_transaction
def test_atomic_handlers_keep_all_or_nothing(within: bool) -> None:
    @job(atomic=True)
    def pay(name: str, fails: bool) -> str:
        Group.objects.create(name=name)
        if fails:
            raise ConnectionError("away")
        return "paid"

    pay.enqueue(name="kept", fails=False)
    pay.enqueue(name="gone", fails=True)
    found = run_jobs(raise_errors=False)

    assert [run.result for run in found.succeeded] == ["paid"]
    assert len(found.retrying) == 1
    assert list(Group.objects.values_list("name", flat=True)) == ["kept"]


@pytest.mark.django_db
def test_process_isolated_handlers_run_here() -> None:
    @job(isolation="process")
    def crunch() -> int:
        return threading.get_ident()

    crunch.enqueue()

    assert run_jobs()[0].result == threading.get_ident()


@pytest.mark.django_db
def test_signals_are_sent_as_by_a_worker() -> None:
    heard: list[tuple[str, str]] = []

    @job
    def ping() -> None: ...

    @receiver(job_started, sender=ping.job_type)
    def started(**kwargs: Any) -> None:
        heard.append(("started", kwargs["job"].job_type))

    @receiver(job_finished, sender=ping.job_type)
    def finished(**kwargs: Any) -> None:
        heard.append(("finished", kwargs["ended"].state))

    ping.enqueue()
    run_jobs()

    assert heard == [("started", "ping"), ("finished", "succeeded")]


@pytest.mark.django_db
def test_a_job_that_somebody_else_ends_while_it_runs_is_left_to_them() -> None:
    @job
    def vanish() -> None:
        Job.objects.all().delete()

    run = vanish.enqueue()

    assert len(run_jobs()) == 0
    assert not JobRun.objects.filter(pk=run.id).exists()


@pytest.mark.django_db
def test_the_result_tells_itself_in_a_line() -> None:
    @job
    def ping() -> None: ...

    assert repr(run_jobs()) == "<RanJobs: none>"
    ping.enqueue_many([{}, {}])
    found = run_jobs()
    assert repr(found) == "<RanJobs: 2 ping succeeded>"
    assert found[:1] == [found[0]]
    assert get_run(found[1].id).status == "succeeded"
