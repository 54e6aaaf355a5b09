"""A whole worker in this process: from the enqueue to history, and the end of the worker itself."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest
from django.db import transaction

from jobs_app import Backoff, current_job, job
from jobs_app.models import Job, JobAttempt, JobRun, WorkerState
from jobs_app.worker import runner as runner_module
from jobs_app.worker.loop import Worker, WorkerOptions
from tests.waiting import until
from tests.worker.harness import finished, outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gate() -> Any:
    """Handlers wait for it; it opens at the end whatever happens."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.spec("A2.1", "S1.2", "S2.10", "S2.12", "S3.2")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_job_lives_from_the_enqueue_to_history(is_async: bool) -> None:
    @job(name="greet")
    def plain(name: str) -> str:
        return f"hello {name}"

    async def waiting(name: str) -> str:
        await asyncio.sleep(0)
        return f"hello {name}"

    definition = job(name="greet-async")(waiting) if is_async else plain
    run = definition.options(subject="s-1", actor="ada").enqueue(name="Bob")
    with working(name="w-1") as worker:
        assert finished(run) == ["succeeded"]
        alive = WorkerState.objects.get(pk=worker.identity.id)
        assert (alive.name, alive.concurrency, definition.name in alive.job_types) == ("w-1", 4, True)
    stored, attempt = JobRun.objects.get(), JobAttempt.objects.get()
    assert (stored.id, stored.payload, stored.result) == (run.id, {"name": "Bob"}, "hello Bob")
    assert (stored.subject, stored.actor, stored.worker_id) == ("s-1", "ada", worker.identity.id)
    assert stored.queued_at <= stored.first_started_at <= stored.started_at <= stored.finished_at
    assert (attempt.job_id, attempt.number, attempt.outcome, attempt.success) == (run.id, 1, "success", True)
    assert (attempt.worker_id, attempt.started_at, attempt.finished_at) == (
        stored.worker_id,
        stored.started_at,
        stored.finished_at,
    )
    assert run.wait_seconds == (stored.first_started_at - stored.queued_at).total_seconds()
    assert not Job.objects.exists()
    assert not WorkerState.objects.exists()


@pytest.mark.spec("A2.3", "A4.4", "S2.11", "S4.7", "S4.8")
def test_a_job_that_fails_twice_succeeds_at_its_third_attempt() -> None:
    @job(backoff=Backoff(base=0.01, factor=1, jitter="none"))
    def third() -> int:
        context = current_job()
        context.progress(cursor=f"after {context.attempt}")
        if context.attempt < 3:
            raise ConnectionError("away")
        return context.attempt

    run = third.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
    assert (run.attempts, run.result, run.error, run.progress.cursor) == (3, 3, "", "after 3")
    assert outcomes(run) == ["error", "error", "success"]


@pytest.mark.spec("S4.15", "S2.21")
def test_one_result_that_cannot_be_stored_costs_the_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that is seen to be bad nor one that only the database refuses."""
    as_json = runner_module.result_text
    trick = lambda job_id, value: "{no json" if value == "trick" else as_json(job_id, value)  # noqa: E731
    monkeypatch.setattr(runner_module, "result_text", trick)
    bad: dict[int, Any] = {1: object(), 2: "a\0b", 3: "x" * 2_000_000, 4: {"deep": {}}, 5: Exception("\0"), 6: "trick"}
    nested = bad[4]
    for _ in range(100):
        nested["deep"] = nested = {"deep": {}}

    @job
    def work(n: int) -> Any:
        if isinstance(bad.get(n), Exception):
            raise bad[n]
        return bad.get(n, n)

    runs = work.enqueue_many([{"n": n} for n in range(20)])
    with working(concurrency=20):
        until(lambda: JobRun.objects.count() == 19 and JobAttempt.objects.count() == 20, every=0.02)
    results = {run.payload["n"]: run.refresh().result for run in runs}
    assert {n: results[n] for n in results if n not in bad} == {n: n for n in range(20) if n not in bad}
    assert all("not_stored" in results[n] for n in (1, 2, 3, 4, 6))
    assert (runs[5].status, outcomes(runs[5])) == ("retrying", ["error"])


@pytest.mark.spec("S3.R7")
def test_a_freed_slot_is_filled_at_once_however_long_the_poll() -> None:
    """A claimer that finds all threads busy is woken by the first that is free, also where it may claim ahead."""

    @job
    def brief() -> None:
        time.sleep(0.02)

    runs = brief.enqueue_many([{}] * 6)
    with working(concurrency=1, poll=60, recover_every=60):
        assert set(finished(*runs, seconds=20)) == {"succeeded"}


@pytest.mark.spec("S3.R7", "S2.23")
def test_a_slow_job_holds_one_slot_and_no_batch(gate: threading.Event) -> None:
    @job
    def work(slow: bool = False) -> None:
        if slow:
            gate.wait(20)

    quick = work.enqueue_many([{}] * 30)
    with working(concurrency=2):
        finished(*quick)  # seen to be short: claimed ahead from now on
        slow = work.enqueue(slow=True)
        until(lambda: state(slow) == "running", every=0.01)
        assert set(finished(*work.enqueue_many([{}] * 200))) == {"succeeded"}
        assert state(slow) == "running"
        gate.set()
        assert finished(slow) == ["succeeded"]


def test_nothing_is_claimed_ahead_while_every_thread_is_busy_with_long_jobs(gate: threading.Event) -> None:
    """It would keep them from idle workers, and go back every second with one more attempt in the books."""

    @job
    def long() -> None:
        gate.wait(20)

    @job
    def short() -> None: ...

    with working(concurrency=2) as worker:
        finished(*short.enqueue_many([{}] * 30))
        assert worker.pace.is_short("short")
        busy = long.enqueue_many([{}] * 2)
        until(lambda: len(worker.hangar.slow(0.1)) == 2, every=0.01)
        waiting = short.enqueue_many([{}] * 20)
        looks = worker.claimer.wake
        looks.set()
        until(lambda: not looks.is_set(), every=0.01)
        looks.set()
        until(lambda: not looks.is_set(), every=0.01)
        assert {state(run) for run in waiting} == {"queued"}
        gate.set()
        assert set(finished(*busy, *waiting)) == {"succeeded"}
    assert not JobAttempt.objects.exclude(outcome="success").exists()


def test_a_blocked_event_loop_gives_its_waiting_jobs_back_unspent_and_runs_none_of_them_wrongly(
    gate: threading.Event,
) -> None:
    ran: list[int] = []

    @job
    async def block() -> None:
        gate.wait(20)

    @job
    async def quick(n: int) -> int:
        ran.append(n)
        return n

    with working(concurrency=3):
        blocker = block.enqueue()
        until(lambda: state(blocker) == "running", every=0.01)
        waiting = quick.enqueue_many([{"n": 1}, {"n": 2}])
        until(lambda: [state(run) for run in waiting] == ["running"] * 2, every=0.01)
        until(lambda: [state(run) for run in waiting] == ["queued"] * 2, every=0.01)
        gate.set()
        assert set(finished(blocker, *waiting)) == {"succeeded"}
    assert sorted(ran) == [1, 2]
    for run in waiting:
        assert outcomes(run) == ["interrupted", "success"]
        assert JobRun.objects.get(pk=run.id).free_attempts == 1


@pytest.mark.spec("S2.20", "S2.31", "A2.5")
@pytest.mark.parametrize("fate", ["release", "fail", "leave"])
def test_what_still_runs_when_the_grace_is_over(fate: str, gate: threading.Event) -> None:
    @job
    def long() -> None:
        gate.wait(20)

    run = long.enqueue()
    with working(grace=0.1, on_shutdown=fate) as worker:
        until(worker.hangar.running, every=0.01)
    assert worker.left_running
    text = f"Worker shutdown (job interrupted on {worker.identity.id})"
    if fate == "leave":
        assert (state(run), outcomes(run)) == ("running", [])
        return
    attempt = JobAttempt.objects.get()
    assert (attempt.outcome, attempt.message) == ("interrupted", text)
    run.refresh()
    if fate == "fail":
        assert (run.status, run.error, JobRun.objects.get().done_reason) == ("failed", text, "interrupted")
    else:
        row = Job.objects.get()
        assert (row.state, row.attempts - row.free_attempts, row.last_error) == ("queued", 0, text)


@pytest.mark.parametrize(("preset", "expected"), [("plane", "failed"), ("transient", "queued"), ("lease", "running")])
def test_without_a_word_from_the_operator_the_preset_says_what_a_shutdown_does(
    preset: str, expected: str, gate: threading.Event
) -> None:
    @job(preset=preset)
    def long() -> None:
        gate.wait(20)

    run = long.enqueue()
    with working(grace=0.1) as worker:
        until(worker.hangar.running, every=0.01)
    assert (state(run) or run.refresh().status) == expected


@pytest.mark.spec("S2.20")
def test_what_ends_within_the_grace_ends_as_always() -> None:
    began = threading.Event()

    @job
    def brief() -> str:
        began.set()
        time.sleep(0.3)
        return "done"

    run = brief.enqueue()
    with working(grace=10) as worker:
        began.wait(10)
    assert not worker.left_running
    assert (run.refresh().status, run.result) == ("succeeded", "done")


@pytest.mark.spec("A2.5")
def test_claims_that_have_not_started_go_back_at_once_unspent(gate: threading.Event) -> None:
    @job
    def work(slow: bool = False) -> None:
        if slow:
            gate.wait(20)

    with working(concurrency=1, grace=0.2) as worker:
        finished(*work.enqueue_many([{}] * 30))
        with transaction.atomic():  # one batch: the slow one first, the others in the same chunk or behind it
            slow = work.enqueue(slow=True)
            behind = work.enqueue_many([{}] * 9)
        until(worker.hangar.running, every=0.001)
    for run in (slow, *behind):
        row = Job.objects.get(pk=run.id)
        assert (row.state, row.attempts - row.free_attempts) == ("queued", 0)


def test_a_handler_that_ends_just_as_the_grace_does_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    began = threading.Event()

    @job
    def brief() -> None:
        began.set()
        time.sleep(0.15)

    for _ in range(5):
        began.clear()
        run = brief.enqueue()
        with caplog.at_level(logging.WARNING), working(grace=0.15) as worker:
            began.wait(10)
        counted = dict(worker.finisher.counts)
        assert sum(counted[key] for key in counted if key != "lost") == 1
        assert len(outcomes(run)) == 1
        Job.objects.all().delete()


def test_a_worker_that_may_do_one_job_does_it_before_it_ends() -> None:
    """Spent by what it did, not by what it claimed or by its size, or it could give its only job back each time."""

    @job
    def work() -> None: ...

    assert not Worker(WorkerOptions(max_rss=1)).is_spent()
    for options in ({"max_jobs": 1}, {"max_rss": 1}):
        runs = work.enqueue_many([{}] * 2)
        with working(concurrency=1, **options) as worker:
            until(worker.is_spent, every=0.0001)
        assert "succeeded" in [run.refresh().status for run in runs]
        Job.objects.all().delete()
