"""Errors in `run_jobs`: raised where nobody looks for them, and recorded as production does in any case."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs_app import Backoff, Cancel, Fail, Retry, Snooze, current_job, job
from jobs_app.errors import PayloadInvalid
from jobs_app.models import Job, JobAttempt
from jobs_app.testing import freeze_clock, run_jobs
from tests.testing.surroundings import in_and_out_of_a_transaction

IN_A_MINUTE = Backoff(base=60, factor=1, jitter="none")


def outcomes(run: Any) -> list[str]:
    return list(JobAttempt.objects.filter(job_id=run.id).order_by("number").values_list("outcome", flat=True))


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


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.django_db
def test_nor_is_it_where_somebody_else_ended_the_job(atomic: bool) -> None:
    @job(atomic=atomic)
    def vanish() -> None:
        Job.objects.all().delete()

    vanish.enqueue()
    try:
        raise LookupError
    except LookupError:
        assert run_jobs().succeeded == []


@pytest.mark.django_db
def test_the_error_of_a_job_that_somebody_else_ended_is_raised_all_the_same() -> None:
    @job
    def vanish() -> None:
        Job.objects.all().delete()
        raise ValueError("too late")

    vanish.enqueue()
    with pytest.raises(ValueError, match="too late"):
        run_jobs()


@pytest.mark.django_db
def test_an_interrupt_is_never_swallowed() -> None:
    @job
    def long() -> None:
        raise KeyboardInterrupt

    run = long.enqueue()
    with pytest.raises(KeyboardInterrupt):
        run_jobs(raise_errors=False)
    assert outcomes(run) == ["error"]
