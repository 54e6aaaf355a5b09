"""How much can run at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights import at_once
from jobs_app.insights.at_once import AtOnce
from jobs_app.models import QueueState, WorkerKind, WorkerState
from tests.insights.planning import worker
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db


def defined(name: str = "work", **options: Any) -> None:
    job(name=name, **options)(lambda: None)


def read(slots: int | None = None) -> AtOnce:
    return at_once.read(connection, T, slots=slots)


def test_slots_are_those_of_workers_that_are_alive_and_take_work() -> None:
    worker("a", 10)
    worker("b", 5)
    worker("silent", 100, seconds=-31)
    worker("going", 1000)
    WorkerState.objects.filter(id="going").update(draining=True)
    worker("scheduler", 10_000, kind=WorkerKind.SCHEDULER)
    worker("remote", 2, kind=WorkerKind.REMOTE)
    assert read().slots == 17
    assert read(slots=40).slots == 40


def test_a_type_has_the_slots_of_workers_that_know_it_and_serve_its_queue() -> None:
    defined(queue="mail")
    worker("all", 1, "work", "other")
    worker("mail", 10, "work", queues=["mail*"])
    worker("other queues", 100, "work", queues=["files"])
    worker("not mail", 1000, "work", excluded=["mail"])
    worker("older code", 10_000, "other")
    assert read().slots_of("work") == 11
    assert read().slots_of("other") == 10_001  # of a type that only workers know


def test_limits_of_a_type_and_of_its_queue_leave_fewer_slots() -> None:
    defined("per-process", queue="a", concurrency_per_process=3)
    defined("in-all", queue="a", concurrency=7)
    defined("in-b", queue="b")
    QueueState.objects.create(name="b", max_running=6, max_running_per_process=2)
    for name in ("x", "y"):
        worker(name, 10, "per-process", "in-all", "in-b")
    assert [read().slots_of(name) for name in ("per-process", "in-all", "in-b")] == [6, 7, 4]
    assert [read(slots=5).slots_of(name) for name in ("per-process", "in-all", "in-b")] == [5, 5, 5]
    assert read(slots=50).slots_of("in-b") == 6


@pytest.mark.parametrize(
    ("options", "queue"),
    [
        ({"policy": "singleton"}, "work"),
        ({"policy": "exclusive"}, "work"),
        ({"policy": "short"}, ""),
        ({}, ""),
        ({"singleton": "account"}, ""),  # takes turns, but not by its subject
        ({"queue": "turns"}, "turns"),
        ({"queue": "narrow"}, "narrow"),
    ],
)
def test_a_subjects_jobs_take_turns_where_a_policy_says_so(options: dict[str, Any], queue: str, settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"turns": {"policy": "singleton"}, "narrow": {"concurrency_per_key": 1}}}

    @job(name="work", **({"queue": "work"} | options))
    def work(account: str = "") -> None: ...

    assert read().turns_in("work") == queue
    assert read().minutes_for(["work"]) == (60 if queue else None)


def test_a_subject_has_sixty_minutes_where_all_its_types_take_turns_with_each_other() -> None:
    defined("deal", queue="sp.work", policy="singleton")
    defined("retrieval", queue="sp.work", policy="singleton")
    defined("elsewhere", queue="other", policy="singleton")
    assert read().minutes_for(["deal", "retrieval"]) == 60
    assert read().minutes_for(["deal", "elsewhere"]) is None
    assert read().minutes_for(["deal", "unknown"]) is None
    assert read().minutes_for([]) == 60
