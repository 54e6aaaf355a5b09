"""Which pauses are in force, and which of them a run waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.handles import RunHandle
from jobs_app.insights import pauses, runs
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import database_now
from jobs_app.registry import SYSTEM_QUEUE
from tests.by_hand import HandWorker

pytestmark = pytest.mark.django_db

EVERY = [("queue", "mail"), ("job_type", "send"), ("subject", "shop-7"), ("all", "")]
OTHERS = [("queue", "calls"), ("job_type", "other"), ("subject", "shop-8")]


@pytest.fixture
def enqueue() -> Callable[..., RunHandle]:
    @job(name="other")
    def other() -> None: ...

    @job(name="send")
    def send() -> None: ...

    return lambda **options: send.options(**options).enqueue()


def held_by(run: Any) -> list[tuple[str, str]]:
    found = pauses.holding(connection, runs.get(run.id), database_now(connection))
    return [(each.scope, each.name) for each in found]


def test_a_run_waits_for_each_pause_of_its_queue_its_type_its_subject_and_of_everything(enqueue: Any) -> None:
    run = enqueue(queue="mail", subject="shop-7")
    for scope, name in EVERY + OTHERS:
        control.pause(scope, name, "ann")
    assert held_by(run) == EVERY[::-1]
    for scope, name in EVERY:
        control.resume(scope, name, "ann")
    assert held_by(run) == []


def test_what_runs_and_the_apps_own_chores_wait_for_none(enqueue: Any) -> None:
    @job(name="jobs.own", queue=SYSTEM_QUEUE)
    def own() -> None: ...

    chore, running = own.options(delay=60).enqueue(), enqueue()
    assert [claimed.id for claimed in HandWorker().claim()] == [running.id]
    control.pause("all", "", "ann")
    assert (held_by(chore), held_by(running)) == ([], [])
    assert held_by(enqueue()) == [("all", "")]


def test_the_pause_of_exactly_one_thing_is_found() -> None:
    control.pause("queue", "mail", "ops", "flood")
    now = database_now(connection)
    found = pauses.of(connection, "queue", "mail", now)
    assert found is not None
    assert found.reason == "flood"
    assert pauses.of(connection, "queue", "calls", now) is None
    assert pauses.of(connection, "subject", "mail", now) is None


def test_what_stops_most_comes_first_however_many_subjects_are_paused() -> None:
    for scope, name in [("all", ""), ("queue", "mail"), ("subject", "shop-7"), ("subject", "shop-8")]:
        control.pause(scope, name, "ann")
    found = pauses.newest(connection, database_now(connection), limit=3)
    assert [(each.scope, each.name) for each in found] == [("all", ""), ("queue", "mail"), ("subject", "shop-8")]
