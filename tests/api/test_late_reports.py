"""Reports that come late, to the wrong place, or after the end: what is taken, and that the rest changes nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from jobs_app import job
from jobs_app.models import Job, JobItem
from jobs_app.registry import registry
from jobs_app.remote import attendance
from jobs_app.remote.rounds import rounds
from tests.api.scraping import lost_time, moment, stored
from tests.api.speaking import Speaker, items
from tests.lifecycle.rows import T, at, attempts_of, outcomes_of, tables

pytestmark = pytest.mark.django_db


@pytest.mark.spec("S1.3", "S1.8", "S1.9", "S1.10", "S1.R3", "A1.4")
@pytest.mark.parametrize("late", [{"done": True}, {"error": "slow"}, {"items": items("x"), "cursor": "9"}, {}])
def test_a_silent_workers_job_is_anothers_after_its_lease_and_its_late_word_changes_nothing(
    speaker: Speaker, scrape: Any, late: dict[str, Any]
) -> None:
    with at(0):
        scrape.enqueue()
        first = speaker.job("first")
    with at(100):
        speaker.told(first, cursor="page 3", extend_lease_sec=120)
    with at(219):
        lost_time()
        assert speaker.pull("second")["job"] is None
    with at(221):
        lost_time()
        second = speaker.job("second")
        assert (second["job_id"], second["attempt"], second["cursor"]) == (first["job_id"], 2, "page 3")
        before = tables()
        answer = speaker.report(first, **late)
        assert answer.status_code == 409
        assert "stale" in answer.json()["detail"]
        assert tables() == before
        assert not JobItem.objects.exists()
        assert speaker.told(second, done=True)["state"] == "succeeded"


@pytest.mark.spec("S1.R7")
def test_a_lost_lease_leaves_an_attempt_with_its_own_start_and_worker(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        run = scrape.enqueue()
        speaker.job("first")
    with at(200):
        lost_time()
        speaker.told(speaker.job("second"), done=True)
    lost, won = attempts_of(run.id)
    assert [lost.outcome, won.outcome] == ["lost", "success"]
    assert [lost.started_at, won.started_at] == [T, T + timedelta(seconds=200)]
    assert [lost.worker_id.split("@")[0], won.worker_id.split("@")[0]] == ["first", "second"]


@pytest.mark.spec("S1.R11")
@pytest.mark.parametrize("is_recovered", [True, False])
def test_a_report_after_the_lease_is_taken_while_nobody_else_has_the_job(
    speaker: Speaker, scrape: Any, is_recovered: bool
) -> None:
    with at(0):
        run = scrape.enqueue()
        job_ = speaker.job()
    with at(300):
        if is_recovered:
            lost_time()
            speaker.pull(job_types=["scrape"], queues=["other"])
            assert stored(job_["job_id"]).state == "queued"
        told = speaker.told(job_, items=items("a"), cursor="2")
        assert (told["added"], told["state"]) == (1, "running")
        assert moment(told["lease_expires_at"]) == T + timedelta(seconds=420)
        row = stored(job_["job_id"])
        assert (row.state, row.attempts, str(row.token), row.cursor) == ("running", 1, job_["token"], "2")
        assert speaker.told(job_, done=True)["state"] == "succeeded"
    assert outcomes_of(run.id) == ["success"]


def test_a_late_worker_does_not_get_its_place_before_a_gate_back(speaker: Speaker) -> None:
    @job(queue="leads", remote=True, singleton="city")
    def scrape(city: str) -> None: ...

    with at(0):
        scrape.enqueue(city="Kiel")
        scrape.enqueue(city="Kiel")
        job_ = speaker.job()
    with at(300):
        rounds.forget()
        speaker.pull(queues=["other"])
        told = speaker.told(job_, cursor="2")
        assert (told["ok"], told["lease_expires_at"]) == (True, None)
        assert speaker.told(job_, done=True)["state"] == "succeeded"
        assert Job.objects.filter(state="running").count() == 0


def test_a_process_that_does_not_know_the_type_takes_no_end_of_it(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue()
    job_ = speaker.job()
    registry.unregister("scrape")
    before = tables()
    answer = speaker.report(job_, done=True)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert tables() == before
    assert speaker.told(job_, items=items("a"))["added"] == 1


def test_a_worker_that_reports_as_often_as_it_is_told_keeps_its_lease(speaker: Speaker, scrape: Any) -> None:
    with at(0):
        scrape.enqueue()
        job_ = speaker.job(lease_sec=600)
    assert job_["report_every_sec"] == 40
    for beat in range(1, 40):
        with at(beat * job_["report_every_sec"]):
            lost_time()
            assert speaker.pull("other")["job"] is None
            speaker.told(job_)


def test_what_is_done_here_is_told_even_if_the_workers_presence_cannot_be_noted(
    speaker: Speaker, scrape: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*given: Any, **more: Any) -> bool:
        raise OperationalError("the database is away")

    scrape.enqueue()
    job_ = speaker.job()
    attendance.forget()
    monkeypatch.setattr(attendance, "beat", away)
    assert speaker.told(job_, done=True)["state"] == "succeeded"


@pytest.mark.spec("S1.R6")
def test_every_refusal_has_its_status(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue()
    job_ = speaker.job()
    assert speaker.post("report_results", {"token": job_["token"]}).status_code == 422
    unknown = {"job_id": "01a1ebb9-7aeb-7abd-95f6-89bb38ff2aa5", "token": job_["token"]}
    assert speaker.post("report_results", unknown).status_code == 404
    speaker.client.defaults["HTTP_AUTHORIZATION"] = "Bearer jobs_none"
    assert speaker.report(job_, done=True).status_code == 401
    assert stored(str(run.id)).state == "running"


@pytest.mark.spec("S1.R6")
@pytest.mark.parametrize("said", [{"done": True}, {"error": "late"}, {"items": items("late")}])
def test_a_report_on_a_finished_run_is_answered_as_done_and_changes_nothing(
    speaker: Speaker, scrape: Any, said: dict[str, Any]
) -> None:
    scrape.enqueue()
    job_ = speaker.job()
    speaker.told(job_, items=items("a"), done=True)
    before = tables()
    told = speaker.told(job_, **said)
    assert (told["ok"], told["added"], told["done"], told["state"]) == (True, 0, True, "succeeded")
    assert tables() == before
    assert JobItem.objects.count() == 1
