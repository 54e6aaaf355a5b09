"""What a remote worker is given when it pulls, for how long, and why it is given nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.lifecycle.overrides import read_overrides
from jobs_app.models import Job, WorkerState
from jobs_app.remote import attendance
from tests.api.scraping import lost_time, moment, stored
from tests.api.speaking import Speaker, items
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


@pytest.mark.spec("S1.1", "S1.2", "S1.4", "S1.7", "S1.11", "S1.R3")
def test_a_pull_claims_in_one_step_and_gives_all_that_the_next_worker_needs(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        run = scrape.enqueue(city="Kiel", wanted=5)
        given = speaker.job(queues=["leads"])
    assert given["job_id"] == str(run.id)
    assert (given["payload"], given["attempt"], given["target_count"]) == ({"city": "Kiel", "wanted": 5}, 1, 5)
    assert (given["cursor"], given["progress_count"], given["result_count"]) == ("", 0, 0)
    row = stored(given["job_id"])
    assert (row.state, row.attempts, str(row.token)) == ("running", 1, given["token"])
    assert row.lease_expires_at == T + timedelta(seconds=180) == moment(given["lease_expires_at"])
    assert run.refresh().label == "processing"


@pytest.mark.spec("S1.R1", "S1.25")
@pytest.mark.parametrize(("asked", "given"), [(None, 180), (0, 30), (29, 30), (45, 45), (600, 600), (86400, 600)])
def test_a_lease_is_as_long_as_asked_for_within_bounds(
    speaker: Speaker, scrape: Any, asked: int | None, given: int
) -> None:
    with at(0):
        scrape.enqueue()
        job = speaker.job(lease_sec=asked)
    assert job["lease_sec"] == given
    assert stored(job["job_id"]).lease_expires_at == T + timedelta(seconds=given)


@pytest.mark.spec("S1.25")
def test_operators_turn_the_lease_and_the_extension_while_everything_runs(speaker: Speaker) -> None:
    @job(queue="leads", remote=True)
    def plain() -> None: ...

    control.change_setting("REMOTE_LEASE_SECONDS", 90, "ann")
    control.change_setting("REMOTE_EXTEND_SECONDS", 300, "ann")
    read_overrides(connection)
    with at(0):
        plain.enqueue()
        job_ = speaker.job()
        assert job_["lease_sec"] == 90
        assert moment(speaker.told(job_)["lease_expires_at"]) == T + timedelta(seconds=300)


@pytest.mark.spec("S1.R9")
def test_while_everything_is_paused_a_pull_says_so_and_reports_are_taken(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    scrape.enqueue()
    job_ = speaker.job()
    control.pause("all", "", "ann")
    lost_time()
    assert speaker.pull() == {"job": None, "reason": "paused", "stopped": True}
    assert speaker.told(job_, items=items("a"))["added"] == 1
    assert speaker.told(job_, done=True)["state"] == "succeeded"
    control.resume("all", "", "ann")
    lost_time()
    assert speaker.pull()["job"] is not None


@pytest.mark.spec("S1.R9")
def test_in_a_maintenance_window_a_pull_says_so_and_reports_are_taken(
    speaker: Speaker, scrape: Any, settings: Any
) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "12:00"}
    with at(-60):
        scrape.enqueue()
        scrape.enqueue()
        job_ = speaker.job()
    with at(60):
        lost_time()
        assert speaker.pull() == {"job": None, "reason": "maintenance", "stopped": True}
        assert speaker.told(job_, done=True)["state"] == "succeeded"


@pytest.mark.parametrize(("scope", "name"), [("queue", "leads"), ("job_type", "scrape")])
def test_a_pause_of_what_it_wants_is_told(speaker: Speaker, scrape: Any, scope: str, name: str) -> None:
    scrape.enqueue()
    control.pause(scope, name, "ann")
    assert speaker.pull() == {"job": None, "reason": "paused", "stopped": False}
    assert speaker.pull(queues=["other"], job_types=["scrape"])["reason"] == ("empty" if scope == "queue" else "paused")


def test_a_pause_of_what_it_does_not_want_is_not_told(speaker: Speaker, scrape: Any) -> None:
    control.pause("queue", "mail", "ann")
    assert speaker.pull() == {"job": None, "reason": "empty", "stopped": False}


def test_a_pause_ends_where_only_remote_workers_live(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        scrape.enqueue()
        control.pause("job_type", "scrape", "ann", until=T + timedelta(seconds=60))
        assert speaker.pull()["reason"] == "paused"
        Job.objects.update(hold="pause")
    with at(100):
        lost_time()
        assert speaker.pull()["job"] is not None


def test_a_type_that_commits_with_its_handler_cannot_be_asked_for(speaker: Speaker) -> None:
    @job(atomic=True)
    def here() -> None: ...

    assert speaker.post("pull_job", {"worker_id": "w1", "job_types": ["here"]}).status_code == 422


@pytest.mark.spec("S1.R10")
def test_the_order_is_priority_then_due_time(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        low = scrape.options(priority=-1).enqueue()
        first = scrape.enqueue()
    with at(1):
        second = scrape.enqueue()
        urgent = scrape.options(priority=5).enqueue()
    with at(2):
        got = [speaker.job()["job_id"] for _ in range(4)]
    assert got == [str(run.id) for run in (urgent, first, second, low)]


@pytest.mark.spec("S1.R10")
def test_each_pull_is_a_heartbeat_of_its_worker(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        speaker.pull("w1", queues=["leads"], concurrency=3)
    row = WorkerState.objects.get()
    assert (row.kind, row.name, row.queues, row.concurrency) == ("remote", "w1", ["leads"], 3)
    assert row.id == f"w1@{speaker.token.prefix}"
    assert row.seen_at == T


def test_a_worker_that_was_asked_to_drain_gets_no_more(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    speaker.pull(queues=["other"])
    control.drain(WorkerState.objects.get().pk, "ann")
    attendance.forget()
    for _ in range(3):
        assert speaker.pull() == {"job": None, "reason": "draining", "stopped": False}


@pytest.mark.spec("S1.6")
def test_a_remote_job_keeps_the_limit_it_was_enqueued_with(speaker: Speaker, scrape: Any) -> None:
    scrape.options(max_attempts=1).enqueue()
    job_ = speaker.job()
    assert job_["max_attempts"] == 1
    assert speaker.told(job_, error="no")["state"] == "failed"
