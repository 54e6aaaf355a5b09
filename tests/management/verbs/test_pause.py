"""`jobs pause`, `jobs resume` and `jobs pauses`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs_app import job
from jobs_app.models import ControlEvent, Job, Pause, ScheduleState
from tests.lifecycle.rows import T, at, stored
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended, user_who_may

pytestmark = pytest.mark.django_db(transaction=True)  # in a transaction, workers would do the parking

TARGETS = {"all": ("all", ""), "queue mail": ("queue", "mail"), "type work": ("job_type", "work")}
TARGETS |= {"subject shop-7": ("subject", "shop-7")}


@pytest.fixture(autouse=True)
def work() -> Any:
    job(name="work")(lambda: None)
    with at(0):
        yield


def schedule(**columns: Any) -> ScheduleState:
    return ScheduleState.objects.create(
        job_type="work", interval_seconds=60, next_run_at=T + timedelta(hours=1), **columns
    )


@pytest.mark.parametrize("target", TARGETS)
def test_each_kind_is_paused_and_resumed_and_both_may_be_said_twice(target: str) -> None:
    scope, name = TARGETS[target]
    for _ in range(2):
        data, words = jobs("pause", *target.split(), "--reason", "is down")
        assert data.endswith(" is paused.\n")
        pause = Pause.objects.get()
        assert (pause.scope, pause.name, pause.reason, pause.until) == (scope, name, "is down", None)
    assert "It was paused before" in words
    assert jobs("resume", *target.split())[0].endswith(" goes on.\n")
    answer = ended("resume", *target.split())
    assert (answer.code, answer.data.endswith(" is not paused.\n")) == (0, True)


def test_it_says_how_many_jobs_it_parked_and_opened() -> None:
    stored(3, subject="shop-7")
    assert jobs("pause", "subject", "shop-7")[1] == "3 jobs parked.\n"
    assert Job.objects.filter(hold="pause").count() == 3
    told = jobs_json("resume", "subject", "shop-7")
    assert told == {"schema": 1, "moved": ["subject shop-7"], "skipped": {}, "jobs": 3, "more": False}
    assert jobs_json("resume", "subject", "shop-7")["skipped"] == {"subject shop-7": "is not paused"}


def test_what_is_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.lifecycle.pause_walks.try_lock", lambda *_: False)  # another process is at it
    assert jobs("pause", "type", "work")[1] == "0 jobs parked; workers go on with more.\n"
    assert jobs_json("pause", "type", "work")["more"] is True


def test_a_pause_may_have_its_end() -> None:
    assert jobs("pause", "queue", "mail", "--for", "2h")[0] == "queue mail is paused until 2026-01-01 14:00:00Z.\n"
    assert Pause.objects.get().until == T + timedelta(hours=2)
    jobs("pause", "queue", "mail", "--until", "2026-01-02T00:00:00Z")
    assert Pause.objects.get().until == T + timedelta(hours=12)


def test_a_schedule_by_its_id() -> None:
    row = schedule()
    assert jobs("pause", "schedule", row.pk, "--actor", "cli:ann")[0] == f"schedule {row.pk} is paused.\n"
    assert ended("pause", "schedule", row.pk).data == f"schedule {row.pk} is paused already.\n"
    assert ScheduleState.objects.get().paused
    assert jobs_json("resume", "schedule", row.pk)["moved"] == [row.pk]
    assert ended("resume", "schedule", row.pk) == (0, f"schedule {row.pk} is not paused.\n", "")
    assert ControlEvent.objects.earliest("pk").actor == "cli:ann"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["all", "mail"], 2, "all is everything"),
        (["queue"], 2, "which queue? Name it."),
        (["schedule", "nightly"], 2, "name it by its id"),
        (["schedule", "7", "--for", "2h"], 2, "until somebody resumes it"),
        (["schedule", "7"], 1, "schedule 7 does not exist"),
        (["type", "wrok"], 1, "Did you mean 'work'"),
        (["queue", "jobs.system"], 1, "never paused"),
        (["queue", "mail", "--until", "2020-01-01T00:00:00Z"], 1, "has passed already"),
        (["queue", "mail", "--for", "1h", "--until", "2999-01-01T00:00:00Z"], 1, "not allowed with"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], code: int, message: str) -> None:
    answer = ended("pause", *arguments)
    assert (answer.code, answer.data) == (code, "")
    assert message in answer.words
    assert not Pause.objects.exists()


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_user_needs_the_permission_of_the_scope(verb: str) -> None:
    user_who_may("pause_queue")
    row = schedule(paused=verb == "resume")
    wanted = {"all": "all", "type work": "job_type", "subject a": "subject", f"schedule {row.pk}": "schedule"}
    for target, scope in wanted.items():
        answer = ended(verb, *target.split(), "--actor", "ann")
        assert (answer.code, answer.words) == (1, f"{verb}: ann has no permission jobs_app.pause_{scope}.")
    assert ended(verb, "queue", "mail", "--actor", "ann").code == 0
    assert ControlEvent.objects.get().actor == "ann"


def test_pauses_are_listed_the_widest_first() -> None:
    assert jobs_json("pauses") == {"schema": 1, "pauses": [], "capped": False}
    jobs("pause", "queue", "mail", "--reason", "is down", "--actor", "cli:ann", "--for", "1h")
    jobs("pause", "all")
    data, words = jobs("pauses")
    lines = [line.split() for line in data.splitlines()]
    assert lines[0] == ["SCOPE", "NAME", "REASON", "ACTOR", "UNTIL", "CREATED", "AT"]
    assert [line[:2] for line in lines[1:]] == [["all", "-"], ["queue", "mail"]]
    assert {"is", "down", "cli:ann", "2026-01-01", "13:00:00Z"} <= set(lines[2])
    assert words == "Schedules that are paused: manage.py jobs schedules --state paused\n"
    told = jobs_json("pauses", "--limit", 1)
    assert ([each["scope"] for each in told["pauses"]], told["capped"]) == (["all"], True)
    assert "raise --limit" in jobs("pauses", "--limit", 1)[1]
