"""Pauses, schedules, queues and numbers over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.models import ControlEvent, Pause, ScheduleState
from jobs_app.scheduler.sync import sync_declared
from tests.api.speaking import Speaker

pytestmark = pytest.mark.django_db


@pytest.fixture
def speaker() -> Speaker:
    return Speaker()


@pytest.fixture(autouse=True)
def poll() -> Any:
    @job(queue="leads", remote=True, every="1h")
    def poll(city: str = "Kiel") -> None: ...

    sync_declared(connection)
    return poll


@pytest.fixture
def schedule(poll: Any) -> int:
    return ScheduleState.objects.get().pk


@pytest.mark.parametrize(
    ("scope", "name"), [("all", ""), ("queue", "leads"), ("job_type", "poll"), ("subject", "acme")]
)
def test_a_pause_begins_and_ends(speaker: Speaker, scope: str, name: str) -> None:
    asked = {"scope": scope, "name": name, "reason": "a fire"}
    assert speaker.post("pause", {**asked, "until": "2990-01-01T00:00:00Z"}).json()["moved"] == 1
    row = Pause.objects.get()
    assert (row.scope, row.name, row.actor, row.reason) == (scope, name, "token:scrapers", "a fire")
    assert speaker.post("resume", asked).json()["moved"] == 1
    assert speaker.post("resume", asked).status_code == 409
    assert [event.actor for event in ControlEvent.objects.filter(action="pause")] == ["token:scrapers"]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"scope": "planet"}, 422),
        ({"scope": "queue"}, 422),
        ({"scope": "all", "name": "x"}, 422),
        ({"scope": "job_type", "name": "pol"}, 404),
        ({"scope": "all", "until": "2001-01-01T00:00:00Z"}, 422),
        ({"scope": "queue", "name": "jobs.system"}, 403),
    ],
)
def test_a_pause_that_cannot_be_is_refused(speaker: Speaker, asked: dict[str, Any], status: int) -> None:
    assert speaker.post("pause", asked).status_code == status
    assert not Pause.objects.exists()


def test_queues_tell_what_they_hold_and_whether_they_are_paused(speaker: Speaker, poll: Any) -> None:
    poll.enqueue_many([{}] * 3)
    speaker.job()
    speaker.post("pause", {"scope": "queue", "name": "leads"})
    [queue] = speaker.get("queues").json()["queues"]
    assert (queue["queue"], queue["queued"], queue["running"], queue["paused"]) == ("leads", 2, 1, True)


def test_numbers_tell_of_everything(speaker: Speaker, poll: Any) -> None:
    poll.enqueue_many([{}] * 3)
    speaker.told(speaker.job(), done=True)
    told = speaker.get("stats").json()
    assert (told["waiting"], told["running"], told["workers"]) == (2, 0, 1)
    assert told["last_24_hours"]["succeeded"] == 1


def test_schedules_are_told_by_the_page(speaker: Speaker, schedule: int) -> None:
    ScheduleState.objects.create(job_type="poll", name="own", origin="admin", cron="0 9 * * *", payload={"token": "x"})
    first = speaker.get("schedules", limit=1).json()
    assert ([row["id"] for row in first["schedules"]], first["schedules"][0]["when"]) == ([schedule], "every 1h")
    [own] = speaker.get("schedules", after=first["after"]).json()["schedules"]
    assert (own["name"], own["payload"]) == ("own", {"token": "[hidden]"})
    assert speaker.get("schedules", state="paused").json()["schedules"] == []
    assert speaker.get("schedules", state="asleep").status_code == 422


def test_a_schedule_is_paused_resumed_and_made_due(speaker: Speaker, schedule: int) -> None:
    assert speaker.post(f"schedules/{schedule}/pause", {"reason": "a fire"}).json()["moved"] == 1
    assert ScheduleState.objects.get().paused
    assert speaker.post(f"schedules/{schedule}/pause").status_code == 409
    assert speaker.post(f"schedules/{schedule}/resume").status_code == 200
    assert speaker.post(f"schedules/{schedule}/trigger").status_code == 200
    assert speaker.post(f"schedules/{schedule + 1}/trigger").status_code == 404
    actors = ControlEvent.objects.filter(target_kind="schedule").values_list("actor", flat=True)
    assert set(actors) == {"token:scrapers"}
