"""`run_jobs` inside a test: the worker's own claim, runner and finish, in the test's transaction."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.dispatch import receiver

from jobs_app import Backoff, Cancel, Fail, Retry, Snooze, current_job, get_run, job
from jobs_app.errors import EndlessJobs, PayloadInvalid, UnknownJobType
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.signals import job_finished, job_started
from jobs_app.testing import freeze_clock, run_jobs
from tests.testing.surroundings import in_and_out_of_a_transaction

IN_A_MINUTE = Backoff(base=60, factor=1, jitter="none")


def outcomes(run: Any) -> list[str]:
    return list(JobAttempt.objects.filter(job_id=run.id).order_by("number").values_list("outcome", flat=True))


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
def test_the_most_urgent_runs_first() -> None:
    @job
    def ping(name: str) -> None: ...

    ping.enqueue(name="usual")
    ping.options(priority=5, queue="other").enqueue(name="urgent")
    ping.options(priority=-5).enqueue(name="whenever")

    assert [run.payload["name"] for run in run_jobs()] == ["urgent", "usual", "whenever"]


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


@pytest.mark.django_db
def test_what_is_due_later_waits() -> None:
    @job
    def remind() -> None: ...

    remind.options(delay="1h").enqueue()

    assert not run_jobs()
    assert [run.status for run in run_jobs(at="1h")] == ["succeeded"]


@pytest.mark.django_db
def test_a_disabled_type_waits() -> None:
    enabled = True

    @job(enabled=lambda: enabled)
    def optional() -> None: ...

    optional.enqueue()
    enabled = False

    assert not run_jobs()


@pytest.mark.django_db
def test_what_expired_ends_unstarted_and_is_told() -> None:
    ran: list[str] = []

    @job
    def offer() -> None:
        ran.append("offer")

    with freeze_clock() as clock:
        run = offer.options(expires_at=clock.now + timedelta(minutes=5)).enqueue()
        clock.move("5m")
        found = run_jobs()

    assert [(one.id, one.status) for one in found.failed] == [(run.id, "failed")]
    assert ran == []


@in_and_out_of_a_transaction
def test_an_error_is_raised_with_its_traceback_after_its_attempt_is_recorded(within: bool) -> None:
    @job
    def divide(by: int) -> float:
        return 1 / by

    run = divide.enqueue(by=0)
    with pytest.raises(ZeroDivisionError) as caught:
        run_jobs()

    assert "divide" in [entry.name for entry in caught.traceback]
    assert f"Raised by job divide (run {run.id}, attempt 1 of 5)" in caught.value.__notes__[0]
    assert run.refresh().status == "retrying"
    assert outcomes(run) == ["error"]


@in_and_out_of_a_transaction
def test_errors_that_are_not_raised_are_recorded_as_in_production(within: bool) -> None:
    @job(max_attempts=1)
    def hopeless() -> None:
        raise ValueError("no")

    @job(backoff=IN_A_MINUTE)
    def shaky() -> str:
        if current_job().attempt < 3:
            raise ConnectionError("away")
        return "there"

    hopeless.enqueue()
    run = shaky.enqueue()
    with freeze_clock() as clock:
        found = run_jobs(raise_errors=False)
        assert [one.job_type for one in found.failed] == ["hopeless"]
        assert [one.job_type for one in found.retrying] == ["shaky"]
        assert found.failed[0].error == "no"
        assert run.refresh().run_at == clock.now + timedelta(seconds=60)

        clock.move(59)
        assert not run_jobs(raise_errors=False)
        clock.move(1)
        assert [one.status for one in run_jobs(raise_errors=False)] == ["retrying"]
        clock.move("1m")
        assert [one.result for one in run_jobs(raise_errors=False)] == ["there"]
    assert outcomes(run) == ["error", "error", "success"]


@pytest.mark.django_db
def test_directives_are_answers_and_not_raised() -> None:
    @job
    def answer(directive: str) -> None:
        raise {"retry": Retry("later"), "snooze": Snooze(60), "fail": Fail("never"), "cancel": Cancel("enough")}[
            directive
        ]

    answer.enqueue_many([{"directive": name} for name in ("retry", "snooze", "fail", "cancel")])
    found = run_jobs()

    assert [run.payload["directive"] for run in found.retrying] == ["retry", "snooze"]
    assert [run.payload["directive"] for run in found.failed] == ["fail"]
    assert [run.payload["directive"] for run in found.cancelled] == ["cancel"]
    assert found.succeeded == []


@pytest.mark.django_db
def test_a_run_that_is_tried_several_times_in_one_call_is_told_once() -> None:
    @job(backoff=Backoff(base=0, factor=1, jitter="none"))
    def shaky() -> None:
        if current_job().attempt < 3:
            raise ConnectionError("away")

    shaky.enqueue()
    [run] = run_jobs(raise_errors=False)

    assert (run.status, run.attempts) == ("succeeded", 3)


@pytest.mark.django_db
def test_a_payload_that_no_longer_fits_is_raised() -> None:
    @job
    def greet(name: str) -> None: ...

    run = greet.enqueue(name="Ada")
    Job.objects.filter(pk=run.id).update(payload={"name": 7})

    with pytest.raises(PayloadInvalid, match="name"):
        run_jobs()


@pytest.mark.django_db
def test_an_error_that_is_just_being_handled_is_not_the_jobs() -> None:
    @job
    def ping() -> None: ...

    ping.enqueue()
    try:
        raise LookupError
    except LookupError:
        assert len(run_jobs().succeeded) == 1


@pytest.mark.django_db
def test_an_interrupt_is_never_swallowed() -> None:
    @job
    def long() -> None:
        raise KeyboardInterrupt

    run = long.enqueue()
    with pytest.raises(KeyboardInterrupt):
        run_jobs(raise_errors=False)
    assert outcomes(run) == ["error"]


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


@pytest.mark.django_db
def test_the_clock_is_the_databases_own_without_a_frozen_one() -> None:
    @job
    def ping() -> None: ...

    before = database_now(connection)
    ping.enqueue()
    [run] = run_jobs()

    assert before <= run.finished_at <= database_now(connection)
