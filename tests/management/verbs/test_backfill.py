"""`jobs backfill`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ControlEvent, Job, ScheduleState
from tests.management.calling import jobs
from tests.management.ending import ended

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MORNING = ("--from", "2026-01-01T09:00:00Z", "--to", "2026-01-01T12:00:00+00:00")

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def at_noon() -> Any:
    job(name="rates")(lambda: None)
    with frozen_clock(NOON):
        yield


def schedule(subject: str = "", **columns: Any) -> int:
    """Every hour, at half past."""
    given = {"job_type": "rates", "interval_seconds": 3600, "next_run_at": NOON + timedelta(minutes=30)}
    return ScheduleState.objects.create(**(given | columns), subject=subject).pk


def test_one_schedule_by_its_id() -> None:
    schedule("other")
    data, words = jobs("backfill", schedule(), *MORNING, "--actor", "cli:ann", "--reason", "an outage")
    assert (data, words) == ("3 jobs made for 1 schedule.\n", "")
    assert sorted(slot.hour for slot in Job.objects.values_list("slot_at", flat=True) if slot) == [9, 10, 11]
    event = ControlEvent.objects.get()
    assert (event.actor, event.reason, event.action) == ("cli:ann", "an outage", "backfill")


def test_a_job_type_and_of_it_one_subject() -> None:
    schedule("a")
    schedule("b")
    assert jobs("backfill", "--job-type", "rates", "--subject", "a", *MORNING)[0] == "3 jobs made for 1 schedule.\n"
    data, words = jobs("backfill", "--job-type", "rates", *MORNING)
    assert data == "3 jobs made for 1 schedule; 3 slots have a run already.\n"
    assert words == "1 schedule skipped: has no slot without a run in that time\n"


def test_who_acts_is_the_user_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    jobs("backfill", schedule(), *MORNING)
    assert ControlEvent.objects.get().actor == "cli:grace"


def test_a_dry_run_only_tells() -> None:
    pk = schedule()
    assert jobs("backfill", pk, *MORNING, "--dry-run")[0] == "3 jobs to make for 1 schedule.\n"
    assert not Job.objects.exists()
    assert not ControlEvent.objects.exists()


def test_no_more_than_may_be_and_over_some_time() -> None:
    data, _ = jobs("backfill", schedule(), *MORNING, "--most", 2, "--spread", "1h")
    assert data == "2 jobs made for 1 schedule, to start over 1h; there are more, which another backfill makes.\n"
    starts = Job.objects.order_by("run_at").values_list("run_at", flat=True)
    assert list(starts) == [NOON, NOON + timedelta(minutes=30)]


def test_json_for_programs() -> None:
    pk, gone = schedule(), schedule(job_type="rates", subject="bad", payload={"n": 1})
    answer = ended("backfill", "--job-type", "rates", *MORNING, "--format", "json")
    assert (answer.code, answer.words) == (4, "1 schedule could get no job.")
    told = answer.json
    why = told.pop("skipped")
    assert told == {
        "schema": 1,
        "dry_run": False,
        "schedules": [pk],
        "slots": 3,
        "known": 0,
        "made": 3,
        "capped": False,
    }
    assert list(why.values()) == [1]
    assert next(iter(why)).startswith("cannot make its jobs: job 'rates': n: is unknown")
    assert gone not in told["schedules"]


def test_a_long_look_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.management.progress.LINE_SECONDS", 0.0)
    _, words = jobs("backfill", schedule(), *MORNING)
    assert [line.partition(",")[0] for line in words.splitlines()] == [f"Looking at slots: {n}" for n in (1, 2, 3)]


def test_nothing_to_do_is_no_error() -> None:
    pk = schedule()
    jobs("backfill", pk, *MORNING)
    data, words = jobs("backfill", pk, *MORNING)
    assert data == "0 jobs made for 0 schedules; 3 slots have a run already.\n"
    assert "has no slot without a run in that time" in words


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["999", *MORNING], "schedule 999 does not exist", 1),
        ([str(10**25), *MORNING], "does not exist", 1),
        (["--job-type", "rate", *MORNING], "Did you mean 'rates'", 1),
        (["1", "--subject", "a", *MORNING], "--subject goes with --job-type", 2),
        (["--job-type", "rates", *MORNING[:3], "2026-01-01T13:00:00Z"], "end= is in the future", 1),
        (["--job-type", "rates", *MORNING, "--most", "20000"], "most=20000 cannot be used", 1),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], message: str, code: int) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        jobs("backfill", *arguments)
    assert caught.value.returncode == code
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [*MORNING],
        ["1", "--job-type", "rates", *MORNING],
        ["1", "--from", "2026-01-01T09:00:00Z"],
        ["1", *MORNING[:3], "noon"],
        ["x", *MORNING],
    ],
)
def test_wrong_usage_is_told(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match=r"required|not allowed|use a"):
        jobs("backfill", *arguments)
