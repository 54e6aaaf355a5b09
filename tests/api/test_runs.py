"""Runs read and acted on over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app import job
from jobs_app.models import ControlEvent, Job, JobRun
from tests.api.speaking import Speaker, items

pytestmark = pytest.mark.django_db


@pytest.fixture
def scrape() -> Any:
    @job(queue="leads", remote=True)
    def scrape(city: str = "Bremen", api_key: str = "") -> None: ...

    return scrape


@pytest.fixture
def speaker() -> Speaker:
    return Speaker()


def test_a_list_goes_on_page_by_page_and_misses_nothing(speaker: Speaker, scrape: Any) -> None:
    runs = [str(run.id) for run in scrape.enqueue_many([{}] * 7)]
    speaker.told(speaker.job(), done=True)
    seen: list[str] = []
    older = ""
    while older is not None:
        page = speaker.get("runs", limit=3, older=older).json()
        assert len(page["runs"]) <= 3
        seen += [run["id"] for run in page["runs"]]
        older = page["older"]
    assert len(seen) == 7
    assert set(seen) == set(runs)


def test_a_list_takes_the_filters_of_the_admin(speaker: Speaker, scrape: Any) -> None:
    scrape.enqueue_many([{}] * 3)
    done = speaker.job()
    speaker.told(done, done=True)
    found = speaker.get("runs", state="succeeded", job_type="scrape").json()["runs"]
    assert [run["id"] for run in found] == [done["job_id"]]
    assert "payload" not in found[0]
    for wrong in ({"state": "asleep"}, {"older": "nowhere"}, {"since": "soon"}, {"limit": 0}, {"limit": 201}):
        assert speaker.get("runs", **wrong).status_code == 422, wrong


def test_a_run_is_told_with_its_attempts_and_why_it_waits(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue(city="Kiel", api_key="s3cr3t")
    speaker.told(speaker.job(), error="no answer", error_class="TimeoutError")
    told = speaker.get(f"runs/{run.id}").json()
    assert (told["run"]["status"], told["run"]["attempts"]) == ("retrying", 1)
    assert told["run"]["payload"] == {"city": "Kiel", "api_key": "[hidden]"}
    assert [(each["outcome"], each["message"]) for each in told["attempts"]] == [("error", "no answer")]
    assert told["waiting_because"][0]["kind"] == "backoff"


def test_a_run_for_remote_workers_says_that_none_is_there(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue()
    [reason] = speaker.get(f"runs/{run.id}").json()["waiting_because"]
    assert reason["kind"] == "unserved"
    assert "python -m jobs_app.client --queues leads" in reason["sentence"]


def test_items_are_told_page_by_page_with_secrets_hidden(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue()
    job_ = speaker.job()
    speaker.told(job_, items=[*items("a", "b", "c"), {"key": "d", "data": {"password": "x"}}])
    first = speaker.get(f"runs/{run.id}/items", limit=3).json()
    assert ([item["key"] for item in first["items"]], first["after"]) == (["a", "b", "c"], "c")
    last = speaker.get(f"runs/{run.id}/items", after="c").json()
    assert [(item["key"], item["data"]) for item in last["items"]] == [("d", {"password": "[hidden]"})]
    assert last["after"] is None


def test_a_run_that_waits_is_cancelled_and_one_that_has_ended_is_not(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue()
    answer = speaker.post(f"runs/{run.id}/cancel", {"reason": "a mistake"})
    assert (answer.status_code, answer.json()["moved"]) == (200, 1)
    assert JobRun.objects.get(pk=run.id).state == "cancelled"
    event = ControlEvent.objects.get(action="cancel")
    assert (event.actor, event.reason) == ("token:scrapers", "a mistake")
    again = speaker.post(f"runs/{run.id}/cancel")
    assert again.status_code == 409
    assert "has already been cancelled" in again.json()["detail"]


def test_a_run_that_runs_is_asked_to_stop(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue()
    job_ = speaker.job()
    assert "notices" in speaker.post(f"runs/{run.id}/cancel").json()["note"]
    assert speaker.told(job_)["cancel_requested"] is True


def test_a_failed_run_is_run_again_with_another_payload(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue(city="Kil")
    speaker.told(speaker.job(), error="no such city", permanent=True)
    answer = speaker.post(f"runs/{run.id}/retry", {"payload": {"city": "Kiel"}, "reason": "a slip of the pen"})
    assert answer.status_code == 200
    again = Job.objects.get(pk=answer.json()["run_id"])
    assert (again.parent, again.payload) == (run.id, {"city": "Kiel"})
    assert speaker.post(f"runs/{run.id}/retry", {"payload": {"town": "Kiel"}}).status_code == 422


def test_an_act_needs_no_body(speaker: Speaker, scrape: Any) -> None:
    run = scrape.enqueue()
    assert speaker.client.post(f"/jobs/api/runs/{run.id}/cancel", "", "application/json").status_code == 200


@pytest.mark.parametrize("path", ["", "/items", "/cancel", "/retry"])
def test_a_run_that_is_not_there_is_not_found(speaker: Speaker, path: str) -> None:
    unknown = "01a1ebb9-7aeb-7abd-95f6-89bb38ff2aa5"
    call = speaker.post if path in ("/cancel", "/retry") else speaker.get
    assert call(f"runs/{unknown}{path}").status_code == 404
    assert call(f"runs/seven{path}").status_code == 422
