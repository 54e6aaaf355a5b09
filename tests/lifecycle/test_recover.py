"""running -> queued or failed when the lease expired, queued -> failed when it came too late."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job as define
from jobs_app.lifecycle import recover as module
from jobs_app.lifecycle.heartbeat import Held, extend
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobRun
from jobs_app.retry import Backoff
from tests.lifecycle.rows import T, at, attempts_of, done, one_running, outcomes_of, stored, tables, take
from tests.lifecycle.sessions import sessions

TEXT = "Worker crashed or timed out (stalled job recovery, was on worker-1)"


@pytest.mark.django_db
@pytest.mark.spec("S1.3", "S1.9", "S2.18", "S2.32", "S1.R7")
def test_a_first_loss_is_due_again_at_once_and_its_attempt_says_what_happened() -> None:
    with at(0):
        job = one_running(max_attempts=3)
    with at(31):
        found = recover(connection)
    assert (found.requeued, found.failed, found.expired, found.total) == ({job.id}, set(), set(), 1)
    row = Job.objects.get()
    assert (row.state, row.run_at, row.attempts, row.free_attempts) == ("queued", T + timedelta(seconds=31), 1, 0)
    assert (row.lease_expires_at, row.last_error, row.token) == (None, TEXT, job.token)
    [attempt] = attempts_of(job.id)
    assert (attempt.number, attempt.outcome, attempt.success, attempt.message) == (1, "lost", False, TEXT)
    assert (attempt.worker_id, attempt.started_at, attempt.token) == ("worker-1", T, job.token)
    assert (attempt.finished_at, attempt.error_class) == (T + timedelta(seconds=31), "LeaseExpired")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.django_db
@pytest.mark.spec("S2.22")
def test_a_second_loss_waits_by_the_backoff_of_the_type(known: bool, settings: Any) -> None:
    settings.JOBS = {"BACKOFF_BASE_SECONDS": 7, "BACKOFF_MAX_SECONDS": 100}
    if known:

        @define(name="work", backoff=Backoff(base=10, jitter="none"))
        def work() -> None: ...

    moment = 0
    delays = []
    with at(0):
        stored(max_attempts=4)
    for _ in range(3):
        with at(moment):
            take()
        with at(moment + 31):
            recover(connection, random=lambda: 0.0)
        waits = Job.objects.get().run_at - T - timedelta(seconds=moment + 31)
        delays.append(waits.total_seconds())
        moment += 31 + int(delays[-1])
    assert delays == ([0, 40, 80] if known else [0, 28, 56])


@pytest.mark.parametrize("max_attempts", [1, 3])
@pytest.mark.django_db
@pytest.mark.spec("S1.R2", "S2.18")
def test_a_job_that_is_lost_with_its_last_attempt_ends_failed(max_attempts: int) -> None:
    with at(0):
        [run_id] = stored(max_attempts=max_attempts)
    for number in range(max_attempts):
        with at(number * 10_000):
            assert len(take()) == 1
        with at(number * 10_000 + 31):
            found = recover(connection)
    assert (found.failed, found.requeued) == ({run_id}, set())
    run = JobRun.objects.get()
    assert (run.state, run.outcome, run.done_reason, run.error) == ("failed", "lost", "lost", TEXT)
    assert outcomes_of(run_id) == ["lost"] * max_attempts
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_attempts_that_were_not_spent_do_not_count_towards_the_end() -> None:
    with at(0):
        job = one_running(max_attempts=1)
        assert done(job, "queued", outcome="interrupted", free=True)
        take()
    with at(31):
        assert recover(connection).failed == {job.id}
    assert outcomes_of(job.id) == ["interrupted", "lost"]


@pytest.mark.django_db
@pytest.mark.spec("S2.19", "S1.8")
def test_what_holds_a_valid_lease_or_none_is_left_alone() -> None:
    with at(0):
        stored(3)
        take(2)
    before = tables()
    with at(30):
        assert recover(connection).total == 0
    assert tables() == before


@pytest.mark.django_db
def test_a_lease_that_was_extended_is_valid() -> None:
    with at(0):
        job = one_running()
    with at(29):
        extend(connection, [Held(job.id, job.token, 30)])
    with at(58):
        assert recover(connection).total == 0
    with at(60):
        assert recover(connection).total == 1


@pytest.mark.django_db
def test_recovery_done_twice_is_done_once() -> None:
    with at(0):
        one_running()
    with at(31):
        recover(connection)
        before = tables()
        assert recover(connection).total == 0
    assert tables() == before


@pytest.mark.django_db
def test_what_was_not_started_in_time_ends_expired_without_an_attempt() -> None:
    soon = T + timedelta(seconds=10)
    with at(0):
        late, held, running = stored(expires_at=soon) + stored(expires_at=soon) + stored(expires_at=soon, priority=9)
        [in_time] = stored(expires_at=T + timedelta(hours=1))
        Job.objects.filter(pk=held).update(hold="pause")
        [job] = take(1)
        assert job.id == running
    with at(9):
        assert recover(connection).total == 0
    with at(11):
        assert recover(connection).expired == {late, held}
    for run in JobRun.objects.all():
        assert (run.state, run.outcome, run.done_reason, run.attempts) == ("failed", "", "expired", 0)
        assert (run.error, run.started_at) == ("no attempt could start before its expires_at", None)
        assert run.finished_at == T + timedelta(seconds=11)
        assert attempts_of(run.id) == []
    assert set(Job.objects.values_list("id", flat=True)) == {running, in_time}


@pytest.mark.django_db
def test_a_job_that_started_in_time_may_run_past_its_expiry() -> None:
    with at(0):
        job = one_running(expires_at=T + timedelta(seconds=10))
    with at(20):
        assert recover(connection).total == 0
        assert done(job)


@pytest.mark.django_db
def test_many_valid_leases_do_not_hide_the_few_that_expired() -> None:
    with at(0):
        stored(2010)
        lost = {job.id for job in take(10, lease=5)}
        take(2000, lease=600)
    with at(6):
        assert recover(connection).requeued == lost


@pytest.mark.django_db
def test_all_jobs_of_a_dead_worker_come_back_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_STATEMENT", 10)
    with at(0):
        stored(25), stored(5, max_attempts=1), stored(13, expires_at=T + timedelta(seconds=5), delay=1)
        take(30)
    with at(31):
        found = recover(connection)
    assert (len(found.requeued), len(found.failed), len(found.expired)) == (25, 5, 13)


@pytest.mark.django_db
def test_recovered_jobs_keep_where_they_were() -> None:
    with at(0):
        job = one_running()
        Job.objects.update(cursor="page-3", progress_count=3)
    with at(31):
        recover(connection)
        [again] = take()
    assert (again.id, again.cursor, again.progress_count) == (job.id, "page-3", 3)


@pytest.mark.parametrize("max_attempts", [1, 5])
@pytest.mark.django_db
def test_a_lost_job_that_was_asked_to_stop_is_cancelled(max_attempts: int) -> None:
    with at(0):
        job = one_running(max_attempts=max_attempts)
        Job.objects.update(cancel_requested=True)
    with at(31):
        recover(connection)
    run = JobRun.objects.get()
    assert (run.id, run.state, run.outcome, run.done_reason) == (job.id, "cancelled", "lost", "cancelled")
    assert outcomes_of(job.id) == ["lost"]


@pytest.mark.parametrize("recovers_first", [True, False])
@pytest.mark.django_db(transaction=True)
def test_between_reading_and_writing_recovery_checks_again(recovers_first: bool, monkeypatch: Any) -> None:
    """Whatever happens to the job after recovery has read it: a completion stays a completion."""
    with at(0):
        job = one_running()
    with at(31), sessions(2) as [recoverer, worker]:
        steps = []
        requeue = module.requeue

        def requeue_later(*arguments: Any) -> Any:
            """The worker reports between the read and the write."""
            steps.append(worker.start(done, job))
            worker.until_blocked_or_done(steps[0])
            return requeue(*arguments)

        if recovers_first:
            monkeypatch.setattr(module, "requeue", requeue_later)
            recoverer.do(recover, connection)
            [report] = steps
        else:
            report = worker.start(done, job)
            report.result(timeout=60)
            assert recoverer.do(recover, connection).total == 0
        assert report.result(timeout=60)
    assert JobRun.objects.get().state == "succeeded"
    assert not Job.objects.exists()
    assert outcomes_of(job.id) == ["success"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_recovery_never_waits_for_a_row_that_is_being_written() -> None:
    with at(0):
        stored(2)
        busy, silent = take(2)
    with at(31), sessions(1) as [worker]:
        worker.begin()
        assert worker.do(done, busy)
        assert recover(connection).requeued == {silent.id}
        worker.commit()
        assert recover(connection).total == 0
    assert JobRun.objects.get().id == busy.id


@pytest.mark.django_db(transaction=True)
def test_recoverers_at_once_give_each_job_back_once() -> None:
    with at(0):
        ids = set(stored(40))
        take(40)
    with at(31), sessions(4) as recoverers:
        found = [future.result(timeout=60) for future in [one.start(recover, connection) for one in recoverers]]
    given_back = [run_id for one in found for run_id in one.requeued]
    assert sorted(given_back) == sorted(ids)
    assert {tuple(outcomes_of(run_id)) for run_id in ids} == {("lost",)}
