"""Refusals: one shape for all of them, with what to do next; and faults of ours, which are not hidden in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import pytest
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.db.backends.utils import CursorWrapper
from django.test import Client

from jobs_app.api import operating, problems, runs, triggers, workers
from jobs_app.api.interface import api
from jobs_app.errors import JobsError
from jobs_app.ids import uuid7
from jobs_app.insights.budget import OutOfBudget
from jobs_app.remote.waiting import Full, room
from tests.api.operations import OPERATIONS, SAMPLES, ask
from tests.api.speaking import ROOT, Speaker
from tests.api.tenants import Site, define

pytestmark = pytest.mark.django_db

ALL = sorted(OPERATIONS)
PATHS = sorted({each.path for each in OPERATIONS.values()})
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]


@pytest.fixture
def speaker(site: Site) -> Speaker:
    speaker = Speaker()
    speaker.get("runs")  # so that its use is noted before
    return speaker


def is_a_problem(answer: Any, status: int) -> bool:
    """Of this status, in the shape that all have."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert (answer["Cache-Control"], answer["X-Content-Type-Options"]) == ("no-store", "nosniff")
    told = answer.json()
    assert (told["type"], told["title"], told["status"]) == ("about:blank", HTTPStatus(status).phrase, status)
    assert set(told) == {"type", "title", "status", "detail"}
    assert len(told["detail"]) > 20
    return True


def lease(site: Site, **more: Any) -> dict[str, Any]:
    return {"job_id": str(site.red.running), "token": str(site.red.lease), **more}


REFUSALS: list[tuple[int, Callable[[Speaker, Site], Any], str]] = [
    (401, lambda speaker, site: Client().get(f"{ROOT}runs"), "manage.py jobs token create"),
    (403, lambda speaker, site: Speaker("pull").get("runs"), "Make another token"),
    (403, lambda speaker, site: Speaker(queues=["red.*"]).get("runs"), "say which, as queue=red.*"),
    (403, lambda speaker, site: Speaker(queues=["red.*"]).get("runs", queue="blue.work"), "it is for red.* alone"),
    (403, lambda speaker, site: Speaker(queues=["red.*"]).get("stats"), "needs a token that is for all"),
    (404, lambda speaker, site: speaker.get(f"runs/{uuid7()}"), "pruned by retention"),
    (404, lambda speaker, site: speaker.post("functions/trigger-job", {"jobName": "red.doo"}), "Did you mean 'red.do'"),
    (404, lambda speaker, site: speaker.post("schedules/99999/pause"), "see /schedules"),
    (404, lambda speaker, site: speaker.get("nowhere"), "api/docs"),
    (405, lambda speaker, site: speaker.get("functions/trigger-job"), "use POST"),
    (409, lambda speaker, site: speaker.report(lease(site, token=str(uuid7()))), "Drop the job"),
    (409, lambda speaker, site: speaker.post(f"runs/{site.red.succeeded}/cancel"), "has already succeeded"),
    (409, lambda speaker, site: speaker.post("resume", {"scope": "queue", "name": "red.work"}), "is not paused"),
    (413, lambda speaker, site: speaker.post("leave", {"worker_id": "w" * 3_000_000}), "in several requests"),
    (415, lambda speaker, site: speaker.client.post(f"{ROOT}leave", "x", "text/plain"), "send the body as"),
    (422, lambda speaker, site: speaker.post("leave", {"worker": "w1"}), "worker_id: Field required"),
    (422, lambda speaker, site: speaker.get("runs", limit=1000), "limit: Input should be less than or equal to 200"),
    (422, lambda speaker, site: speaker.get("runs", state="lost"), "use one of queued"),
    (422, lambda speaker, site: speaker.get("runs", older="x"), "is no place in the list"),
    (422, lambda speaker, site: speaker.post("pause", {"scope": "all", "name": "x"}), "has no name"),
    (422, lambda speaker, site: speaker.post("functions/trigger-job", {"jobName": "red.do", "payload": {"x": 1}}), "x"),
]


@pytest.mark.parametrize(("status", "act", "words"), REFUSALS, ids=[f"{each[0]} {each[2]}" for each in REFUSALS])
def test_a_refusal_says_what_to_do(
    status: int, act: Callable[[Speaker, Site], Any], words: str, speaker: Speaker, site: Site
) -> None:
    answer = act(speaker, site)
    assert is_a_problem(answer, status)
    assert words in answer.json()["detail"]


def test_every_refusal_that_is_described_has_that_shape() -> None:
    for methods in api.get_openapi_schema()["paths"].values():
        for operation in methods.values():
            assert {401, 403, 422, 429, 503} <= set(operation["responses"])
            for status, response in operation["responses"].items():
                expected = "application/json" if status == 200 else problems.MEDIA_TYPE
                assert list(response["content"]) == [expected]


def test_every_error_of_the_app_that_a_caller_can_cause_has_a_status() -> None:
    """The others are about code, settings, the tables of another package, or the inside of a handler."""
    of_code = {"SettingsInvalid", "DefinitionInvalid", "WaitTimeout", "EndlessJobs", "NoCurrentJob"}
    of_imports = {"TableMissing"}
    of_handlers = {"Directive", "JobTimeout"}
    kinds = {kind for kind in JobsError.__subclasses__() if kind.__module__ == "jobs_app.errors"}
    assert {kind.__name__ for kind in kinds - set(problems.STATUSES)} == of_code | of_imports | of_handlers


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
@pytest.mark.parametrize("name", ALL)
def test_a_database_that_is_away_is_told_with_a_time_to_come_again(
    name: str, error: type[Exception], speaker: Speaker, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise error("server closed the connection unexpectedly")

    for method in ("execute", "executemany"):
        monkeypatch.setattr(CursorWrapper, method, away)
    answer = ask(speaker, name, SAMPLES[name](site.red))
    assert is_a_problem(answer, 503)
    assert int(answer["Retry-After"]) >= 1
    assert "server closed" not in answer.json()["detail"]


WITHIN = {
    "pull_job": (workers, "pull"),
    "report_results": (workers, "report"),
    "trigger_job": (triggers, "trigger"),
    "list_runs": (runs.run_list, "page"),
    "get_run": (runs.run_insights, "get"),
    "list_items": (runs.items, "page"),
    "cancel_run": (runs.control, "cancel"),
    "stats": (operating.counts, "live"),
    "list_schedules": (operating.schedule_list, "page"),
}


def failing(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(*WITHIN[name], fail)


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed"), OutOfBudget("too long")])
@pytest.mark.parametrize("name", WITHIN)
def test_so_is_one_that_goes_away_in_the_middle_or_takes_too_long(
    name: str, error: Exception, speaker: Speaker, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, name, error)
    answer = ask(speaker, name, SAMPLES[name](site.red))
    assert is_a_problem(answer, 503)
    assert answer["Retry-After"]


def test_a_full_waiting_room_is_told(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise Full

    monkeypatch.setattr(room, "wait", full)
    answer = speaker.get("pull_job", worker_id="w1", queues="empty", wait_sec=1)
    assert is_a_problem(answer, 429)
    assert answer["Retry-After"] == "1"


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """What Django, and whoever watches it, is told of."""
    heard: list[Any] = []

    def hear(sender: Any, request: Any, **_: Any) -> None:
        heard.append(request.path)

    got_request_exception.connect(hear)
    yield heard
    got_request_exception.disconnect(hear)


@pytest.mark.parametrize("error", [RuntimeError("a fault"), KeyError("x"), TypeError("x"), AssertionError(), OSError()])
@pytest.mark.parametrize("name", WITHIN)
def test_a_fault_of_ours_is_raised_and_not_swallowed(
    name: str, error: Exception, speaker: Speaker, site: Site, heard: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, name, error)
    with pytest.raises(type(error)):
        ask(speaker, name, SAMPLES[name](site.red))
    speaker.client.raise_request_exception = False
    answer = ask(speaker, name, SAMPLES[name](site.red))
    assert answer.status_code == 500
    assert "a fault" not in answer.content.decode()
    assert len(heard) == 2


@pytest.mark.parametrize("path", PATHS)
def test_another_method_is_refused_with_those_there_are(path: str, speaker: Speaker, site: Site) -> None:
    allowed = {each.method for each in OPERATIONS.values() if each.path == path}
    address = ROOT + path.format(run_id=site.red.queued, schedule_id=site.red.schedule)
    for method in METHODS:
        if method in allowed:
            continue
        answer = speaker.client.generic(method, address)
        assert set(answer["Allow"].split(", ")) == allowed
        assert answer.status_code == 405
        if method != "HEAD":
            assert is_a_problem(answer, 405)


@pytest.mark.parametrize(
    "path", ["", "x", "runs/", "runs/x/y", "pull_job/", "docs/", "functions", "openapi.yaml", "\0"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_at_no_address_is_refused_likewise(path: str, method: str) -> None:
    assert is_a_problem(Client().generic(method, ROOT + path), 404)


@pytest.mark.parametrize("name", ALL)
def test_no_answer_is_kept_or_guessed_at(name: str, speaker: Speaker, site: Site) -> None:
    answer = ask(speaker, name, SAMPLES[name](site.red))
    assert answer.status_code == 200
    assert (answer["Cache-Control"], answer["X-Content-Type-Options"]) == ("no-store", "nosniff")
    assert answer["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("name", ["docs", "openapi.json"])
def test_nor_is_a_description(name: str) -> None:
    answer = Client().get(ROOT + name)
    assert (answer["Cache-Control"], answer["X-Content-Type-Options"]) == ("no-store", "nosniff")


def test_what_is_repeated_of_a_request_is_cut_and_cannot_hide(speaker: Speaker) -> None:
    hostile = "<script>\x1b[31m\x85" + "x" * 5000
    answers = [
        speaker.post("leave", {hostile: 1, "worker_id": "w1"}),
        speaker.post("leave", dict.fromkeys((f"{hostile}{number}" for number in range(3)), 1)),
        speaker.post("functions/trigger-job", {"jobName": hostile[:100]}),
        speaker.get("runs", state=hostile[:100]),
    ]
    for answer in answers:
        assert len(answer.json()["detail"]) <= problems.LONGEST_DETAIL
        assert not set(answer.json()["detail"]) & {"\x1b", "\x85", "\0"}
        assert answer["Content-Type"] == problems.MEDIA_TYPE  # so that no browser reads markup in it


def test_many_faults_are_told_a_few_at_a_time(speaker: Speaker, site: Site) -> None:
    items = [{"key": ""} for _ in range(20)]
    detail = speaker.report(lease(site), items=items).json()["detail"]
    assert detail.count("items.") == problems.MOST_TOLD
    assert "and 15 more" in detail


def test_a_payload_that_does_not_fit_names_its_field(speaker: Speaker) -> None:
    define("typed")
    answer = speaker.post("functions/trigger-job", {"jobName": "typed", "payload": {"number": "many"}})
    assert is_a_problem(answer, 422)
    assert "number" in answer.json()["detail"]
