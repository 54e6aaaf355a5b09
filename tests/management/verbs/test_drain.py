"""`jobs drain`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection

from jobs_app.lifecycle.presence import Presence, announce, leave
from jobs_app.management.verbs import drain
from jobs_app.models import ControlEvent, Job, WorkerKind, WorkerState
from tests.lifecycle.rows import one_running
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended, user_who_may

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def three_workers_and_a_scheduler() -> None:
    for worker in ("worker-1", "worker-2", "worker-3"):
        announce(connection, Presence(id=worker, name="spare" if worker != "worker-1" else ""))
    announce(connection, Presence(id="clock", kind=WorkerKind.SCHEDULER))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What happens while it waits, one thing a look."""

    def happens(*things: Callable[[], object]) -> None:
        left = list(things)
        monkeypatch.setattr(drain.time, "sleep", lambda seconds: left.pop(0)() if left else None)

    return happens


def asked() -> list[str]:
    return sorted(WorkerState.objects.filter(drain_requested=True).values_list("pk", flat=True))


def test_by_id_and_by_name() -> None:
    data, words = jobs("drain", "worker-1", "--reason", "deploy")
    assert [line.split() for line in data.splitlines()] == [["WORKER", "NOW", "JOBS"], ["worker-1", "asked", "0"]]
    assert (words, asked()) == ("", ["worker-1"])
    assert ControlEvent.objects.get().reason == "deploy"
    assert jobs_json("drain", "spare")["asked"] == ["worker-2", "worker-3"]


def test_by_how_its_id_begins_or_what_its_log_lines_say() -> None:
    announce(connection, Presence(id="box-1234-abc", host="box", pid=1234))
    assert "box-1234" in jobs("workers")[0]
    assert jobs_json("drain", "box-1234")["asked"] == ["box-1234-abc"]
    assert jobs_json("drain", "box1234")["asked_before"] == ["box-1234-abc"]
    assert ended("drain", "").code == 1
    assert asked() == ["box-1234-abc"]


def test_all_and_one_that_drains_already_counts_as_asked() -> None:
    one_running()
    jobs("drain", "worker-1")
    told = jobs_json("drain", "--all")
    assert told == {
        "schema": 1,
        "asked": ["worker-2", "worker-3"],
        "asked_before": ["worker-1"],
        "left": {"worker-1": 1, "worker-2": 0, "worker-3": 0},
    }
    assert "was asked to drain before" in jobs("drain", "worker-1")[0]


def test_nobody_there_is_no_error() -> None:
    WorkerState.objects.all().delete()
    assert ended("drain", "--all", "--wait") == (0, "", "No worker is there.\n")


def test_waiting_ends_when_they_are_gone(meanwhile: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.management.progress.LINE_SECONDS", 0.0)
    meanwhile(lambda: leave(connection, "worker-2"), lambda: leave(connection, "worker-3"))
    answer = ended("drain", "spare", "--wait")
    assert answer.code == 0
    assert [line.split() for line in answer.data.splitlines()[1:]] == [
        ["worker-2", "asked", "gone"],
        ["worker-3", "asked", "gone"],
    ]
    told = [line.rpartition(",")[0] for line in answer.words.splitlines()]
    assert told == ["Draining: 0 of 2, 0%", "Draining: 1 of 2, 50%"]


def test_the_jobs_of_one_that_was_killed_are_waited_for(meanwhile: Callable[..., None]) -> None:
    one_running()
    meanwhile(lambda: leave(connection, "worker-1"), lambda: Job.objects.all().delete())
    assert ended("drain", "worker-1", "--wait", "--format", "json").json["left"] == {}
    assert not Job.objects.exists()


def test_too_long_is_exit_code_5_and_says_who_is_left(meanwhile: Callable[..., None]) -> None:
    one_running()
    meanwhile()
    answer = ended("drain", "worker-1", "worker-2", "--wait", "--timeout", "0.01")
    assert answer.code == 5
    assert answer.words == "2 of 2 are still there, with 1 jobs; they go on to drain."
    assert [line.split()[-1] for line in answer.data.splitlines()[1:]] == ["1", "0"]
    assert ended("drain", "worker-1", "--wait", "--timeout", "0.01", "--format", "json").json["left"] == {"worker-1": 1}


def test_interrupted_they_go_on_to_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(drain.time, "sleep", interrupt)
    assert ended("drain", "worker-1", "--wait").code == 130
    assert asked() == ["worker-1"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Name some, or say --all"),
        (["worker-1", "--all"], 2, "Name some, or say --all"),
        (["worker-1", "nobody"], 1, "no worker has the id or the name 'nobody'"),
        (["clock"], 1, "clock is a scheduler"),
    ],
)
def test_what_cannot_be_is_refused_and_nobody_asked(arguments: list[str], code: int, message: str) -> None:
    answer = ended("drain", *arguments)
    assert (answer.code, answer.data, asked()) == (code, "", [])
    assert message in answer.words


def test_a_user_needs_the_permission() -> None:
    user_who_may("pause_all")
    answer = ended("drain", "--all", "--actor", "ann")
    assert (answer.code, answer.words, asked()) == (1, "drain: ann has no permission jobs_app.drain_worker.", [])
    user_who_may("drain_worker", name="bob")
    assert ended("drain", "--all", "--actor", "bob").code == 0
    assert ControlEvent.objects.get().actor == "bob"
