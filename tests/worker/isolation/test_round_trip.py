"""A handler in a process of its own: what it is told, what it says, what it gives back."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from django.contrib.auth.models import Group

from jobs_app.models import Job, JobAttempt, JobRun
from tests.waiting import until
from tests.worker.harness import finished
from tests.worker.isolation.conftest import Ground, Keeper


def test_handlers_run_in_children_that_stay_warm(ground: Ground, zoo: Any) -> None:
    flights = [ground.launch(zoo.who) for _ in range(5)] + [ground.launch(zoo.awho)]
    pids = {json.loads(ground.report(flight).ended.result or "") for flight in flights}
    assert os.getpid() not in pids
    assert {ground.result(zoo.who), ground.result(zoo.awho)} <= pids


def test_what_a_handler_says_reaches_its_run(keeper: Keeper, zoo: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with keeper.here():
        run = zoo.tell_all.options(subject="zebra", meta={"team": "zoo"}).enqueue(count=10_000)
        assert finished(run) == ["succeeded"]
    assert run.result == {"attempt": 1, "subject": "zebra", "cursor": "one"}
    stored = JobRun.objects.get(pk=run.id)
    assert (stored.progress_count, stored.target_count, stored.result_count) == (10_000, 10_000, 7)
    assert (stored.cursor, stored.progress_message, stored.meta) == ("one", "under way", {"team": "zoo", "cost": 3})
    assert JobAttempt.objects.get(job_id=run.id).log_excerpt == "first line\nlast line"
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "heard from the zoo" in line]
    assert f"[Job {run.id}]" in line
    assert "[Worker " in line


def test_what_was_said_before_a_crash_is_kept_and_the_next_attempt_goes_on_there(keeper: Keeper, zoo: Any) -> None:
    with keeper.here():
        run = zoo.crash_after_words.enqueue()
        attempt = until(lambda: JobAttempt.objects.filter(job_id=run.id).first(), every=0.02)
    assert (attempt.outcome, attempt.log_excerpt) == ("crashed", "famous last words")
    assert (attempt.error_class, attempt.message) == ("ProcessCrashed", "the process ended with exit code 3")
    waiting = Job.objects.get(pk=run.id)
    assert (waiting.state, waiting.cursor, waiting.progress_count) == ("queued", "five", 5)
    assert (waiting.run_at - attempt.finished_at).total_seconds() > 30  # the type's backoff


@pytest.mark.parametrize(
    ("how", "state", "outcome", "error"),
    [
        ("retry", "queued", "error", "again"),
        ("snooze", "queued", "snoozed", ""),
        ("fail", "failed", "error", "enough"),
        ("error", "queued", "error", "'missing'"),
    ],
)
def test_directives_and_errors_mean_the_same_as_in_a_thread(
    ground: Ground, zoo: Any, how: str, state: str, outcome: str, error: str
) -> None:
    ended = ground.fly(zoo.direct, how=how).ended
    assert (ended.state, ended.outcome, ended.error) == (state, outcome, error)
    if how == "error":
        assert ended.error_class == "KeyError"
        assert 'raise KeyError("missing")' in ended.traceback


def test_an_exit_that_python_raises_is_an_error_as_in_a_thread(ground: Ground, zoo: Any) -> None:
    ended = ground.fly(zoo.leave, how="raise").ended
    assert (ended.state, ended.outcome, ended.error_class) == ("failed", "error", "SystemExit")


def test_handlers_have_database_connections_of_their_own(keeper: Keeper, zoo: Any) -> None:
    with keeper.here():
        assert finished(zoo.save.enqueue(name="sync"), zoo.asave.enqueue(name="async")) == ["succeeded"] * 2
    assert set(Group.objects.values_list("name", flat=True)) == {"sync", "async"}


def test_a_copy_that_a_handler_forks_and_forgets_says_nothing(ground: Ground, zoo: Any) -> None:
    flights = [ground.launch(zoo.fork_and_forget) for _ in range(3)]
    assert "-1" not in [ground.report(flight).ended.result for flight in flights]
    assert ground.result(zoo.who) > 0
    assert len([known for known, _ in ground.landed if known in flights]) == 3


@pytest.mark.parametrize("how", ["sync_to_async", "to_thread"])
def test_the_answer_does_not_wait_for_a_thread_that_an_async_handler_left(ground: Ground, zoo: Any, how: str) -> None:
    pid = ground.result(zoo.leave_thread, how=how)  # the thread would take an hour
    assert ground.result(zoo.who) != pid  # that process is not fit for another job
