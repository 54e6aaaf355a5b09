"""A worker that ends a job with a key starts the next one of that key itself, while nothing else waits for it."""

from __future__ import annotations

import threading
import time
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection

from jobs_app import job
from jobs_app.lifecycle.hand_over import Straight
from jobs_app.models import Job, JobRun
from jobs_app.worker.loop import Worker, WorkerOptions
from jobs_app.worker.portions import Room
from tests.by_hand import admit_all
from tests.lifecycle.rows import take
from tests.waiting import until
from tests.worker.harness import finished, outcomes, working

pytestmark = pytest.mark.django_db(transaction=True)


def spied(worker: Worker) -> list[int]:
    """How many jobs each report claimed."""
    counts: list[int] = []
    carry_out = worker.handing_over.carry_out

    def note(straight: Straight) -> None:
        counts.append(len(straight.claimed))
        carry_out(straight)

    worker.handing_over.carry_out = note
    return counts


def ready(**options: Any) -> Worker:
    """A worker that knows the type `work` to be short, and found nothing else to do."""
    worker = Worker(WorkerOptions(**options))
    worker.beat.is_announced = True
    worker.pace.note("work", 0.0001, 10)
    worker.claimer._look_at_gates()
    worker.claimer._gates.admit(connection, ["work"], 10)
    worker.claimer.is_sated = True
    return worker


def test_short_jobs_of_a_key_follow_each_other_in_order_and_never_two_at_once(is_postgres: bool) -> None:
    order: list[int] = []
    running = threading.Lock()

    @job(policy="singleton", subject="account")
    def work(account: str, n: int) -> None:
        assert running.acquire(blocking=False)
        order.append(n)
        running.release()

    runs = work.enqueue_many([{"account": "a", "n": n} for n in range(60)])
    with working(poll=0.2) as worker:
        counts = spied(worker)
        assert set(finished(*runs)) == {"succeeded"}
    assert order == list(range(60))
    assert {tuple(outcomes(run)) for run in runs} == {("success",)}
    assert sum(counts) > (20 if is_postgres else -1)


def test_what_waits_for_the_worker_comes_before_the_next_of_a_key() -> None:
    @job(policy="singleton", queue="keyed")
    def work() -> None: ...

    worker = ready()
    assert worker.claimer.straight.claim is not None
    assert worker.claimer.straight.starting == ["keyed work"]
    worker.claimer.told(("elsewhere", 9))
    assert worker.claimer.straight.claim is None


def test_a_claim_that_left_something_behind_lets_nobody_be_claimed_with_its_key() -> None:
    @job(policy="singleton", queue="keyed")
    def work() -> None: ...

    @job(name="plain")
    def plain() -> None: ...

    plain.enqueue_many([{}] * 6)
    worker = ready()
    worker.pace.note("plain", 0.0001, 10)
    claimed: list[Any] = []
    worker.claimer._launch = claimed.extend
    worker.claimer._room = lambda: Room(now=1, ahead=1)
    worker.claimer.run_once()
    assert (len(claimed), worker.claimer.straight.claim) == (3, None)
    worker.claimer._room = lambda: Room(now=5, ahead=5)
    worker.claimer.wake.set()
    worker.claimer.run_once()
    assert len(claimed) == 6
    assert worker.claimer.straight.claim is not None


def test_a_worker_that_counts_its_jobs_or_stops_claims_nothing_with_a_key() -> None:
    @job(policy="singleton")
    def work() -> None: ...

    assert ready().handing_over.begin().claim is not None
    assert ready(max_jobs=5).handing_over.begin().claim is None
    worker = ready()
    worker.stop_requested.set()
    assert worker.handing_over.begin().claim is None


def test_a_type_of_which_a_process_runs_only_so_many_is_left_to_claims() -> None:
    @job(policy="singleton", concurrency_per_process=2)
    def work() -> None: ...

    straight = ready().claimer.straight
    assert (straight.kinds, straight.starting) == (["default work"], [])


def test_what_was_claimed_as_the_worker_began_to_stop_goes_back_unspent() -> None:
    @job(policy="singleton")
    def work() -> None: ...

    run = work.enqueue()
    admit_all(["work"])
    jobs = take(worker_id="w", token=uuid4())
    worker = Worker(WorkerOptions())
    worker.stop_requested.set()
    worker.handing_over.carry_out(Straight(claimed=jobs))
    worker.finisher.run_once()
    stored = Job.objects.get(pk=run.id)
    assert (stored.state, stored.attempts - stored.free_attempts) == ("queued", 0)


def test_a_worker_with_a_number_of_jobs_does_no_more_of_a_key() -> None:
    @job(policy="singleton", subject="account")
    def work(account: str) -> None: ...

    work.enqueue_many([{"account": "a"}] * 20)
    with working(max_jobs=7) as worker:
        until(worker.is_spent, every=0.01)
    assert (JobRun.objects.count(), Job.objects.filter(attempts=0).count()) == (7, 13)


def test_an_urgent_job_does_not_wait_for_the_end_of_a_long_line(is_postgres: bool) -> None:
    """On whatever key: a worker that is busy with one line after another still looks what is more urgent."""
    started: list[str] = []

    @job(policy="singleton", subject="account")
    def work(account: str) -> None:
        if "urgent" not in started:  # until then the line has no end
            work.enqueue(account=account)
        started.append(account)

    @job(priority=50)
    def urgent() -> None:
        started.append("urgent")

    work.enqueue_many([{"account": f"a{n % 8}"} for n in range(400)])
    with working(poll=0.1, concurrency=2, listen=is_postgres):
        until(lambda: len(started) > 50, every=0.005)
        assert finished(urgent.enqueue()) == ["succeeded"]
        until(lambda: not Job.objects.exists())
    assert set(JobRun.objects.values_list("state", flat=True)) == {"succeeded"}


def test_what_a_stored_half_of_a_batch_started_runs_although_the_other_half_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launched: list[Any] = []
    worker = ready()
    worker.handing_over._launch = launched.extend

    def half_stored(connection: Any, ended: Any, straight: Straight) -> Any:
        straight.claimed.append("the next of its key")
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("jobs_app.worker.finisher.finish", half_stored)
    with pytest.raises(OperationalError):
        worker.finisher._send([])
    assert launched == ["the next of its key"]


def test_by_rules_that_nobody_looked_at_for_long_nothing_is_claimed_with_a_key() -> None:
    @job(policy="singleton")
    def work() -> None: ...

    worker = ready()
    assert worker.claimer.straight.claim is not None
    worker.claimer._gates_due = time.monotonic() - 5
    assert worker.claimer.straight.claim is None
