"""Longer leases for what is ours and runs, progress, and the news of a request to stop."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from jobs_app.lifecycle.heartbeat import Asked, Held, Progress, asked_to_stop, extend, save_progress
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobRun
from tests.lifecycle.rows import T, at, done, one_running, stored, tables, take
from tests.lifecycle.sessions import sessions

NOTHING = Asked(cancel=False, abort=False)


def lease_of(job: Any) -> float:
    """Seconds after T."""
    return (Job.objects.get(pk=job.id).lease_expires_at - T).total_seconds()  # type: ignore[operator]


def progress(job: Any, **changes: Any) -> Progress:
    given = {"cursor": "page-4", "progress_count": 4, "result_count": 3, "target_count": 9, "message": "nearly"}
    return Progress(job.id, job.token, **(given | changes))


@pytest.mark.django_db
@pytest.mark.spec("S1.3", "A1.4")
def test_a_beat_extends_each_lease_by_its_own_length() -> None:
    with at(0):
        stored(2)
        first, second = take(2, lease=180)
    with at(100):
        assert extend(connection, [Held(first.id, first.token, 120), Held(second.id, second.token, 600.5)]) == {
            first.id: NOTHING,
            second.id: NOTHING,
        }
    assert (lease_of(first), lease_of(second)) == (220, 700.5)


@pytest.mark.django_db
@pytest.mark.spec("S1.R11")
def test_a_lease_is_never_shortened() -> None:
    with at(0):
        job = one_running()
    with at(5):
        extend(connection, [Held(job.id, job.token, 10)])
    assert lease_of(job) == 30


@pytest.mark.django_db
def test_only_what_is_ours_and_runs_is_extended_and_told() -> None:
    with at(0):
        stored(4)
        ours, foreign, waiting, gone = take(4)
        assert done(waiting, "queued")
        assert done(gone)
        before = tables()
        held = [Held(job.id, job.token, 60) for job in (ours, waiting, gone)]
        assert extend(connection, [*held, Held(foreign.id, uuid4(), 60)]) == {ours.id: NOTHING}
    changed = [row["id"] for row, old in zip(tables()["jobs"], before["jobs"], strict=True) if row != old]
    assert changed == [ours.id]


@pytest.mark.django_db
def test_a_recovered_job_is_not_extended_back_to_life() -> None:
    with at(0):
        job = one_running()
    with at(31):
        recover(connection)
        before = tables()
        assert extend(connection, [Held(job.id, job.token, 60)]) == {}
    assert tables() == before


@pytest.mark.django_db
def test_a_beat_brings_the_news_of_a_request_to_stop() -> None:
    stored(2)
    first, second = take(2)
    Job.objects.filter(pk=second.id).update(cancel_requested=True)
    held = [Held(job.id, job.token, 60) for job in (first, second)]
    assert extend(connection, held) == {first.id: NOTHING, second.id: Asked(cancel=True, abort=False)}


@pytest.mark.django_db
def test_between_beats_only_what_was_asked_to_stop_is_told_and_nothing_is_written() -> None:
    with at(0):
        stored(5)
        alone, asked, aborted, foreign, waiting = take(5)
        assert done(waiting, "queued")
    Job.objects.filter(pk__in=[asked.id, foreign.id, waiting.id]).update(cancel_requested=True)
    Job.objects.filter(pk=aborted.id).update(cancel_requested=True, abort_requested=True)
    before = tables()
    held = [Held(job.id, job.token, 60) for job in (alone, asked, aborted, waiting)]
    assert asked_to_stop(connection, [*held, Held(foreign.id, uuid4(), 60)]) == {
        asked.id: Asked(cancel=True, abort=False),
        aborted.id: Asked(cancel=True, abort=True),
    }
    assert tables() == before


@pytest.mark.django_db
def test_nothing_held_is_nothing_done(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert extend(connection, []) == {}
        assert asked_to_stop(connection, []) == {}
        save_progress(connection, [])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_row_that_somebody_is_writing_does_not_hold_up_the_other_leases() -> None:
    """The handler's own transaction, perhaps: its last statement ends its job, and its commit may take long."""
    with at(0):
        stored(2)
        ending, running = take(2)
    with at(20), sessions(1) as [handler]:
        handler.begin()
        assert handler.do(done, ending)
        held = [Held(job.id, job.token, 30) for job in (ending, running)]
        assert extend(connection, held) == {ending.id: NOTHING, running.id: NOTHING}
        assert lease_of(running) == 50
        handler.rollback()
        assert extend(connection, held) == {ending.id: NOTHING, running.id: NOTHING}
    assert lease_of(ending) == 50


@pytest.mark.django_db
@pytest.mark.spec("S1.4")
def test_progress_is_stored_with_its_time() -> None:
    with at(0):
        job = one_running(meta='{"cost": 1}')
    with at(7):
        save_progress(connection, [progress(job)])
    row = Job.objects.get()
    assert (row.cursor, row.progress_count, row.result_count, row.target_count) == ("page-4", 4, 3, 9)
    assert (row.progress_message, row.last_progress_at) == ("nearly", T + timedelta(seconds=7))
    assert row.meta == {"cost": 1}
    assert row.lease_expires_at == T + timedelta(seconds=30)
    with at(8):
        save_progress(connection, [progress(job, meta='{"cost": 2}', target_count=None)])
    row = Job.objects.get()
    assert (row.meta, row.target_count) == ({"cost": 2}, None)


@pytest.mark.django_db
def test_progress_needs_the_token() -> None:
    with at(0):
        stored(3)
        ours, foreign, lost = take(3)
    with at(31):
        Job.objects.exclude(pk=lost.id).update(lease_expires_at=T + timedelta(hours=1))
        recover(connection)
        take(worker_id="worker-2")
        reports = [progress(ours), progress(foreign._replace(token=uuid4())), progress(lost)]
        save_progress(connection, reports)
    moved = set(Job.objects.filter(progress_count=4).values_list("id", flat=True))
    assert moved == {ours.id}


@pytest.mark.django_db
@pytest.mark.spec("S1.4")
def test_the_run_keeps_the_progress_of_its_job() -> None:
    job = one_running()
    save_progress(connection, [progress(job)])
    assert done(job)
    run = JobRun.objects.get()
    assert (run.cursor, run.progress_count, run.result_count, run.target_count) == ("page-4", 4, 3, 9)
