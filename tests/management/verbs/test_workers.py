"""`jobs workers`."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection

from jobs_app import job
from jobs_app.insights import processes
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.presence import Presence, announce, beat
from jobs_app.models import WorkerKind
from tests.by_hand import HandWorker
from tests.lifecycle.rows import at
from tests.management.calling import jobs, jobs_json

pytestmark = pytest.mark.django_db


def announced(worker_id: str, **columns: Any) -> None:
    announce(connection, Presence(id=worker_id, host="host", pid=7, version="1.2", **columns))


@pytest.fixture
def at_work() -> Any:
    """A worker that runs seven jobs for a minute, one that drains, one late, one lost, a remote one and a scheduler."""

    @job(queue="mail")
    def send() -> None: ...

    hand = HandWorker(lease=600)
    with at(0):
        announced("late", name="late", concurrency=1)
        announced("old", name="old", concurrency=1, beat_seconds=5)
        for number in range(7):
            send.options(subject=f"shop-{number}").enqueue()
        hand.claim(7)
    with at(60):
        announced(hand.id, name="busy", queues=["mail"], excluded=["mail.bulk"], job_types=["a", "b"], concurrency=10)
        beat(connection, hand.id, busy=7, draining=False, rss_bytes=200 * 1024 * 1024)
        announced("draining", name="leaving", concurrency=2)
        beat(connection, "draining", busy=0, draining=True, rss_bytes=0)
        announced("far", kind=WorkerKind.REMOTE, name="far")
        announced("clock", kind=WorkerKind.SCHEDULER, name="clock")
        yield hand


def test_a_table_for_people(at_work: HandWorker) -> None:
    data, words = jobs("workers")
    few = ", ".join(f"send shop-{number} for 1m" for number in range(5))
    told = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in data.splitlines()]
    assert told == [
        ["KIND", "NAME", "STATUS", "BUSY", "SEEN", "QUEUES", "TYPES", "VERSION", "MEMORY", "RUNS"],
        [
            "worker",
            "busy",
            "alive",
            "7/10",
            "0ms ago",
            "mail but mail.bulk",
            "2",
            "1.2",
            "200 MB",
            f"{few}, and 2 more",
        ],
        ["remote", "far", "alive", "-", "0ms ago", "all", "0", "1.2", "-", "-"],
        ["worker", "late", "late", "0/1", "1m ago", "all", "0", "1.2", "-", "-"],
        ["worker", "leaving", "draining", "0/2", "0ms ago", "all", "0", "1.2", "-", "-"],
        ["worker", "old", "lost", "0/1", "1m ago", "all", "0", "1.2", "-", "-"],
        ["scheduler", "clock", "alive", "-", "0ms ago", "-", "-", "1.2", "-", "-"],
    ]
    assert words == ""


def test_json_for_programs(at_work: HandWorker) -> None:
    told = jobs_json("workers")
    assert (told["schema"], told["at"], told["capped"]) == (1, "2026-01-01T12:01:00+00:00", False)
    busy = told["processes"][0]
    assert (busy["id"], busy["status"], busy["busy"], busy["concurrency"]) == (at_work.id, "alive", 7, 10)
    assert (busy["job_types"], busy["running"], busy["rss_bytes"]) == (["a", "b"], 7, 200 * 1024 * 1024)
    assert [(each["job_type"], each["subject"], each["seconds"]) for each in busy["jobs"]] == [
        ("send", f"shop-{number}", 60.0) for number in range(5)
    ]
    assert [each["status"] for each in told["processes"][1:]] == ["alive", "late", "draining", "lost", "alive"]


@pytest.mark.parametrize(
    ("kind", "found"), [("worker", ["busy", "late", "leaving", "old"]), ("remote", ["far"]), ("scheduler", ["clock"])]
)
def test_one_kind_alone(kind: str, found: list[str], at_work: HandWorker) -> None:
    assert [each["name"] for each in jobs_json("workers", "--kind", kind)["processes"]] == found


def test_many_of_another_kind_hide_none(at_work: HandWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    found = processes.at_work(connection, database_now(connection), kind="scheduler", limit=1)
    assert [each.row.name for each in found.found] == ["clock"]
    monkeypatch.setattr(processes, "MOST_SHOWN", 6)
    assert jobs_json("workers")["capped"] is True
    assert "there may be more" in jobs("workers")[1]


@pytest.mark.parametrize("kind", ["", "worker", "remote", "scheduler"])
def test_who_asks_for_one_that_is_alive_gets_exit_code_0(kind: str, at_work: HandWorker) -> None:
    assert jobs("workers", "--fail-if-empty", *(["--kind", kind] if kind else []))[1] == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "No worker is alive."),
        (["--kind", "worker"], "No worker is alive."),
        (["--kind", "remote"], "No remote worker is alive."),
        (["--kind", "scheduler"], "No scheduler is alive."),
    ],
)
@pytest.mark.parametrize("style", ["table", "json"])
def test_that_none_is_alive_is_said_and_exit_code_3_if_asked(arguments: list[str], said: str, style: str) -> None:
    with at(0):
        announced("leaving", concurrency=2)
        beat(connection, "leaving", busy=0, draining=True, rss_bytes=0)
        if not arguments:
            announced("clock", kind=WorkerKind.SCHEDULER)
        assert jobs("workers", *arguments, "--format", style)[1] == f"{said}\n"
        with pytest.raises(CommandError, match=said) as caught:
            jobs("workers", "--fail-if-empty", *arguments, "--format", style)
    assert caught.value.returncode == 3
