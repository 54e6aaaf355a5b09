"""One id, one run: the view shows a job while it lives and its history after."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction

from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobRun, Run
from tests.lifecycle.rows import T, at, done, one_running, stored, take

pytestmark = pytest.mark.django_db


@pytest.mark.spec("S2.6", "S2.9", "S2.30")
def test_a_run_is_shown_from_its_enqueue_to_its_end_under_one_id() -> None:
    with at(0):
        [run_id] = stored(payload='{"n": 1}', meta='{"m": 2}', subject="s")
    seen = []

    def look() -> None:
        run = Run.objects.get(pk=run_id)
        seen.append((run.state, run.attempts, run.error))
        assert (run.payload, run.meta, run.subject, run.queued_at) == ({"n": 1}, {"m": 2}, "s", T)

    look()
    with at(1):
        [job] = take()
    look()
    with at(2):
        assert done(job, "queued", error="busy")
    look()
    with at(3):
        [job] = take()
        assert done(job, result='{"sent": 1}', done_reason="worker_done")
    look()
    assert seen == [("queued", 0, ""), ("running", 1, ""), ("queued", 1, "busy"), ("succeeded", 2, "")]


def test_every_column_of_both_lives_is_there() -> None:
    live, ended = one_running(), one_running()
    assert done(ended, result='{"sent": 1}')
    for model, run_id in ((Job, live.id), (JobRun, ended.id)):
        row = model.objects.values().get(pk=run_id)
        run = Run.objects.values().get(pk=run_id)
        shared = row.keys() & run.keys()
        assert {name: run[name] for name in shared} == {name: row[name] for name in shared}
        assert row.keys() - shared <= {"token", "last_error", "gate", "abort_requested"}


def test_what_a_life_does_not_have_is_empty() -> None:
    with at(0):
        live, ended = one_running(), one_running()
        assert done(ended, "failed", error="no", done_reason="permanent")
    run = Run.objects.get(pk=live.id)
    assert (run.outcome, run.done_reason, run.finished_at, run.result) == ("", "", None, None)
    assert (run.hold, run.cancel_requested, run.lease_expires_at) == ("", False, T + timedelta(seconds=30))
    run = Run.objects.get(pk=ended.id)
    assert (run.outcome, run.done_reason, run.finished_at, run.error) == ("error", "permanent", T, "no")
    assert (run.hold, bool(run.cancel_requested), run.lease_expires_at) == ("", False, None)


def test_runs_are_filtered_and_ordered_as_one_list() -> None:
    with at(0):
        first, second, third = stored(3)
        jobs = take(2)
        assert done(jobs[0])
    with at(100):
        recover(connection)
    assert list(Run.objects.order_by("-id").values_list("id", "state")) == [
        (third, "queued"),
        (second, "queued"),
        (first, "succeeded"),
    ]
    assert Run.objects.filter(state="queued", attempts__gt=0).get().id == second
    assert Run.objects.filter(queued_at=T).count() == 3


def test_a_run_can_only_be_read() -> None:
    stored()
    with pytest.raises(DatabaseError), transaction.atomic():
        Run.objects.update(state="failed")
