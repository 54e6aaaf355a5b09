"""The slot for the app's own chores: nothing keeps it from them, and it keeps nothing from others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job, trigger
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import database_now
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.runtime import loops
from jobs_app.runtime.identity import Identity
from jobs_app.worker import reserved_slot
from jobs_app.worker.reserved_slot import ReservedSlot
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished, outcomes, working

pytestmark = pytest.mark.django_db(transaction=True)

Start = Callable[..., WorkerProcess]


def chore(function: Callable[..., Any], **options: Any) -> Any:
    """A job type on the app's own queue."""
    return job(**{"name": "jobs.own", "queue": SYSTEM_QUEUE, "policy": "exclusive", "max_attempts": 1, **options})(
        function
    )


def slot(**options: Any) -> ReservedSlot:
    given: dict[str, Any] = {"lease": 30, "may_take": lambda connection: True, "look_every": 0.02}
    return ReservedSlot(Identity.new(), **given | options)


@contextmanager
def running(reserved: ReservedSlot) -> Iterator[ReservedSlot]:
    reserved.start()
    try:
        yield reserved
    finally:
        reserved.stop()
        reserved.join(30)
        assert not reserved.is_alive()


def test_a_worker_with_no_free_slot_and_no_queue_to_serve_does_them_all_the_same() -> None:
    gate = threading.Event()

    @job(queue="mail")
    def busy() -> None:
        gate.wait(20)

    own = chore(lambda: "done")
    with working(concurrency=1, queues=("mail",), excluded=("jobs*",)) as worker:
        other = busy.enqueue()
        until(worker.hangar.running, every=0.01)
        run = own.enqueue()
        assert finished(run) == ["succeeded"]
        assert (run.result, outcomes(run)) == ("done", ["success"])
        assert JobAttempt.objects.get(job_id=run.id).worker_id == worker.identity.id
        assert other.refresh().status == "running"
        gate.set()
        assert finished(other) == ["succeeded"]
    assert dict(worker.finisher.counts) == {"succeeded": 1}


def test_a_pause_of_everything_does_not_stop_them() -> None:
    own = chore(lambda: None)
    control.pause("all", "", "ann")
    with working():
        assert finished(own.enqueue()) == ["succeeded"]


def test_one_at_a_time() -> None:
    most, inside, lock = [0], [0], threading.Lock()
    gate = threading.Event()

    def count() -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        gate.wait(0.05)
        inside[0] -= 1

    own = chore(count, policy="standard")
    runs = own.enqueue_many([{}] * 4)
    with running(slot()):
        finished(*runs)
    assert most == [1]


def test_its_lease_is_kept_for_as_long_as_it_runs() -> None:
    gate = threading.Event()
    own = chore(lambda: gate.wait(20))
    run = own.enqueue()
    with running(slot(lease=0.3)):
        until(lambda: run.refresh().status == "running", every=0.01)
        first = Job.objects.get().lease_expires_at
        until(lambda: (Job.objects.get().lease_expires_at - first).total_seconds() > 1, every=0.02)
        gate.set()
        assert finished(run) == ["succeeded"]


def test_what_it_says_of_its_progress_is_written_while_it_runs() -> None:
    gate = threading.Event()

    def tell(context: Any) -> None:
        context.progress(3, 7)
        gate.wait(20)

    run = chore(tell, takes_context=True).enqueue()
    with running(slot(lease=0.3)):
        until(lambda: Job.objects.filter(progress_count=3).exists(), every=0.02)
        gate.set()
        assert finished(run) == ["succeeded"]


def patient(context: Any) -> str:
    """Goes on until it is asked to stop."""
    until(lambda: context.cancelled, every=0.01)
    return "came to its end"


def test_a_stop_asks_it_to_come_to_its_end_and_stores_that() -> None:
    begun = threading.Event()

    def long(context: Any) -> str:
        begun.set()
        return patient(context)

    run = chore(long, takes_context=True).enqueue()
    with running(slot()):
        assert begun.wait(30)
    assert (run.refresh().status, run.result) == ("succeeded", "came to its end")


def test_so_does_who_cancels_it() -> None:
    run = chore(patient, takes_context=True).enqueue()
    with running(slot(lease=0.3)):
        until(lambda: run.refresh().status == "running", every=0.01)
        control.cancel(run.id, "ann")
        assert finished(run) == ["succeeded"]


def test_one_that_was_given_to_somebody_else_stops_and_its_end_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    run = chore(patient, takes_context=True).enqueue()
    with running(slot(lease=0.3)):
        until(lambda: run.refresh().status == "running", every=0.01)
        control.fail(run.id, "ann", "mine", force=True)
        until(lambda: "its success is not recorded" in caplog.text, every=0.01)
    assert (run.refresh().status, run.error) == ("failed", "mine")


def test_a_report_that_cannot_be_stored_is_kept_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FIRST_BACKOFF_SECONDS", 0.001)
    real, refused = reserved_slot.store, []

    def shaky(*given: Any) -> bool:
        stored = real(*given) if len(refused) == 1 else None  # the second time its answer is lost
        if len(refused) < 2:
            refused.append(1)
            raise OperationalError("the server is restarting")
        return stored or real(*given)

    monkeypatch.setattr(reserved_slot, "store", shaky)
    run = chore(lambda: 7).enqueue()
    with running(slot()):
        assert finished(run) == ["succeeded"]
        until(lambda: len(refused) == 2, every=0.01)
    assert (run.result, outcomes(run)) == (7, ["success"])


def test_it_takes_none_while_others_do() -> None:
    allowed: list[int] = []
    run = chore(lambda: None).enqueue()
    asked: list[int] = []
    with running(slot(may_take=lambda own: bool(asked.append(1)) or bool(allowed))):
        until(lambda: len(asked) > 2, every=0.01)
        assert run.refresh().status == "queued"
        allowed.append(1)
        assert finished(run) == ["succeeded"]


def test_what_is_for_others_or_for_later_is_not_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rested: list[float] = []
    reserved = slot(look_every=60, may_take=lambda own: False)
    monkeypatch.setattr(reserved._ending, "wait", rested.append)
    monkeypatch.setattr(reserved, "pause", rested.append)
    chore(lambda: None).enqueue()
    reserved.run_once()
    assert rested == [2.0, 60]


def test_an_idle_look_is_one_query_and_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    reserved = slot()
    with CaptureQueriesContext(connection) as captured:
        assert not reserved._take()
    assert len([query for query in captured if "jobs_app_job" in query["sql"]]) == 1
    seen: list[Any] = []
    monkeypatch.setattr(reserved, "pause", lambda seconds: seen.append(reserved.connection.connection))
    monkeypatch.setattr(reserved, "is_done", lambda: bool(seen))
    reserved.start()
    reserved.join(30)
    assert seen == [None]


def test_the_claimer_sees_them_with_the_queries_that_it_sends_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody waits for the slot's own look."""
    monkeypatch.setattr(reserved_slot, "LOOK_EVERY_SECONDS", 3600.0)
    own = chore(lambda: None)
    plain = chore(lambda: None, name="jobs.plain", policy="standard")
    with working() as worker:
        until(lambda: worker.claimer.empty_at > 0, every=0.01)
        assert finished(own.enqueue(), plain.enqueue()) == ["succeeded"] * 2


def test_what_is_due_is_worked_off_on_the_spot() -> None:
    own, plain = chore(lambda: None), chore(lambda: None, name="jobs.plain", policy="standard")
    runs = [own.enqueue(), *plain.enqueue_many([{}] * 3)]
    later = plain.options(delay=3600).enqueue()
    slot().work_off()
    assert {run.refresh().status for run in runs} == {"succeeded"}
    assert later.refresh().status == "scheduled"


def test_a_worker_that_only_works_off_what_is_due_has_none() -> None:
    run = chore(lambda: None).enqueue()
    with working(once=True) as worker:
        until(worker.is_drained, every=0.01)
    assert run.refresh().status == "queued"


@pytest.mark.spec("S2.32")
def test_a_chore_of_a_killed_worker_is_ended_and_the_next_one_is_done(
    start: Start, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    """Whoever recovers other jobs: reconciliation, which would do it, may be the very one that was killed."""
    gate = tmp_path / "gate"
    worker = start(AUTO_RECOVER="0").wait_for_start()
    killed = samples.own_chore.enqueue(until=str(gate))
    (began,) = ledger.wait("began")
    assert began["pid"] == worker.pid
    worker.end()
    gate.touch()
    start(AUTO_RECOVER="0").wait_for_start()
    assert finished(killed) == ["failed"]
    assert (outcomes(killed), JobRun.objects.get().done_reason) == (["lost"], "lost")
    assert finished(samples.own_chore.enqueue(until=str(gate))) == ["succeeded"]


@pytest.mark.spec("S2.18", "S3.20")
def test_with_recovery_left_to_it_reconciliation_gives_a_killed_workers_job_to_another(
    start: Start, samples: Any, ledger: Ledger, chores: Any
) -> None:
    first = start(AUTO_RECOVER="0").wait_for_start()
    run = samples.kill_once.enqueue()
    first.wait()
    second = start(AUTO_RECOVER="0").wait_for_start()
    until(lambda: Job.objects.filter(pk=run.id, lease_expires_at__lt=database_now(connection)).exists(), every=0.05)
    assert run.refresh().status == "running"
    sweep = trigger("jobs.reconcile")
    assert finished(sweep, run) == ["succeeded", "succeeded"]
    assert sweep.result == {"moved": 1, "kept": {}}
    assert outcomes(run) == ["lost", "success"]
    lost = JobAttempt.objects.get(job_id=run.id, number=1)
    assert lost.message.startswith("Job stuck in running for 0min - lease: expired (was on ")
    second.stop()


@pytest.mark.spec("S3.17")
def test_a_worker_with_a_scheduler_does_the_apps_own_chores(start: Start, chores: Any) -> None:
    worker = start("--with-scheduler").wait_for_start()
    names = {"jobs.notify", "jobs.prune", "jobs.reconcile", "jobs.rollup"}

    def all_done() -> bool:
        rows = JobRun.objects.filter(queue=SYSTEM_QUEUE, state="succeeded")
        return set(rows.values_list("job_type", flat=True)) == names

    until(all_done, every=0.05)
    log = worker.stop()
    assert not any(f"Worker registered for: {name}" in log for name in names)
    assert "worker stopped: no jobs" in log
