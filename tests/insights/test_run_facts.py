"""Everything about one run, in a constant number of queries that follow indexes, and its story."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import RunNotFound
from jobs_app.insights import run_facts
from jobs_app.insights.timeline import timeline
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ControlEvent, JobAttempt, JobItem
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import T, at, done, one_running, stored, take

pytestmark = pytest.mark.django_db

SMALL = ("jobs_app_pause", "jobs_app_queuestate", "jobs_app_workerstate", "jobs_app_maintenancewindow")


def read(run_id: UUID) -> run_facts.RunFacts:
    return run_facts.read(connection, run_id)


@pytest.fixture
def work() -> Any:
    @job(name="work", timeout=60)
    def work() -> None: ...

    return work


def test_no_run_no_facts() -> None:
    with pytest.raises(RunNotFound):
        read(UUID(int=7))


@pytest.mark.spec("S2.12")
def test_how_long_it_waited_and_ran_at_each_point_of_its_life(work: Any) -> None:
    with at(0):
        [run_id] = stored()
    with at(5):
        facts = read(run_id)
        assert (facts.status, facts.waited, facts.ran, facts.deadline) == ("queued", 5.0, None, None)
    with at(8):
        [claimed] = take()
    with at(10):
        facts = read(run_id)
        assert (facts.status, facts.waited, facts.ran) == ("running", 8.0, 2.0)
        assert (facts.timeout, facts.deadline) == (60.0, T + timedelta(seconds=68))
        done(claimed)
    with at(99):
        facts = read(run_id)
        assert (facts.status, facts.waited, facts.ran, facts.is_finished) == ("succeeded", 8.0, 2.0, True)


def test_one_that_ended_without_a_start_did_not_wait_for_one() -> None:
    [run_id] = stored()
    control.cancel(run_id, "ann")
    facts = read(run_id)
    assert (facts.waited, facts.ran, facts.job) == (None, None, None)


def test_whether_it_is_in_good_hands() -> None:
    with at(0):
        job = one_running()
        assert (read(job.id).worker_status, read(job.id).is_in_good_hands) == ("gone", False)
        announce(connection, Presence(id="worker-1", beat_seconds=10))
        assert (read(job.id).worker_status, read(job.id).is_in_good_hands) == ("alive", True)
    with at(29):
        assert read(job.id).is_in_good_hands
    with at(31):  # its lease has ended, and so has the patience with its worker
        announce(connection, Presence(id="worker-1", beat_seconds=10))
        facts = read(job.id)
        assert (facts.worker_status, facts.lease_is_over, facts.is_in_good_hands) == ("alive", True, False)


def test_children_are_cut_and_the_newest_of_those_read_come_first() -> None:
    [run_id] = stored()
    children = stored(run_facts.MOST_CHILDREN, parent=run_id)
    facts = read(run_id)
    assert sorted(child.pk for child in facts.children) == sorted(children)
    assert facts.children[0].queued_at >= facts.children[-1].queued_at
    assert not facts.has_more_children
    stored(1, parent=run_id)
    assert read(run_id).has_more_children
    assert len(read(run_id).children) == run_facts.MOST_CHILDREN


def test_the_story_of_a_run_is_told_in_order() -> None:
    with at(0):
        [run_id] = stored(1, actor="ann")
    with at(10):
        [claimed] = take()
    with at(12):
        done(claimed, "queued", delay=600.0, error="no", error_class="ValueError")
    with at(20):
        control.retry(run_id, "bob")
        ControlEvent.objects.update(at=T + timedelta(seconds=20))
    with at(21):
        [claimed] = take()
        assert told(run_id)[-1] == (21, "attempt 2 started on worker-1")
    with at(22):
        done(claimed)
    assert told(run_id) == [
        (0, "queued by ann"),
        (10, "attempt 1 started on worker-1"),
        (12, "attempt 1: error (ValueError), 2.0s"),
        (20, "retry by bob"),
        (21, "attempt 2 started on worker-1"),
        (22, "attempt 2: success, 1.0s"),
        (22, "succeeded"),
    ]


def test_what_is_still_to_come_is_part_of_the_story() -> None:
    with at(0):
        [later] = stored(1, delay=60)
        assert told(later) == [(0, "queued"), (60, "due")]
        [claimed] = [one_running()]
        done(claimed, "queued", delay=30.0)
        assert told(claimed.id)[-1] == (30, "due again")


def told(run_id: UUID) -> list[tuple[float, str]]:
    return [((moment.at - T).total_seconds(), moment.text) for moment in timeline(read(run_id))]


def test_what_is_read_follows_indexes_whatever_the_statistics_say(is_postgres: bool) -> None:
    if not is_postgres:
        pytest.skip("only PostgreSQL tells its plans")
    [run_id, *_] = stored(300)
    stored(30, parent=run_id)
    rows: list[Any] = [JobItem(job_id=uuid4(), key="k", data={}) for _ in range(300)]
    JobItem.objects.bulk_create(rows)
    given = {"finished_at": T, "outcome": "error", "success": False, "token": uuid4()}
    JobAttempt.objects.bulk_create(JobAttempt(job_id=uuid4(), number=1, **given) for _ in range(300))
    events = [ControlEvent(action="cancel", target_kind="run", target=str(uuid4())) for _ in range(300)]
    ControlEvent.objects.bulk_create(events)
    plans = plans_of(lambda: read(run_id))
    assert [sql for _, sql in plans.disorder() if not any(table in sql for table in SMALL)] == []
    assert plans.rows < 200
