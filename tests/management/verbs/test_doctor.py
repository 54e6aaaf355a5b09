"""`jobs doctor`."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections

from jobs_app.insights.doctor import EXAMINATIONS
from jobs_app.lifecycle.presence import Presence, announce
from tests.lifecycle.rows import stored
from tests.management.calling import jobs, jobs_json
from tests.management.test_jobs import manage

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker lives. SQLite's journal, which a worker would have switched, is of no matter here, nor are the dead rows
    that other tests left on PostgreSQL."""
    announce(connection, Presence(id="worker", name="w1", job_types=["work"]))
    monkeypatch.setattr("jobs_app.insights.doctor.sqlite._file", lambda connection: "")
    monkeypatch.setattr("jobs_app.insights.doctor.bloat.DEAD_PER_LIVE", 10**9)


def told(*arguments: str) -> tuple[str, int]:
    """What it printed, and its exit code."""
    data = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("jobs", "doctor", *arguments, stdout=data, stderr=StringIO())
    return data.getvalue(), caught.value.returncode


def test_a_sound_installation_is_told_in_one_line() -> None:
    data, words = jobs("doctor")
    assert (data.count("\n"), words) == (1, "")
    assert data.startswith("Database default (")
    assert data.endswith(" examinations, 0 found something\n")


def test_all_tells_what_is_well_too() -> None:
    lines = jobs("doctor", "--all")[0].splitlines()
    assert "ok       no_worker: A worker is alive." in lines
    assert len(lines) == len([one for one in EXAMINATIONS if one.fits(connections["default"])]) + 1


def test_what_is_wrong_comes_with_what_to_do_and_with_exit_code_7() -> None:
    stored(job_type="work\x1b[31m")
    data, code = told()
    assert code == 7
    lines = data.splitlines()
    assert lines[0].startswith("problem  type_unknown_to_workers: Jobs wait whose type no live worker")
    assert "work\\x1b[31m" in lines[0]
    assert lines[1].startswith("         Start workers whose code has them")
    assert lines[2].startswith("warning  type_unknown_here: ")
    assert lines[-1].endswith(", 2 found something")


def test_a_note_is_no_reason_for_another_exit_code() -> None:
    announce(connection, Presence(id="one", version="1.0"))
    announce(connection, Presence(id="two", version="2.0"))
    assert jobs("doctor")[0].startswith("note     versions_differ: ")


def test_json_has_every_finding() -> None:
    found = jobs_json("doctor")
    assert (found["schema"], found["database"], found["is_healthy"], found["left_out"]) == (1, "default", True, [])
    assert found["server"].startswith(("PostgreSQL ", "SQLite "))
    assert len(found["findings"]) == found["examinations"]
    assert {each["level"] for each in found["findings"]} == {"ok"}
    stored(job_type="work", queue="default")
    data, code = told("--format", "json")
    [wrong] = [each for each in json.loads(data)["findings"] if each["level"] != "ok"]
    assert (code, sorted(wrong)) == (7, ["advice", "level", "name", "sentence"])


def test_a_database_that_is_away_is_exit_code_75_and_the_rest_is_told() -> None:
    answer = manage("doctor", "--all", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert answer.returncode == 75, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("problem  database_unreachable: Database 'default' cannot be reached: ")
    assert lines[2] == "ok       system_checks: The system checks of the app find nothing."
    assert lines[-1].startswith("Database default (not reached): 3 examinations, 1 found something, ")
    assert "cannot be reached" in answer.stderr


def test_a_database_that_is_not_in_the_settings_is_told_with_its_name(settings: Any) -> None:
    settings.JOBS = {"DATABASE": "elsewhere"}
    with pytest.raises(CommandError, match=r"elsewhere.*Correct settings\.JOBS"):
        jobs("doctor")
