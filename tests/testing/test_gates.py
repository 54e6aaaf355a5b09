"""Keys, limits, rates and pauses hold in `run_jobs` as they do for workers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs_app import Backoff, current_job, get_run, job
from jobs_app.lifecycle import control
from jobs_app.models import Job
from jobs_app.testing import enqueued_jobs, freeze_clock, run_jobs
from tests.testing.surroundings import in_and_out_of_a_transaction

pytestmark = in_and_out_of_a_transaction


def test_jobs_of_one_key_run_one_after_another(within: bool) -> None:
    @job(policy="singleton", subject="account")
    def sync(account: str) -> int:
        return Job.objects.filter(state="running", subject=account).count()

    sync.enqueue_many([{"account": "a"}, {"account": "b"}, {"account": "a"}])

    assert [run.result for run in run_jobs()] == [1, 1, 1]


def test_a_retry_keeps_its_place_before_the_next_of_its_key(within: bool) -> None:
    @job(policy="singleton", subject="account", backoff=Backoff(base=60, factor=1, jitter="none"))
    def sync(account: str, number: int) -> None:
        if current_job().attempt == 1:
            raise ConnectionError("away")

    sync.enqueue(account="a", number=1)
    with freeze_clock() as clock:
        assert len(run_jobs(raise_errors=False).retrying) == 1
        sync.enqueue(account="a", number=2)
        assert len(run_jobs(raise_errors=False).retrying) == 1
        clock.move("1m")
        assert len(run_jobs().succeeded) == 2


def test_an_exclusive_job_waits_alone(within: bool) -> None:
    @job(policy="exclusive", subject="account")
    def sync(account: str) -> None: ...

    first, second = sync.enqueue(account="a"), sync.enqueue(account="a")

    assert (second.id, second.created) == (first.id, False)
    assert len(run_jobs()) == 1


def test_a_rate_lets_the_next_one_wait(within: bool) -> None:
    @job(rate="1/minute")
    def call() -> None: ...

    with freeze_clock() as clock:
        call.enqueue_many([{}, {}, {}])
        assert len(run_jobs()) == 1
        clock.move("59s")
        assert len(run_jobs()) == 0
        clock.move("1s")
        assert len(run_jobs()) == 1
        assert len(enqueued_jobs()) == 1


def test_one_round_is_what_a_limit_lets_in_at_once(within: bool) -> None:
    @job(concurrency=2)
    def call() -> None: ...

    call.enqueue_many([{}] * 5)

    assert len(run_jobs(until_empty=False)) == 2
    assert len(run_jobs()) == 3


@pytest.mark.parametrize(("scope", "name"), [("all", ""), ("queue", "mail"), ("job_type", "letter"), ("subject", "s1")])
def test_what_is_paused_does_not_run(within: bool, scope: str, name: str) -> None:
    @job(queue="mail")
    def letter() -> None: ...

    before = letter.options(subject="s1").enqueue()
    control.pause(scope, name, actor="ada")
    after = letter.options(subject="s1").enqueue()
    assert not run_jobs()
    assert not run_jobs(until_empty=False)

    control.resume(scope, name, actor="ada")
    assert {run.id for run in run_jobs()} == {before.id, after.id}


def test_a_job_may_end_the_pause_of_others(within: bool) -> None:
    @job
    def letter() -> None: ...

    @job
    def deliver_again() -> None:
        control.resume("job_type", "letter", actor="ada")

    control.pause("job_type", "letter", actor="ada")
    letter.enqueue()
    deliver_again.enqueue()

    assert [run.job_type for run in run_jobs()] == ["deliver_again", "letter"]


def test_a_pause_ends_by_itself(within: bool) -> None:
    @job
    def letter() -> None: ...

    with freeze_clock() as clock:
        control.pause("job_type", "letter", actor="ada", until=clock.now + timedelta(minutes=5))
        letter.enqueue()
        assert not run_jobs()
        clock.move("5m")
        assert len(run_jobs()) == 1


def test_what_is_cancelled_does_not_run(within: bool) -> None:
    ran: list[Any] = []

    @job
    def letter() -> None:
        ran.append(current_job().id)

    run = letter.enqueue()
    control.cancel([run.id], actor="ada")

    assert not run_jobs()
    assert get_run(run.id).status == "cancelled"
    assert ran == []
