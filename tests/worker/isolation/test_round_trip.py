"""A handler in a process of its own: what it is told, what it says, what it gives back."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.contrib.auth.models import Group

from jobs_app.models import Job, JobAttempt, JobRun
from tests.waiting import until
from tests.worker.harness import Ledger, finished, outcomes
from tests.worker.isolation.conftest import Keeper


def test_handlers_run_in_children_that_stay_warm(keeper: Keeper, zoo: Any) -> None:
    worker = keeper.start()
    runs = [zoo.who.enqueue() for _ in range(5)] + [zoo.awho.enqueue()]
    assert finished(*runs) == ["succeeded"] * 6
    again = zoo.who.enqueue()
    assert finished(again) == ["succeeded"]
    pids = {run.result for run in runs}
    assert worker.pid not in pids
    assert os.getpid() not in pids
    assert again.result in pids
    worker.stop()
    assert keeper.marked() == []


def test_what_a_handler_says_reaches_its_run(keeper: Keeper, zoo: Any) -> None:
    worker = keeper.start()
    run = zoo.tell_all.options(subject="zebra", meta={"team": "zoo"}).enqueue(count=10_000)
    assert finished(run) == ["succeeded"]
    assert run.result == {"attempt": 1, "subject": "zebra", "cursor": "one"}
    stored = JobRun.objects.get(pk=run.id)
    assert (stored.progress_count, stored.target_count, stored.result_count) == (10_000, 10_000, 7)
    assert (stored.cursor, stored.progress_message, stored.meta) == ("one", "under way", {"team": "zoo", "cost": 3})
    assert JobAttempt.objects.get(job_id=run.id).log_excerpt == "first line\nlast line"
    (line,) = [line for line in worker.stop().splitlines() if "heard from the zoo" in line]
    assert f"[Job {run.id}]" in line
    assert "[Worker " in line


def test_what_was_said_before_a_crash_is_kept_and_the_next_attempt_goes_on_there(keeper: Keeper, zoo: Any) -> None:
    keeper.start()
    run = zoo.crash_after_words.enqueue()
    attempt = until(lambda: JobAttempt.objects.filter(job_id=run.id).first(), every=0.02)
    assert (attempt.outcome, attempt.log_excerpt) == ("crashed", "famous last words")
    assert (attempt.error_class, attempt.message) == ("ProcessCrashed", "the process ended with exit code 3")
    waiting = Job.objects.get(pk=run.id)
    assert (waiting.state, waiting.cursor, waiting.progress_count) == ("queued", "five", 5)
    assert (waiting.run_at - attempt.finished_at).total_seconds() > 30  # the type's backoff


@pytest.mark.parametrize(
    ("how", "status", "tried", "error"),
    [
        ("retry", "succeeded", ["error", "success"], ""),
        ("snooze", "succeeded", ["snoozed", "success"], ""),
        ("fail", "failed", ["error"], "enough"),
        ("error", "failed", ["error", "error"], "'missing'"),
    ],
)
def test_directives_and_errors_mean_the_same_as_in_a_thread(
    keeper: Keeper, zoo: Any, how: str, status: str, tried: list[str], error: str
) -> None:
    keeper.start()
    run = zoo.direct.enqueue(how=how)
    assert finished(run) == [status]
    assert (outcomes(run), JobRun.objects.get(pk=run.id).error) == (tried, error)
    if how == "error":
        last = JobAttempt.objects.filter(job_id=run.id).latest("number")
        assert last.error_class == "KeyError"
        assert 'raise KeyError("missing")' in last.traceback


def test_handlers_have_database_connections_of_their_own(keeper: Keeper, zoo: Any) -> None:
    worker = keeper.start()
    assert finished(zoo.save.enqueue(name="sync"), zoo.asave.enqueue(name="async")) == ["succeeded"] * 2
    assert set(Group.objects.values_list("name", flat=True)) == {"sync", "async"}
    worker.stop()


def test_a_copy_that_a_handler_forks_and_forgets_says_nothing(keeper: Keeper, zoo: Any, ledger: Ledger) -> None:
    worker = keeper.start()
    runs = [zoo.fork_and_forget.enqueue() for _ in range(3)]
    assert finished(*runs) == ["succeeded"] * 3
    assert -1 not in [run.result for run in runs]
    assert [outcomes(run) for run in runs] == [["success"]] * 3
    worker.stop()
    assert keeper.marked() == []
