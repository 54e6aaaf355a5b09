"""running -> an end, or back to wait: only with the token, and exactly once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from jobs_app.lifecycle.finish import finish, settled
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobRun
from jobs_app.presets import PRESETS
from jobs_app.retry import decide
from tests.lifecycle.rows import (
    T,
    at,
    attempts_of,
    done,
    ended,
    one_running,
    outcomes_of,
    stored,
    tables,
    take,
)

AssertQueries = Callable[[int], Any]


@pytest.mark.django_db
@pytest.mark.spec("S1.1", "S1.4", "S1.22", "S1.23", "S2.6", "S2.10", "S4.7", "S4.13")
def test_a_success_moves_the_job_into_history_with_all_it_carried() -> None:
    with at(0):
        stored(subject="tenant 7", key="k", priority=3, payload='{"a": 1}', meta='{"m": 2}', actor="ada", slot_at=T)
    Job.objects.update(cursor="page-9", progress_count=9, result_count=4, target_count=10, progress_message="nearly")
    with at(5):
        [job] = take(worker_id="host-1")
    carried = Job.objects.values().get()
    with at(65):
        assert done(job, result='{"sent": 7}', done_reason="worker_done", log="line", started_ago=50, finished_ago=2)
    assert not Job.objects.exists()
    run = JobRun.objects.values().get()
    changed = {name: value for name, value in run.items() if name not in carried or carried[name] != value}
    assert changed == {
        "state": "succeeded",
        "outcome": "success",
        "done_reason": "worker_done",
        "started_at": T + timedelta(seconds=15),
        "finished_at": T + timedelta(seconds=63),
        "error": "",
        "result": {"sent": 7},
    }
    left_out = carried.keys() - run.keys()
    assert left_out == {
        "hold",
        "gate",
        "token",
        "lease_expires_at",
        "cancel_requested",
        "abort_requested",
        "last_error",
    }
    [attempt] = attempts_of(job.id)
    assert (attempt.number, attempt.token, attempt.worker_id) == (1, job.token, "host-1")
    assert (attempt.started_at, attempt.finished_at) == (run["started_at"], run["finished_at"])
    assert (attempt.outcome, attempt.success, attempt.log_excerpt, attempt.message) == ("success", True, "line", "")


@pytest.mark.parametrize(
    ("state", "outcome", "reason"),
    [
        ("failed", "error", "exhausted"),
        ("failed", "timeout", "permanent"),
        ("failed", "crashed", "quarantined"),
        ("failed", "interrupted", "interrupted"),
        ("cancelled", "cancelled", "cancelled"),
    ],
)
@pytest.mark.django_db
@pytest.mark.spec("S2.11", "S4.9", "S4.14")
def test_an_end_that_is_no_success_keeps_its_error(state: str, outcome: str, reason: str) -> None:
    job = one_running()
    assert done(
        job, state, outcome=outcome, done_reason=reason, error="no", error_class="ValueError", traceback="Traceback"
    )
    run = JobRun.objects.get()
    assert (run.state, run.outcome, run.done_reason, run.error, run.result) == (state, outcome, reason, "no", None)
    assert run.finished_at is not None
    [attempt] = attempts_of(run.id)
    assert (attempt.outcome, attempt.success, attempt.message) == (outcome, False, "no")
    assert (attempt.error_class, attempt.traceback) == ("ValueError", "Traceback")


@pytest.mark.django_db
@pytest.mark.spec("S1.5", "S1.21", "S4.8", "S4.14", "S2.R4")
def test_a_retry_writes_the_attempt_and_waits_from_now() -> None:
    with at(0):
        job = one_running()
    with at(10):
        assert done(job, "queued", error="busy", delay=90)
    assert not JobRun.objects.exists()
    row = Job.objects.get()
    assert (row.state, row.attempts, row.free_attempts, row.last_error) == ("queued", 1, 0, "busy")
    assert row.run_at == T + timedelta(seconds=100)
    assert (row.token, row.lease_expires_at) == (None, None)
    assert outcomes_of(job.id) == ["error"]
    with at(99):
        assert take() == []
    with at(100):
        [again] = take()
    assert (again.id, again.attempts) == (job.id, 2)


@pytest.mark.parametrize("outcome", ["interrupted", "snoozed", "deferred"])
@pytest.mark.django_db
def test_a_free_attempt_is_written_but_not_spent(outcome: str) -> None:
    job = one_running(max_attempts=1)
    assert done(job, "queued", outcome=outcome, free=True)
    [again] = take()
    assert (again.attempts, again.free_attempts, again.counted_attempts) == (2, 1, 1)
    assert outcomes_of(job.id) == [outcome]


@pytest.mark.django_db
def test_a_wait_without_an_error_keeps_the_last_one() -> None:
    job = one_running()
    assert done(job, "queued", error="busy")
    [job] = take()
    assert done(job, "queued", outcome="snoozed", free=True)
    assert Job.objects.get().last_error == "busy"


@pytest.mark.django_db
@pytest.mark.spec("A2.3", "S2.30", "S1.23")
def test_two_failures_and_a_success_are_one_run_with_three_attempts() -> None:
    stored(max_attempts=4)
    for _ in range(2):
        [job] = take()
        assert done(job, "queued", error="not yet")
    [job] = take()
    assert done(job)
    assert [(attempt.outcome, attempt.success) for attempt in attempts_of(job.id)] == [
        ("error", False),
        ("error", False),
        ("success", True),
    ]
    run = JobRun.objects.get()
    assert (run.id, run.state, run.attempts, run.error) == (job.id, "succeeded", 3, "")


@pytest.mark.parametrize(
    ("preset", "waits"),
    [
        ("lease", [(60, 72), (120, 144), (240, 288), (480, 576)]),
        ("payments", [(60 * n,) * 2 for n in (1, 2, 4, 8, 16)]),
    ],
)
@pytest.mark.django_db
@pytest.mark.spec("A1.2", "A4.2", "S1.21", "S4.9", "S4.11")
def test_a_job_that_always_fails_waits_longer_each_time_and_ends_failed(
    preset: str, waits: list[tuple[float, float]]
) -> None:
    rules = PRESETS[preset]
    with at(0):
        [run_id] = stored(max_attempts=rules.max_attempts)
    moment = 0.0
    for shortest, longest in [*waits, (None, None)]:
        with at(moment):
            [job] = take()
            verdict = decide(
                ConnectionError("no"),
                counted_attempts=job.counted_attempts,
                max_attempts=job.max_attempts,
                backoff=rules.backoff,
            )
            assert done(job, verdict.state, done_reason=verdict.done_reason, error="no", delay=verdict.delay or 0)
            if shortest is None:
                break
            waited = (Job.objects.get().run_at - T).total_seconds() - moment
        assert shortest <= waited <= longest
        moment += waited
    run = JobRun.objects.get()
    assert (run.id, run.state, run.done_reason, run.attempts) == (run_id, "failed", "exhausted", rules.max_attempts)
    assert run.finished_at == T + timedelta(seconds=moment)
    assert outcomes_of(run_id) == ["error"] * rules.max_attempts
    with at(moment + 10**6):
        recover(connection)
        assert take() == []


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "queued"])
@pytest.mark.django_db
def test_a_report_with_a_wrong_token_changes_nothing(state: str) -> None:
    job, bystander = one_running(), one_running()
    assert done(bystander, "queued", error="x")
    before = tables()
    assert not done(job._replace(token=uuid4()), state, error="late", result=None)
    assert not done(job._replace(id=uuid4()), state)
    assert not done(bystander, state)
    assert tables() == before


@pytest.mark.django_db
@pytest.mark.spec("A1.5")
def test_a_report_sent_twice_counts_once() -> None:
    job = one_running()
    assert done(job)
    before = tables()
    assert not done(job)
    assert not done(job, "queued")
    assert tables() == before


@pytest.mark.django_db
@pytest.mark.spec("S4.15")
def test_a_mixed_batch_is_stored_together_and_tells_which_were_ours() -> None:
    stored(8)
    success, failure, retry, release, cancelled, foreign, stale, untouched = take(8)
    with at(0):
        accepted = finish(
            connection,
            [
                ended(retry, "queued", error="busy", delay=60),
                ended(success, result="1"),
                ended(foreign._replace(token=uuid4())),
                ended(failure, "failed", error="no"),
                ended(stale._replace(token=uuid4()), "queued"),
                ended(release, "queued", outcome="interrupted", free=True),
                ended(cancelled, "cancelled"),
            ],
        )
    assert accepted == {success.id, failure.id, retry.id, release.id, cancelled.id}
    assert dict(JobRun.objects.values_list("id", "state")) == {
        success.id: "succeeded",
        failure.id: "failed",
        cancelled.id: "cancelled",
    }
    assert {row.id: (row.state, row.run_at - T if row.state == "queued" else None) for row in Job.objects.all()} == {
        retry.id: ("queued", timedelta(seconds=60)),
        release.id: ("queued", timedelta(0)),
        foreign.id: ("running", None),
        stale.id: ("running", None),
        untouched.id: ("running", None),
    }


@pytest.mark.django_db(transaction=True)
def test_a_batch_of_one_kind_is_one_statement_on_postgres(is_postgres: bool, django_assert_num_queries: Any) -> None:
    stored(50)
    jobs = take(50)
    around = 2  # the begin and the commit, which are logged; the pin is not
    with django_assert_num_queries(around + (1 if is_postgres else 3)):
        assert len(finish(connection, [ended(job, result='{"n": 1}') for job in jobs])) == 50


@pytest.mark.django_db
def test_an_empty_batch_is_nothing() -> None:
    assert finish(connection, []) == set()
    assert settled(connection, []) == set()


@pytest.mark.parametrize("first", ["succeeded", "queued"])
@pytest.mark.django_db
def test_of_two_reports_about_one_attempt_the_end_counts(first: str) -> None:
    """A handler that ends just as its worker gives it up is reported twice, perhaps in one batch."""
    job = one_running()
    second = "queued" if first == "succeeded" else "succeeded"
    assert finish(connection, [ended(job, first), ended(job, second)]) == {job.id}
    assert JobRun.objects.get().state == "succeeded"
    assert outcomes_of(job.id) == ["success"]


@pytest.mark.parametrize("state", ["failed", "queued"])
@pytest.mark.django_db
def test_of_two_reports_of_one_kind_the_first_counts(state: str) -> None:
    job = one_running()
    reports = [ended(job, state, error=error, outcome=outcome) for error, outcome in [("a", "error"), ("b", "timeout")]]
    assert finish(connection, reports) == {job.id}
    assert [(attempt.outcome, attempt.message) for attempt in attempts_of(job.id)] == [("error", "a")]


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "queued"])
@pytest.mark.django_db
@pytest.mark.spec("S1.R11")
def test_a_late_report_after_recovery_is_accepted_while_nobody_claimed_the_job(state: str) -> None:
    with at(0):
        job = one_running()
    with at(31):
        assert recover(connection).requeued == {job.id}
    assert outcomes_of(job.id) == ["lost"]
    with at(40):
        report = ended(job, state, error="" if state == "succeeded" else "late", log="its own words")
        assert finish(connection, [report]) == {job.id}
    [attempt] = attempts_of(job.id)
    assert (attempt.outcome, attempt.success) == (report.outcome, state == "succeeded")
    assert (attempt.log_excerpt, attempt.finished_at) == ("its own words", T + timedelta(seconds=40))
    assert (attempt.error_class, attempt.message) == ("", report.error)
    assert JobRun.objects.filter(state=state).exists() is (state != "queued")
    assert Job.objects.filter(attempts=1, token=None).exists() is (state == "queued")


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled", "queued"])
@pytest.mark.django_db
@pytest.mark.spec("A1.4", "S1.9")
def test_a_late_report_after_a_new_claim_is_refused(state: str) -> None:
    with at(0):
        job = one_running()
    with at(31):
        recover(connection)
        [successor] = take(worker_id="worker-2")
    before = tables()
    assert not done(job, state, error="late")
    assert tables() == before
    assert done(successor)
    assert outcomes_of(job.id) == ["lost", "success"]


@pytest.mark.django_db
def test_a_report_after_the_lease_ended_counts_while_nobody_recovered_the_job() -> None:
    with at(0):
        job = one_running()
    with at(3600):
        assert done(job)
    assert outcomes_of(job.id) == ["success"]


@pytest.mark.django_db
def test_a_finish_that_meets_a_finished_run_of_the_same_id_leaves_history_as_it_is() -> None:
    job = one_running()
    assert done(job, result='"first"')
    before = tables()
    stored(id=job.id)
    [twin] = take(worker_id="worker-2")
    assert done(twin, result='"second"')
    assert not Job.objects.exists()
    assert tables() == before
