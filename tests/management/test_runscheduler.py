"""`manage.py runscheduler` parses and delegates."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.management.commands import runscheduler
from jobs_app.management.commands.runscheduler import chores_without_worker
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.scheduler.loop import Scheduler
from tests.lifecycle.rows import at


class Chores:
    def __init__(self, made: list[Any]) -> None:
        self._made = made

    def work_off(self) -> None:
        self._made.append("chores")


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []
    monkeypatch.setattr(runscheduler.logs, "configure", lambda *style: None)
    monkeypatch.setattr(runscheduler, "require_tables", lambda: None)
    monkeypatch.setattr(runscheduler, "chores_without_worker", lambda: Chores(made))
    monkeypatch.setattr(runscheduler, "run_scheduler", lambda signals, **options: made.append(options) or 0)
    monkeypatch.setattr(runscheduler, "tick_once", lambda: made.append("once") or 4)
    return made


def test_it_runs_with_the_poll_of_the_settings_or_its_own(calls: list[Any], settings: Any) -> None:
    settings.JOBS = {"SCHEDULER_POLL_SECONDS": 7}
    call_command("runscheduler")
    call_command("runscheduler", "--poll", "2m")
    assert [Scheduler(call["poll"]).poll for call in calls] == [7, 120]
    assert [type(loop) for call in calls for loop in call["beside"]] == [Chores, Chores]


def test_once_works_off_chores_too_and_ends_with_the_code_of_its_tick(calls: list[Any]) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("runscheduler", "--once")
    assert (calls, ended.value.code) == (["once", "chores"], 4)


@pytest.mark.django_db(transaction=True)
def test_chores_are_left_to_a_worker_that_lives_unless_it_does_not_take_them() -> None:
    @job(name="jobs.own", queue=SYSTEM_QUEUE)
    def own() -> None: ...

    with at(0):
        announce(connection, Presence(id="host-1-abc", beat_seconds=600))
        run = own.enqueue()
    for seconds, status in ((9.9, "queued"), (10, "succeeded")):
        with at(seconds):
            chores_without_worker().work_off()
        assert run.refresh().status == status


@pytest.mark.parametrize("poll", ["0", "-1", "soon"])
def test_a_poll_that_is_no_time_is_refused(poll: str, calls: list[Any]) -> None:
    with pytest.raises(CommandError, match="--poll"):
        call_command("runscheduler", f"--poll={poll}")
    assert calls == []
