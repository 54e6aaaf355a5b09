"""`jobs schedules`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ScheduleState
from jobs_app.scheduler.sync import sync_declared
from jobs_app.scheduler.tick import tick
from tests.by_hand import HandWorker
from tests.management.calling import jobs, jobs_json

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def at_noon() -> Any:
    """An hourly schedule of code that has run once, and what an operator made of another type."""

    @job(name="rates", every="1h", max_attempts=1)
    def rates() -> None:
        raise ValueError("no rates today")

    @job(name="report")
    def report(token: str = "") -> None: ...

    with frozen_clock(NOON):
        sync_declared(connection)
        tick(connection)
        HandWorker().work()
        control.add_schedule("report", "ann", subject="shop-7", cron="0 9 * * *", payload={"token": "t"})
        control.add_schedule("report", "ann", name="once", at=NOON + HOUR)
        control.pause_schedule(("report", "shop-7", ""), "ann")
        yield


def test_a_table_for_people() -> None:
    first, second, third = ScheduleState.objects.order_by("job_type", "subject").values_list("pk", flat=True)
    data, words = jobs("schedules")
    noon, one = "2026-01-01 12:00:00Z", "2026-01-01 13:00:00Z"
    told = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in data.splitlines()]
    assert told == [
        ["ID", "JOB TYPE", "SUBJECT", "NAME", "WHEN", "NEXT", "LAST", "ENDED", "STATE", "WHY"],
        [str(first), "rates", "-", "-", "every 1h", one, noon, "failed", "active", "-"],
        [str(second), "report", "-", "once", f"once at {NOON + HOUR}", one, "-", "-", "active", "-"],
        [str(third), "report", "shop-7", "-", "0 9 * * *", "-", "-", "-", "paused", "-"],
    ]
    assert words == ""


def test_json_for_programs_with_secrets_hidden() -> None:
    told = jobs_json("schedules")
    assert (told["schema"], told["capped"], len(told["schedules"])) == (1, False, 3)
    rates, once, paused = told["schedules"]
    assert (rates["when"], rates["interval_seconds"], rates["origin"]) == ("every 1h", 3600, "code")
    assert (rates["last_status"], rates["last_finished_at"]) == ("failed", "2026-01-01T12:00:00+00:00")
    assert rates["next_slots"][:2] == ["2026-01-01T13:00:00+00:00", "2026-01-01T14:00:00+00:00"]
    assert (once["once_at"], once["next_slots"]) == ("2026-01-01T13:00:00+00:00", ["2026-01-01T13:00:00+00:00"])
    assert (paused["state"], paused["next_slots"], paused["payload"]) == ("paused", [], {"token": "[hidden]"})
    assert (paused["last_status"], paused["last_finished_at"], paused["overridden"]) == (None, None, [])


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--job-type", "report"], ["report once", "report shop-7"]),
        (["--subject", "shop-7"], ["report shop-7"]),
        (["--subject", ""], ["rates", "report once"]),
        (["--state", "paused"], ["report shop-7"]),
        (["--state", "active", "--job-type", "rates"], ["rates"]),
        (["--state", "retired"], []),
        (["--origin", "code"], ["rates"]),
        (["--origin", "admin", "--state", "active"], ["report once"]),
        (["--search", "SHOP"], ["report shop-7"]),
        (["--trouble", "failing"], ["rates"]),
        (["--trouble", "overdue"], []),
    ],
)
def test_it_shows_what_was_asked_for(arguments: list[str], found: list[str]) -> None:
    ScheduleState.objects.filter(job_type="rates").update(failures=1)
    told = jobs_json("schedules", *arguments)["schedules"]
    assert [" ".join(filter(None, (each["job_type"], each["subject"], each["name"]))) for each in told] == found


def test_why_one_does_not_come_is_said_on_one_line() -> None:
    error = f"ValueError: {'x' * 100}\nand more"
    ScheduleState.objects.filter(job_type="rates").update(disabled=True, last_error=error)
    line = jobs("schedules", "--job-type", "rates")[0].splitlines()[1]
    assert line.endswith("disabled  ValueError: " + "x" * 45 + "...")
    assert jobs_json("schedules", "--job-type", "rates")["schedules"][0]["why"] == error


def test_no_more_are_shown_than_was_asked_for_and_that_is_said() -> None:
    data, words = jobs("schedules", "--limit", 2)
    assert len(data.splitlines()) == 3
    assert "There are more than 2" in words
    assert jobs_json("schedules", "--limit", 2)["capped"] is True
    assert jobs("schedules", "--limit", 3)[1] == ""


@pytest.mark.parametrize("style", ["table", "json"])
def test_that_there_is_none_is_exit_code_3_if_asked(style: str) -> None:
    assert jobs("schedules", "--state", "paused", "--fail-if-empty", "--format", style)[1] == ""
    assert jobs("schedules", "--state", "retired", "--format", style)[1] == ""
    with pytest.raises(CommandError, match="no schedule was found") as caught:
        jobs("schedules", "--state", "retired", "--fail-if-empty", "--format", style)
    assert caught.value.returncode == 3


def test_a_slip_of_the_pen_is_told() -> None:
    with pytest.raises(CommandError, match="Did you mean 'report'"):
        jobs("schedules", "--job-type", "reprt")


def test_a_page_takes_a_few_queries(django_assert_max_num_queries: Callable[[int], Any]) -> None:
    columns = {"interval_seconds": 60, "next_run_at": NOON}
    ScheduleState.objects.bulk_create(ScheduleState(job_type="rates", subject=str(n), **columns) for n in range(60))
    with django_assert_max_num_queries(3):
        assert len(jobs_json("schedules")["schedules"]) == 63
