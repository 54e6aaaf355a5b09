"""Jobs enqueued over HTTP: options, keys, many at once, and the event that tells who asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jobs_app import job
from jobs_app.models import ControlEvent, Job, JobAttempt
from tests.api.scraping import stored
from tests.api.speaking import Speaker
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


@pytest.fixture
def speaker() -> Speaker:
    return Speaker("trigger")


@pytest.fixture(autouse=True)
def greet() -> Any:
    @job(queue="mail")
    def greet(name: str, times: int = 1) -> None: ...

    return greet


def trigger(speaker: Speaker, **body: Any) -> Any:
    return speaker.post("functions/trigger-job", {"jobName": "greet", "payload": {"name": "Ann"}, **body})


def trigger_many(speaker: Speaker, payloads: list[dict[str, Any]]) -> Any:
    return speaker.post("functions/trigger-jobs", {"jobName": "greet", "payloads": payloads})


def test_options_are_those_of_an_enqueue(speaker: Speaker) -> None:
    with at(0):
        trigger(speaker, subject="acme", priority=7, delay_sec=60, key="k", reason="asked by the shop")
    row = Job.objects.get()
    assert (row.subject, row.priority, row.key, (row.run_at - T).total_seconds()) == ("acme", 7, "k", 60)
    event = ControlEvent.objects.get(action="trigger")
    assert (event.actor, event.reason, event.target, event.moved) == (
        "token:scrapers",
        "asked by the shop",
        str(row.pk),
        1,
    )


def test_a_moment_needs_its_zone(speaker: Speaker) -> None:
    assert trigger(speaker, run_at="2026-12-24T18:00:00+01:00").status_code == 200
    assert Job.objects.get().run_at == datetime(2026, 12, 24, 17, tzinfo=UTC)
    for wrong in ("2026-12-24T18:00:00", "tomorrow", 5, "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"):
        assert trigger(speaker, run_at=wrong).status_code == 422
    assert trigger(speaker, run_at="2026-12-24T18:00:00Z", delay_sec=5).status_code == 422
    assert Job.objects.count() == 1


def test_a_repeated_idempotency_key_gives_the_first_run(speaker: Speaker) -> None:
    first = trigger(speaker, idempotency_key="order 7").json()
    again = trigger(speaker, idempotency_key="order 7").json()
    assert again == first | {"created": False}
    other = trigger(speaker, idempotency_key="order 7", payload={"name": "Bob"})
    assert other.status_code == 409
    assert Job.objects.count() == 1


def test_a_key_that_is_taken_is_told() -> None:
    @job(queue="mail", exclusive="name", on_conflict="error")
    def once(name: str) -> None: ...

    speaker = Speaker("trigger")
    body = {"jobName": "once", "payload": {"name": "Ann"}}
    assert speaker.post("functions/trigger-job", body).status_code == 200
    assert speaker.post("functions/trigger-job", body).status_code == 409


def test_a_type_that_is_switched_off_is_told(speaker: Speaker) -> None:
    @job(enabled=False)
    def off() -> None: ...

    assert speaker.post("functions/trigger-job", {"jobName": "off"}).status_code == 409


def test_many_are_stored_together_or_not_at_all(speaker: Speaker) -> None:
    names = ["Ann", "Bob", "Cid"]
    answer = speaker.post(
        "functions/trigger-jobs", {"jobName": "greet", "payloads": [{"name": name} for name in names]}
    )
    assert answer.status_code == 200
    stored = {str(row.pk): row.payload["name"] for row in Job.objects.all()}
    assert [stored[run_id] for run_id in answer.json()["runIds"]] == names
    assert answer.json()["created"] == ControlEvent.objects.get(action="trigger").moved == 3
    refused = speaker.post(
        "functions/trigger-jobs", {"jobName": "greet", "payloads": [{"name": "Dan"}, {"nam": "Eve"}]}
    )
    assert refused.status_code == 422
    assert "payload number 1" in refused.json()["detail"]
    assert Job.objects.count() == 3


def test_more_than_a_thousand_at_once_are_refused(speaker: Speaker) -> None:
    answer = trigger_many(speaker, [{"name": "Ann"}] * 1001)
    assert answer.status_code == 422
    assert not Job.objects.exists()


def test_many_under_one_key_are_stored_once(speaker: Speaker) -> None:
    body = {"jobName": "greet", "payloads": [{"name": "Ann"}, {"name": "Bob"}], "idempotency_key": "import 7"}
    first, again = (speaker.post("functions/trigger-jobs", body).json() for _ in range(2))
    assert first == again
    assert Job.objects.count() == len(first["runIds"]) == 2
    other = speaker.post("functions/trigger-jobs", body | {"payloads": [{"name": "Cid"}]})
    assert other.status_code == 409
    assert Job.objects.count() == 2


def test_many_that_are_refused_leave_their_key_free(speaker: Speaker) -> None:
    body = {"jobName": "greet", "payloads": [{"nam": "Ann"}], "idempotency_key": "import 7"}
    assert speaker.post("functions/trigger-jobs", body).status_code == 422
    assert speaker.post("functions/trigger-jobs", body | {"payloads": [{"name": "Ann"}]}).status_code == 200


def test_a_token_for_a_queue_sends_no_type_of_another_queue_through_it() -> None:
    speaker = Speaker("trigger", queues=["other"])
    for asked in ({}, {"queue": "other"}):
        answer = speaker.post("functions/trigger-job", {"jobName": "greet", "payload": {"name": "Ann"}, **asked})
        assert answer.status_code == 403
    assert not Job.objects.exists()


@pytest.mark.spec("S2.14", "A2.2")
def test_a_trigger_stores_a_run_and_answers_its_id(speaker: Speaker, scrape: Any) -> None:
    answer = speaker.post("functions/trigger-job", {"jobName": "scrape", "payload": {"city": "Kiel"}})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["status"], told["created"]) == ("queued", True)
    row = stored(told["runId"])
    assert (row.payload, row.actor) == ({"city": "Kiel"}, "token:scrapers")


@pytest.mark.spec("A2.2")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"jobName": "scrape", "payload": {"town": "Kiel"}}, 422),
        ({"jobName": "scrap", "payload": {}}, 404),
        ({"payload": {}}, 422),
    ],
)
def test_a_trigger_that_does_not_fit_stores_nothing(
    speaker: Speaker, scrape: Any, body: dict[str, Any], status: int
) -> None:
    answer = speaker.post("functions/trigger-job", body)
    assert answer.status_code == status
    assert answer.json()["detail"]
    assert not Job.objects.exists()
    assert not JobAttempt.objects.exists()


@pytest.mark.spec("A2.2")
def test_a_token_without_the_scope_triggers_nothing(scrape: Any) -> None:
    answer = Speaker("read").post("functions/trigger-job", {"jobName": "scrape"})
    assert answer.status_code == 403
    assert not Job.objects.exists()
