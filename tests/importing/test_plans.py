"""What each row would become."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs_app import job
from jobs_app.importing.found import Found, When, usable_name, why
from jobs_app.importing.job_types import JobTypes
from jobs_app.importing.plans import Plan, Wish, plan, slots_from
from jobs_app.registry import registry
from jobs_app.timetable import Timetable
from tests.importing.foreign import NOW

HOURLY = Timetable(every=3600)
NINE = Timetable(cron="0 9 * * *")
LONG = Timetable(cron=f"{','.join(map(str, range(59)))} {','.join(map(str, range(23)))} * * *")


@pytest.fixture(autouse=True)
def sync() -> None:
    @job(name="sync", queue="slow", priority=2)
    def sync(shop: str = "", number: int = 0) -> None: ...


def found(name: str = "a", *, stands_at: Any = NOW + timedelta(minutes=5), **given: Any) -> Found:
    when = When(timetable=given.pop("timetable", HOURLY), stands_at=stands_at)
    return Found(**{"old_name": name, "name": name, "task": "sync", "when": when} | given)


def planned(*rows: Found, **wish: Any) -> list[Plan]:
    return plan(rows or [found()], JobTypes(registry, {}), Wish(now=NOW, **wish))


def test_a_job_type_a_payload_and_slots() -> None:
    [one] = planned(found(args=("x",), kwargs={"number": 7}))
    assert (one.key, one.payload, one.is_paused, one.problem) == (
        ("sync", "", "a"),
        {"shop": "x", "number": 7},
        False,
        "",
    )
    assert one.slots(NOW, 2) == [NOW + timedelta(minutes=5), NOW + timedelta(minutes=65)]


def test_what_stands_nowhere_begins_as_a_new_one_does() -> None:
    assert planned(found(stands_at=None))[0].slots(NOW, 1) == [NOW]
    assert planned(found(stands_at=None, timetable=NINE))[0].slots(NOW, 1) == [NOW + timedelta(hours=21)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"task": "synk"}, "no job type has the name or the function synk. Did you mean 'sync'?"),
        ({"kwargs": {"number": "x"}}, "job 'sync': number: expected a whole number"),
        ({"kwargs": {"nummer": 1}}, "job 'sync': nummer: is unknown. Did you mean 'number'?"),
        ({"args": (1, 2, 3)}, "it has 3 positional arguments"),
        ({"when": None, "problem": "it follows the sun"}, "it follows the sun"),
        ({"timetable": LONG}, "its schedule here: cron="),
        ({"stands_at": NOW.replace(year=9999)}, "its schedule here: from_slot="),
        ({"kwargs": {"number": {1: 2}}}, "job 'sync': number: expected a whole number, not {1: 2}"),
    ],
)
def test_what_does_not_fit_says_why(given: dict[str, Any], why: str) -> None:
    [one] = planned(found(**given))
    assert (one.job_type, one.problem[: len(why)], one.slots(NOW, 3)) == (None, why, [])


def test_a_why_is_never_empty() -> None:
    assert [why(ValueError("no.")), why(ValueError()), why(OverflowError("x"))] == [
        *("no", "ValueError", "it holds a value that cannot be used: x")
    ]


def test_disabled_ones_are_paused_and_all_on_demand() -> None:
    assert [each.is_paused for each in planned(found("a"), found("b", is_enabled=False))] == [False, True]
    assert [each.is_paused for each in planned(found("a"), found("b", is_enabled=False), paused=True)] == [True, True]


def test_rows_that_would_become_one_schedule_are_both_refused() -> None:
    job(name="other")(lambda: None)
    plans = planned(found("a"), found("a"), found("a", task="other"))
    assert [bool(each.problem) for each in plans] == [True, True, False]
    assert "another row would become the schedule 'a'" in plans[0].problem


@pytest.mark.parametrize("timetable", [HOURLY, NINE])
def test_slots_are_told_as_far_as_the_calendar_goes(timetable: Timetable) -> None:
    last = NOW.replace(year=9999, month=12, day=31, hour=23, minute=30)
    assert slots_from(timetable, last, 3) == [last]


@pytest.mark.parametrize("timetable", [HOURLY, Timetable(cron="30 * * * *")])
def test_a_missed_slot_is_kept_and_told_or_left_out(timetable: Timetable) -> None:
    missed = NOW - timedelta(minutes=90)
    row = found(stands_at=missed, timetable=timetable)
    [kept], [left_out] = planned(row), planned(row, skip_missed=True)
    assert kept.slots(NOW, 1) == [missed]
    assert "which is made up for at once" in kept.notes[-1]
    assert (left_out.slots(NOW, 1), left_out.notes) == ([NOW + timedelta(minutes=30)], ())


def test_what_the_job_type_says_otherwise_is_told() -> None:
    [one] = planned(found(queue="mail", priority=9))
    assert one.notes == (
        "it went to 'mail'; jobs of its type go to the queue 'slow'",
        "its priority 9 is not kept; jobs of its type have 2",
    )
    assert planned(found(queue="slow", priority=2))[0].notes == ()


def test_a_job_type_that_comes_back_by_its_code_too_is_told() -> None:
    job(name="by-code", every="1h")(lambda: None)
    assert planned(found(task="by-code"))[0].notes == ("its job type also comes back by its code: every 1h",)


@pytest.mark.parametrize(
    ("old", "name"),
    [
        ("nightly", "nightly"),
        ("Every morning, 9:00 (Köln)", "Every-morning-9:00-Koln"),
        ("-- x --", "x"),
        ("a" * 200, "a" * 120),
        ("東京", "row-7"),
        (None, "row-7"),
    ],
)
def test_a_name_is_made_usable(old: str | None, name: str) -> None:
    assert usable_name(old, otherwise="row-7") == name
