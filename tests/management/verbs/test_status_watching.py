"""`jobs status --check` and `jobs status --watch`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import translation

from jobs_app.insights import dashboard
from jobs_app.insights.budget import OutOfBudget
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ScheduleState
from tests.lifecycle.rows import T, at, stored
from tests.management.calling import jobs, jobs_json

MANAGE = Path(__file__).parents[3] / "manage.py"


@pytest.fixture
def noon(db: None) -> Iterator[None]:
    with at(0):
        yield


def checked(*arguments: str) -> tuple[int, str, str]:
    """Exit code, data, and the words of the error."""
    data = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("jobs", "status", "--check", *arguments, stdout=data, stderr=StringIO())
    return caught.value.returncode, data.getvalue(), str(caught.value)


def test_where_all_is_well_a_check_says_so(noon: None) -> None:
    assert jobs("status", "--check") == ("All is well.\n", "")
    told = jobs_json("status", "--check")
    assert told == {"schema": 1, "at": "2026-01-01T12:00:00+00:00", "level": "ok", "findings": []}


def test_a_problem_is_exit_code_7_and_said_in_words(noon: None) -> None:
    stored(queue="mail")
    ScheduleState.objects.create(job_type="x", interval_seconds=60, next_run_at=T - timedelta(hours=1))
    with translation.override("de"):
        code, data, said = checked()
    assert (code, said) == (7, "3 problems found")
    assert data.splitlines() == [
        "bad: No worker is alive, and jobs wait",
        "bad: No scheduler is alive, and schedules are active",
        "bad: 1 schedule is overdue",
    ]
    code, data, _ = checked("--format", "json")
    told = json.loads(data)
    assert (code, told["level"]) == (7, "bad")
    assert told["findings"][0] == {
        "kind": "no_worker",
        "level": "bad",
        "sentence": "No worker is alive, and jobs wait",
    }
    assert jobs("status")[0]  # which ends with 0 as ever


def test_it_finds_what_the_dashboard_does(noon: None, admin_client: Client) -> None:
    stored(queue="mail")
    control.pause("all", "", "ann")
    found = json.loads(checked("--format", "json")[1])["findings"]
    page = unescape(admin_client.get(reverse("admin:jobs_app_dashboard_changelist")).content.decode())
    assert {each["level"] for each in found} == {"bad", "warn"}
    assert all(each["sentence"] in page for each in found)


def test_one_problem_is_one(noon: None) -> None:
    stored(queue="mail")
    assert checked()[2] == "1 problem found"


def test_a_warning_is_said_and_no_problem(noon: None) -> None:
    announce(connection, Presence(id="w", concurrency=1))
    control.pause("all", "", "ann")
    data, words = jobs("status", "--check")
    assert (data, words) == ("warn: Everything is paused: nothing starts until somebody resumes it\n", "")
    assert jobs_json("status", "--check")["level"] == "warn"


def test_what_cannot_be_read_in_time_is_an_error_and_not_well(noon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(*given: Any) -> Any:
        raise OutOfBudget("reading was stopped after 10 s")

    monkeypatch.setattr(dashboard, "read_stale", too_long)
    assert checked() == (1, "", "reading was stopped after 10 s")


def test_check_and_watch_do_not_go_together() -> None:
    with pytest.raises(CommandError, match="not allowed with argument"):
        jobs("status", "--check", "--watch", "1s")


@pytest.mark.parametrize(("style", "mark"), [("table", "Last 24 hours"), ("json", '"last_24_hours":')])
def test_watch_prints_it_anew_until_it_is_interrupted(style: str, mark: str, child_environment: dict[str, str]) -> None:
    command = [sys.executable, str(MANAGE), "jobs", "status", "--watch", "0.05", "--format", style]
    with subprocess.Popen(
        command, env=child_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        times = 0
        while times < 3:
            line = child.stdout.readline()
            assert line, "it ended"
            times += mark in line
        child.send_signal(signal.SIGINT)
        _, words = child.communicate(timeout=30)
    assert child.returncode == 130, words
    assert "CommandError: interrupted" in words
    assert "Traceback" not in words
