"""Slots of the past by hand: each that no run has becomes one job, and no slot ever two."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection

from jobs_app import job
from jobs_app.errors import OptionInvalid, UnknownJobType
from jobs_app.ids import slot_id
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock, jobs_connection
from jobs_app.models import ControlEvent, Job, JobRun, ScheduleState
from jobs_app.scheduler.tick import tick
from tests.by_hand import HandWorker
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

HOUR = 3600


@pytest.fixture(autouse=True)
def types() -> None:
    @job(name="rates")
    def rates(n: int = 0) -> None: ...

    @job(name="books", permission="jobs_app.add_job")
    def books() -> None: ...


def schedule(job_type: str = "rates", **columns: Any) -> ScheduleState:
    """Every hour, and due in half an hour."""
    given = {"job_type": job_type, "interval_seconds": HOUR, "next_run_at": T + timedelta(minutes=30)}
    return ScheduleState.objects.create(**(given | columns))


def hours(*numbers: float) -> list[datetime]:
    return [T + timedelta(hours=number) for number in numbers]


def backfill(schedules: Any, start: float = -3, end: float = 0, **options: Any) -> control.Backfilled:
    """From so many hours after T to so many."""
    first, last = hours(start, end)
    with at(0):
        return control.backfill(schedules, "ann", "an outage", start=first, end=last, **options)


def slots(**columns: Any) -> list[datetime]:
    return sorted(slot for slot in Job.objects.filter(**columns).values_list("slot_at", flat=True) if slot)


def test_the_slots_of_an_interval_are_those_of_its_grid() -> None:
    row = schedule(payload={"n": 7})
    found = backfill(row)
    assert (found.slots, found.known, found.made, found.is_capped, found.moved) == (3, 0, 3, False, [row.pk])
    assert slots() == hours(-2.5, -1.5, -0.5)
    made = Job.objects.order_by("slot_at")[0]
    assert (made.id, made.schedule, made.payload) == (slot_id("rates", "", "", hours(-2.5)[0]), row.pk, {"n": 7})
    row.refresh_from_db()
    assert (row.next_run_at, row.last_slot, row.last_run_at) == (hours(0.5)[0], None, None), "it goes on as before"


def test_both_ends_of_the_range_belong_to_it() -> None:
    schedule(next_run_at=T + timedelta(hours=1))
    backfill(("rates", "", ""), -2, 0)
    assert slots() == hours(-2, -1, 0)


def test_the_slots_of_a_cron_are_those_of_the_clock() -> None:
    row = schedule(interval_seconds=None, cron="0 9 * * *", next_run_at=hours(21)[0])
    assert backfill(row, -48).made == 2
    assert slots() == hours(-27, -3)


@pytest.mark.parametrize(("last_slot", "made"), [(None, 1), (-2, 1), (-1, 1), (-9, 0)])
def test_a_single_moment_has_one_slot_where_it_was_taken_or_should_have_been(
    last_slot: float | None, made: int
) -> None:
    taken = None if last_slot is None else hours(last_slot)[0]
    row = schedule(interval_seconds=None, once_at=hours(-1)[0], next_run_at=None, last_slot=taken)
    assert backfill(row).made == made
    assert slots() == ([taken or row.once_at] if made else [])


def test_slots_that_have_a_run_live_or_in_history_get_no_other() -> None:
    row = schedule(next_run_at=hours(-3)[0], catch_up="all", catch_up_max=2)
    with at(-2 * HOUR):
        assert len(tick(connection).made) == 2
        assert HandWorker().work() is not None
    assert (Job.objects.count(), JobRun.objects.count()) == (1, 1)
    found = backfill(row)
    assert (found.slots, found.known, found.made) == (2, 2, 2)
    assert slots() == hours(-2, -1, 0)


def test_a_second_one_makes_none() -> None:
    row = schedule()
    backfill(row)
    found = backfill(row)
    assert (found.slots, found.known, found.made, bool(found)) == (0, 3, 0, False)
    assert found.skipped == {row.pk: "has no slot without a run in that time"}
    assert len(slots()) == 3


def test_a_tick_makes_none_of_them_again() -> None:
    schedule(next_run_at=hours(-3)[0], catch_up="all", catch_up_max=100)
    assert backfill(("rates", "", ""), -3, -1).made == 3
    with at(0):
        assert [made.slot for made in tick(connection).made] == hours(0)
    assert slots() == hours(-3, -2, -1, 0)


def test_no_more_are_made_than_may_be_and_the_oldest_come_first() -> None:
    row = schedule()
    found = backfill(row, -24, most=5)
    assert (found.slots, found.made, found.is_capped) == (6, 5, True)
    assert slots() == hours(-23.5, -22.5, -21.5, -20.5, -19.5)
    found = backfill(row, -24, most=19)
    assert (found.slots, found.known, found.made, found.is_capped) == (19, 5, 19, False)


@pytest.mark.parametrize("spread", ["1h", 3600, timedelta(hours=1)])
def test_the_jobs_start_over_the_spread(spread: Any) -> None:
    schedule(subject="a")
    schedule(subject="b")
    backfill(control.schedules_of(job_type="rates"), -2, spread=spread)
    starts = [
        (run_at - T).total_seconds() for run_at in Job.objects.order_by("run_at").values_list("run_at", flat=True)
    ]
    assert starts == [0, 900, 1800, 2700]


def test_a_dry_run_stores_nothing_and_tells_what_there_is() -> None:
    row, gone = schedule(), schedule("gone")
    found = backfill([row, gone, 999], -24, most=5, dry_run=True)
    assert (found.dry_run, found.slots, found.made, found.is_capped, found.moved) == (True, 6, 5, True, [row.pk])
    assert backfill(row, dry_run=True).slots == 3
    assert backfill([gone, 999], dry_run=True).skipped == {
        gone.pk: "is of job type 'gone', which is gone from code",
        999: "does not exist",
    }
    assert not Job.objects.exists()
    assert not ControlEvent.objects.exists()


def test_one_event_tells_who_made_what_and_why() -> None:
    schedule(subject="a")
    schedule(subject="b", interval_seconds=86400)
    backfill(control.schedules_of(job_type="rates"))
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.reason) == ("ann", "backfill", "an outage")
    assert (event.target_kind, event.target, event.moved, event.skipped) == ("job_type", "rates", 1, 1)
    assert event.detail == {
        "from": "2026-01-01T09:00:00+00:00",
        "to": "2026-01-01T12:00:00+00:00",
        "jobs": 3,
        "skipped": {"has no slot without a run in that time": 1},
    }


def test_an_event_names_the_one_schedule_or_how_many_there_were() -> None:
    a, b = schedule(subject="a"), schedule(subject="b")
    backfill(a)
    backfill(("rates", "b", ""))
    backfill(each for each in (a, b))
    told = ControlEvent.objects.order_by("pk").values_list("target_kind", "target", "moved")
    assert list(told) == [("schedule", "rates a", 1), ("schedule", "rates b", 1), ("schedules", "2 schedules", 0)]


def test_a_job_type_a_subject_and_both_are_meant_as_a_whole() -> None:
    schedule(subject="a")
    schedule(subject="b")
    schedule("books", subject="a")
    assert backfill(control.schedules_of(job_type="rates", subject="b")).made == 3
    assert backfill(control.schedules_of(subject="a")).made == 6
    assert backfill(control.schedules_of()).made == 0
    with pytest.raises(UnknownJobType, match="Did you mean 'rates'"):
        backfill(control.schedules_of(job_type="rate"))


def test_the_cap_is_one_for_all_schedules_together() -> None:
    rows = [schedule(subject=str(n)) for n in range(4)]
    found = backfill(control.schedules_of(job_type="rates"), most=6)
    assert (found.made, found.is_capped, found.moved) == (6, True, [rows[0].pk, rows[1].pk])
    assert backfill(control.schedules_of(job_type="rates"), most=6).made == 6
    assert len(slots()) == 12


def test_a_look_costs_a_few_statements_however_many_schedules_there_are(
    django_assert_max_num_queries: Callable[[int], Any],
) -> None:
    for n in range(200):
        schedule(subject=str(n))
    with django_assert_max_num_queries(5):
        assert backfill(control.schedules_of(job_type="rates"), dry_run=True).made == 600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"end": 1}, "end= is in the future. Those slots will come by themselves"),
        ({"start": 1, "end": 0}, "start= is after end="),
        ({"most": 0}, "most=0 cannot be used: use a whole number from 1 to 10000"),
        ({"most": 10_001}, "use a whole number from 1"),
        ({"most": True}, "use a whole number"),
        ({"spread": "soon"}, "spread='soon' cannot be used"),
        ({"spread": -1}, "spread=-1 cannot be used"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str, dry_run: bool) -> None:
    row = schedule()
    with pytest.raises(OptionInvalid, match=message):
        backfill(row, **options, dry_run=dry_run)
    assert (Job.objects.count(), ControlEvent.objects.count()) == (0, 0)


@pytest.mark.parametrize("moment", [T.replace(tzinfo=None), "2026-01-01", None])
def test_a_moment_without_a_zone_is_refused(moment: Any) -> None:
    with pytest.raises(OptionInvalid, match=r"start=.* cannot be used"):
        control.backfill(schedule(), "ann", start=moment, end=T)


def test_a_range_that_nobody_can_look_through_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package gives the act under the name of its module.
    monkeypatch.setattr(import_module("jobs_app.lifecycle.control.backfill"), "MOST_LOOKED_AT", 5)
    row = schedule()
    assert backfill(row, -5).made == 5
    with pytest.raises(OptionInvalid, match=r"more than 5 slots\. Take a shorter time, or fewer schedules"):
        backfill(row, -6)


def test_what_cannot_be_made_is_skipped_with_the_reason_and_stops_no_other() -> None:
    bad, good = schedule(subject="bad", payload={"n": "three"}), schedule(subject="good")
    found = backfill(control.schedules_of(job_type="rates"))
    assert (found.made, found.moved) == (3, [good.pk])
    assert found.skipped[bad.pk].startswith("cannot make its jobs: job 'rates': n:")


def test_a_paused_schedule_can_be_backfilled_and_stays_paused() -> None:
    row = schedule(paused=True)
    assert backfill(row).made == 3
    row.refresh_from_db()
    assert row.paused


def test_a_key_that_lets_no_second_job_in_gets_one() -> None:
    job(name="exclusive", policy="exclusive")(lambda: None)
    row = schedule("exclusive")
    found = backfill(row)
    assert (found.slots, found.made) == (3, 1)
    found = backfill(row)
    assert (found.made, found.skipped) == (
        0,
        {row.pk: "got no job: its slots were made meanwhile, or another job holds its key"},
    )


def test_a_type_that_asks_for_a_permission_is_skipped_for_who_has_it_not() -> None:
    user = User.objects.create_user("ann")
    user.user_permissions.add(Permission.objects.get(codename="backfill_schedule"))
    books, rates = schedule("books"), schedule()
    with at(0):
        acted = control.backfill([books, rates], User.objects.get(), start=hours(-3)[0], end=T)
    assert (acted.moved, acted.skipped) == ([rates.pk], {books.pk: "needs the permission jobs_app.add_job"})
    assert {each.job_type for each in Job.objects.all()} == {"rates"}


def in_its_own_connection(act: Callable[[], int]) -> int:
    try:
        return act()
    finally:
        jobs_connection().close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("others", ["backfills", "ticks"])
def test_many_at_once_make_each_slot_once(others: str) -> None:
    for n in range(10):
        schedule(subject=str(n), next_run_at=hours(-9)[0], catch_up="all", catch_up_max=100)

    def fill() -> int:
        start, end = hours(-9, 0)
        return control.backfill(control.schedules_of(job_type="rates"), "ann", start=start, end=end).made

    def other() -> int:
        return fill() if others == "backfills" else len(tick(jobs_connection()).made)

    with frozen_clock(T), ThreadPoolExecutor(4) as pool:
        made = sum(pool.map(in_its_own_connection, [fill, other, fill, other]))
        made += len(tick(connection).made)
    assert made == Job.objects.count() == 100
    assert len(set(Job.objects.values_list("subject", "slot_at"))) == 100
