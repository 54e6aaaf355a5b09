"""Outages, rates and registries, told as people would: what a scheduler makes of them, by the numbers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job, subjects
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ControlEvent, Job, ScheduleState
from jobs_app.scheduler.subjects import SubjectsSynced, sync_subjects
from jobs_app.scheduler.sync import sync_declared
from jobs_app.scheduler.tick import tick
from jobs_app.sources import sources
from tests.scheduler.schedules import NOON, after, schedule, tick_at

pytestmark = pytest.mark.django_db

HOUR = 3600.0


def declare_deal(**options: Any) -> None:
    @job(name="deal", preset="rate", subject="provider", **options)
    def deal(provider: str = "f01") -> None: ...


@pytest.fixture(autouse=True)
def deal() -> None:
    declare_deal()


def made_at(seconds: float) -> list[float]:
    """When the jobs that a tick makes then start, in seconds after it, oldest slot first."""
    ids = [made.run_id for made in tick_at(seconds).made]
    jobs = sorted(Job.objects.filter(pk__in=ids), key=lambda live: live.slot_at or NOON)
    return [(live.run_at - after(seconds)).total_seconds() for live in jobs]


def state() -> tuple[float | None, float | None]:
    """When it is next due and when it last enqueued, in seconds after noon."""
    row = ScheduleState.objects.get()
    return tuple(None if at is None else (at - NOON).total_seconds() for at in (row.next_run_at, row.last_run_at))  # type: ignore[return-value]


@pytest.mark.spec("A0.2", "S0.20", "S0.21", "S0.22", "S0.27", "S0.28", "S0.R5")
def test_after_three_hours_away_the_missed_slots_come_under_the_cap_and_spread() -> None:
    schedule(
        "deal",
        interval_seconds=900,
        next_run_at=after(-3 * HOUR),
        catch_up="all",
        catch_up_max=10,
        spread_seconds=3 * HOUR,
    )
    assert made_at(0) == [1080 * place for place in range(10)]
    assert state() == (-1800, 0)
    assert made_at(300) == [0, 3600, 7200]
    assert state() == (900, 300)
    assert made_at(600) == []
    slots = sorted(live.slot_at for live in Job.objects.all() if live.slot_at)
    assert slots == [after(-3 * HOUR + 900 * place) for place in range(13)]


@pytest.mark.spec("A0.2", "S0.R5")
def test_half_as_many_slots_are_spread_over_the_same_time() -> None:
    schedule("deal", interval_seconds=1800, next_run_at=after(-3 * HOUR), catch_up="all", spread_seconds=3 * HOUR)
    assert made_at(0) == [0, 1543, 3086, 4629, 6172, 7715, 9258]


@pytest.mark.spec("A0.3", "S0.21", "S0.28")
def test_a_cap_of_three_takes_three_and_moves_by_three() -> None:
    schedule("deal", interval_seconds=1, catch_up="all", catch_up_max=3, spread_seconds=HOUR)
    assert made_at(10) == [0, 1200, 2400]
    assert state() == (3, 10)


@pytest.mark.spec("A0.3", "S0.22", "S0.23")
@pytest.mark.parametrize(("fails_at", "moved", "last"), [(3, 2, 10), (1, 0, None)])
def test_a_slot_that_cannot_be_enqueued_keeps_the_schedule_there(fails_at: int, moved: int, last: float | None) -> None:
    """The oldest come first, and the first failure ends the turn: what comes after it waits with it."""
    calls: list[int] = []

    def provider_of(payload: dict[str, Any]) -> str:
        calls.append(1)
        if len(calls) == fails_at:
            raise RuntimeError("no")
        return "f01"

    @job(name="shaky", subject=provider_of)
    def shaky() -> None: ...

    schedule("shaky", interval_seconds=1, catch_up="all", catch_up_max=3, spread_seconds=HOUR)
    tick_at(10)
    assert Job.objects.count() == moved
    assert state() == (moved, last)
    tick_at(11)
    slots = sorted((live.slot_at - NOON).total_seconds() for live in Job.objects.all() if live.slot_at)
    assert slots == list(range(moved + 3))


@pytest.mark.spec("S0.R7", "S0.24")
def test_global_work_is_not_replayed_after_an_outage() -> None:
    @job(name="metrics", per_hour=2)
    def metrics() -> None: ...

    with frozen_clock(NOON):
        sync_declared(connection)
        assert ScheduleState.objects.get().catch_up == "once"
        assert len(tick(connection).made) == 1
    assert len(tick_at(5 * HOUR + 60).made) == 1
    assert state() == (5.5 * HOUR, 5 * HOUR + 60)
    event = ControlEvent.objects.get(action="skip_slots")
    assert (event.target, event.skipped) == ("metrics", 9)


@pytest.mark.spec("S0.30")
def test_a_larger_cap_shows_the_backlog_sooner_and_is_the_same_backlog() -> None:
    for name, most in (("a", 1), ("b", 100)):
        schedule("deal", subject=name, interval_seconds=60, catch_up="all", catch_up_max=most, spread_seconds=0)
    first = tick_at(600)
    assert sum(made.schedule == "deal b" for made in first.made) == 11
    assert sum(made.schedule == "deal a" for made in first.made) == 1
    for _ in range(10):
        tick_at(600)
    counts = [Job.objects.filter(subject=name).count() for name in ("a", "b")]
    assert counts == [11, 11]


@pytest.mark.spec("A0.7", "S0.13", "S0.14", "S0.15", "S0.16", "S0.R1", "S0.R2", "S0.R6", "S0.47")
def test_a_registry_of_two_providers_from_the_first_tick_to_a_resume() -> None:
    registered = ["A", "B"]
    declare_deal(per_hour=4)

    @job(name="retrieval", preset="rate", per_hour=6, subject="provider")
    def retrieval(provider: str) -> None: ...

    for name in ("metrics", "metrics_cleanup"):
        job(name=name, every="7d")(lambda: None)
    subjects("deal", "retrieval")(lambda: list(registered))

    def pass_at(seconds: float) -> SubjectsSynced:
        source = sources.of("deal")
        assert source is not None
        with frozen_clock(after(seconds)):
            sync_declared(connection)
            found = sync_subjects(connection, source)
            tick(connection)
        return found

    pass_at(0)
    names = ["deal", "retrieval", "metrics", "metrics_cleanup"]
    rows = {str(row) for row in ScheduleState.objects.filter(job_type__in=names)}
    assert rows == {"deal A", "deal B", "retrieval A", "retrieval B", "metrics", "metrics_cleanup"}
    registered.remove("B")
    assert pass_at(60).deleted == 2
    registered.clear()
    assert pass_at(120).is_empty
    assert ScheduleState.objects.filter(subject="A").count() == 2
    registered.append("A")
    with frozen_clock(after(180)):
        assert len(control.pause_schedule(control.schedules_of(subject="A"), "ann").moved) == 2

    declare_deal(per_hour=2)
    before = Job.objects.count()
    assert pass_at(240).changed == 1
    row = ScheduleState.objects.get(job_type="deal", subject="A")
    assert (row.paused, row.interval_seconds) == (True, 1800)
    assert Job.objects.count() == before
    with frozen_clock(after(3 * HOUR)):
        control.resume_schedule(row.pk, "ann")
    pass_at(3 * HOUR)
    pass_at(3 * HOUR + 60)
    assert Job.objects.filter(job_type="deal", subject="A").count() == 2  # the first slot, and the one of the resume


@pytest.mark.spec("S0.43", "S0.29", "S0.19", "A0.8")
def test_two_deployments_stand_apart_by_their_phase_and_start_at_random_within_the_jitter(settings: Any) -> None:
    job(name="first", every="1h")(lambda: None)
    settings.JOBS = {"SCHEDULE_PHASE_SECONDS": 0, "SCHEDULE_JITTER_SECONDS": 300}
    with frozen_clock(NOON):
        sync_declared(connection)
    job(name="second", every="1h")(lambda: None)
    settings.JOBS = {"SCHEDULE_PHASE_SECONDS": 1200, "SCHEDULE_JITTER_SECONDS": 300}
    with frozen_clock(NOON):
        sync_declared(connection)
    starts = {row.job_type: row.next_run_at for row in ScheduleState.objects.filter(job_type__in=["first", "second"])}
    assert starts == {"first": NOON, "second": NOON + timedelta(minutes=20)}
    for hour in range(50):
        tick_at(hour * HOUR + 1200)
    late = [
        (live.run_at - live.queued_at).total_seconds() for live in Job.objects.filter(job_type__in=["first", "second"])
    ]
    assert len(late) == 100
    assert all(0 <= seconds <= 300 for seconds in late)
    assert len(set(late)) > 90


@pytest.mark.spec("A0.4", "S0.25", "S0.26", "S0.27", "S0.R18")
def test_around_a_window_slots_are_held_from_the_longest_timeout_before_it_and_come_after_it(settings: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": [{"start": "07:00", "minutes": 20, "job_types": ["deal", "retrieval"]}]}
    declare_deal(timeout=360)

    @job(name="retrieval", timeout=60)
    def retrieval() -> None: ...

    @job(name="metrics", timeout=3600)
    def metrics() -> None: ...

    def pass_at(clock: str) -> list[str]:
        moment = datetime.fromisoformat(f"2026-01-02T{clock}+00:00")
        with frozen_clock(moment):
            return [f"{made.schedule} {made.slot:%H:%M}" for made in tick(connection).made]

    due = datetime.fromisoformat("2026-01-02T06:54:00+00:00")
    for name in ("deal", "retrieval", "metrics"):
        schedule(name, interval_seconds=300, next_run_at=due, catch_up="all", spread_seconds=0, catch_up_max=3)
    assert sorted(pass_at("06:54:00")) == ["deal 06:54", "metrics 06:54", "retrieval 06:54"]  # ends as it opens
    ScheduleState.objects.update(next_run_at=due + timedelta(seconds=1), last_slot=due)
    assert pass_at("06:54:01") == ["metrics 06:54"]  # no window covers it
    assert {made for clock in ("06:59:59", "07:00:00", "07:19:59") for made in pass_at(clock)} == {
        "metrics 06:59",
        "metrics 07:04",
        "metrics 07:09",
        "metrics 07:14",
    }
    after_it = pass_at("07:20:00")
    assert [made for made in after_it if "metrics" not in made] == [
        *(f"deal {clock}" for clock in ("06:54", "06:59", "07:04")),
        *(f"retrieval {clock}" for clock in ("06:54", "06:59", "07:04")),
    ]
    assert [made for made in pass_at("07:20:01") if "deal" in made] == ["deal 07:09", "deal 07:14", "deal 07:19"]


@pytest.mark.spec("S0.R7", "S0.R18")
@pytest.mark.parametrize(("catch_up", "made"), [("once", ["07:15"]), ("skip", [])])
def test_after_a_window_work_by_the_clock_comes_once_or_not_at_all(
    catch_up: str, made: list[str], settings: Any
) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "07:00"}
    seven = datetime.fromisoformat("2026-01-02T07:00:00+00:00")
    row = schedule("deal", interval_seconds=None, cron="*/5 * * * *", next_run_at=seven, catch_up=catch_up)
    with frozen_clock(seven + timedelta(minutes=10)):
        assert not tick(connection).made
    with frozen_clock(seven + timedelta(minutes=20)):
        ScheduleState.objects.filter(pk=row.pk).update(cron="15 * * * *")
        assert [f"{one.slot:%H:%M}" for one in tick(connection).made] == made
    row.refresh_from_db()
    assert row.next_run_at == seven + timedelta(hours=1, minutes=15)
