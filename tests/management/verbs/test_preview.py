"""`jobs preview`. Nothing here may ask a database."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError

from jobs_app.conf import forget_overrides
from tests.management.calling import jobs, jobs_json

ROOT = Path(__file__).parents[3]
NIGHTLY = ("--cron", "30 2 * * *", "--timezone", "Europe/Paris")


def test_the_slots_of_an_expression_are_told_as_json() -> None:
    told = jobs_json("preview", *NIGHTLY, "--from", "2026-10-23T00:00:00Z", "--count", "12")
    assert [slot["at"] for slot in told[:4]] == [
        "2026-10-23T00:30:00+00:00",
        "2026-10-24T00:30:00+00:00",
        "2026-10-25T00:30:00+00:00",
        "2026-10-26T01:30:00+00:00",
    ]
    assert told[0] == {
        "at": "2026-10-23T00:30:00+00:00",
        "local": "2026-10-23T02:30:00+02:00",
        "weekday": "Fri",
        "note": "",
    }
    assert told[2]["note"] == "clocks go back: 02:30 comes twice, the first time counts"
    assert len(told) == 12


def test_the_slots_are_told_as_a_table() -> None:
    data, words = jobs("preview", *NIGHTLY, "--from", "2026-03-29", "--count", "2")
    assert data.splitlines() == [
        "UTC                   LOCAL                      DAY  NOTE",
        "2026-03-29 01:00:00Z  2026-03-29 03:00:00+02:00  Sun  02:30 does not exist on this day: runs at the shift",
        "2026-03-30 00:30:00Z  2026-03-30 02:30:00+02:00  Mon  -",
    ]
    assert words == ""


def test_a_start_without_a_zone_is_one_of_the_zone_asked_for() -> None:
    at_noon = jobs_json("preview", *NIGHTLY, "--from", "2026-07-01T02:30:00", "--count", "1")
    assert at_noon[0]["at"] == "2026-07-02T00:30:00+00:00"
    assert jobs_json("preview", *NIGHTLY, "--from", "2026-07-01T02:29:59", "--count", "1")[0]["weekday"] == "Wed"


def test_an_interval_is_told_from_its_start() -> None:
    told = jobs_json("preview", "--every", "90s", "--from", "2026-01-01T00:00:00Z", "--count", "2")
    assert [slot["at"] for slot in told] == ["2026-01-01T00:01:30+00:00", "2026-01-01T00:03:00+00:00"]


def test_without_a_start_it_is_now() -> None:
    before = datetime.now(UTC)
    told = [datetime.fromisoformat(slot["at"]) for slot in jobs_json("preview", "--cron", "* * * * * *")]
    assert len(told) == 10
    assert before < told[0] <= datetime.now(UTC) + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cron", "61 * * * *"], "--cron: use 0 to 59 for the minute"),
        (["--cron", "0 0 31 2 *"], "--cron: use days that exist"),
        (["--cron", "@daily", "--timezone", "paris"], "--timezone: .*did you mean 'Europe/Paris'"),
        (["--every", "1h", "--timezone", "Mars"], "--timezone: use a time zone"),
        (["--cron", "@daily", "--from", "tomorrow"], "--from: use a date and a time, as .*, not 'tomorrow'"),
        (["--cron", "@daily", "--from", "0001-01-01T00:00:00+05:00"], "--from: use a date and a time"),
        (["--cron", "@daily", "--count", "10001"], "--count: use at most 10000"),
        (["--every", "0.0000001"], "--every: use an interval that a clock can tell"),
        (["--every", "36500d", "--from", "9950-01-01"], "--every: the calendar ends before that"),
        ([], "one of the arguments --cron --every is required"),
        (["--cron", "@daily", "--every", "1h"], "not allowed with argument"),
    ],
)
def test_what_cannot_be_read_is_an_error(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        jobs("preview", *arguments)


def test_a_process_that_just_began_asks_no_database_either() -> None:
    """Where a test has not asked for the database, each query is an error."""
    forget_overrides()
    assert len(jobs_json("preview", "--every", "5m", "--count", "3")) == 3


def test_it_works_while_the_database_is_down() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    environment["DATABASE_URL"] = "postgresql://nobody@127.0.0.1:1/nothing"
    command = [sys.executable, "manage.py", "jobs", "preview", "--cron", "@daily", "--count", "1"]
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    wrong = subprocess.run(
        [*command, "--timezone", "x"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("CommandError: --timezone: use a time zone")
