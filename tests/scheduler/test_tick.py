"""Due schedules become jobs: each slot one, whatever fails and whoever else ticks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import KeyTaken
from jobs_app.ids import slot_id
from jobs_app.lifecycle.database import frozen_clock, jobs_connection
from jobs_app.lifecycle.enqueue import enqueue as enqueue_all
from jobs_app.lifecycle.new_job import Enqueued, NewJob
from jobs_app.models import Job, ScheduleState
from jobs_app.scheduler import tick as tick_module
from jobs_app.scheduler.tick import tick
from tests.by_hand import HandWorker
from tests.scheduler.schedules import NOON, after, schedule, tick_at


@pytest.fixture(autouse=True)
def beat() -> Any:
    @job
    def beat(n: int = 0) -> None: ...

    return beat


def slots() -> list[float]:
    """Of the jobs that wait, in seconds after noon."""
    return sorted((slot - NOON).total_seconds() for slot in Job.objects.values_list("slot_at", flat=True) if slot)


def next_run_at() -> float:
    moment = ScheduleState.objects.get().next_run_at
    assert moment is not None
    return (moment - NOON).total_seconds()


@pytest.mark.django_db
@pytest.mark.spec("S0.6", "S0.23")
def test_a_due_schedule_becomes_one_job_and_notes_when() -> None:
    row = schedule("beat", payload={"n": 3})
    ticked = tick_at(0.5)
    live = Job.objects.get()
    assert (live.job_type, live.payload, live.state, live.schedule) == ("beat", {"n": 3}, "queued", row.pk)
    assert (live.slot_at, live.run_at, live.queued_at) == (NOON, after(0.5), after(0.5))
    row.refresh_from_db()
    assert (row.last_run_at, row.last_slot, row.next_run_at) == (after(0.5), NOON, after(15))
    assert (ticked.rows, ticked.failed.total()) == (1, 0)
    assert [(made.run_id, made.schedule, made.slot) for made in ticked.made] == [(live.id, "beat", NOON)]


@pytest.mark.django_db
@pytest.mark.spec("S0.24")
def test_a_slot_is_not_made_twice() -> None:
    schedule("beat")
    for seconds in (0, 1, 14.9):
        tick_at(seconds)
    assert slots() == [0]


@pytest.mark.django_db
@pytest.mark.spec("S0.22")
def test_slots_stay_on_their_grid_however_late_the_ticks_are() -> None:
    schedule("beat")
    for seconds in (2, 17.5, 31, 44, 46):
        tick_at(seconds)
    assert slots() == [0, 15, 30, 45]
    assert next_run_at() == 60


@pytest.mark.django_db
def test_after_downtime_the_newest_slot_is_made_and_the_missed_ones_are_not() -> None:
    schedule("beat")
    tick_at(0)
    tick_at(3601)
    assert slots() == [0, 3600]
    assert next_run_at() == 3615


@pytest.mark.django_db
def test_a_clock_that_goes_back_makes_no_slot_twice() -> None:
    schedule("beat")
    tick_at(60)
    tick_at(15)
    ScheduleState.objects.update(next_run_at=NOON)
    tick_at(31)
    assert slots() == [60]
    assert next_run_at() == 75


@pytest.mark.django_db
@pytest.mark.parametrize("has_ended", [False, True])
def test_a_slot_of_a_schedule_made_anew_keeps_its_job(has_ended: bool) -> None:
    schedule("beat")
    tick_at(0)
    if has_ended:
        with frozen_clock(after(1)):
            assert HandWorker().work() is not None
    ScheduleState.objects.all().delete()
    schedule("beat")
    ticked = tick_at(1)
    assert (ticked.rows, ticked.failed.total(), ticked.made) == (1, 0, [])
    assert Job.objects.count() == (0 if has_ended else 1)
    assert next_run_at() == 15


@pytest.mark.django_db
@pytest.mark.spec("S0.22")
def test_a_row_that_fails_keeps_its_slot_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    schedule("beat", subject="bad", payload={"n": "three"})
    schedule("beat", subject="good")
    with caplog.at_level(logging.ERROR, "jobs_app"):
        first, second = tick_at(1), tick_at(2)
    assert (first.rows, first.failed.total(), [made.schedule for made in first.made]) == (2, 1, ["beat good"])
    assert (second.rows, second.failed.total()) == (1, 1)
    bad = ScheduleState.objects.get(subject="bad")
    assert (bad.next_run_at, bad.failures, bad.last_run_at) == (NOON, 2, None)
    assert "PayloadInvalid" in bad.last_error
    assert len(caplog.records) == 1, "the same failure is told once"
    ScheduleState.objects.filter(subject="bad").update(payload={"n": 3})
    tick_at(3)
    bad.refresh_from_db()
    assert (bad.next_run_at, bad.failures, bad.last_error) == (after(15), 0, "")


@pytest.mark.django_db
def test_many_failing_rows_do_not_hide_the_ones_behind_them() -> None:
    for n in range(5):
        schedule("beat", subject=str(n), payload={"unknown": 1}, next_run_at=after(-n - 1))
    schedule("beat", subject="good")
    ticked = tick_at(0, limit=2)
    assert (ticked.rows, ticked.failed.total(), len(ticked.made)) == (6, 5, 1)


@pytest.mark.django_db
@pytest.mark.parametrize("fault", ["SELECT nothing FROM nowhere", "INSERT INTO jobs_app_job (id) VALUES (NULL)"])
def test_a_row_that_the_database_refuses_stops_no_other(fault: str) -> None:
    def subject_of(payload: dict[str, Any]) -> str:
        if payload.get("n"):
            with connection.cursor() as cursor:
                cursor.execute(fault)
        return "fine"

    @job(subject=subject_of)
    def asks(n: int = 0) -> None: ...

    schedule("asks", name="bad", payload={"n": 1}, next_run_at=after(-1))
    schedule("asks", name="good")
    ticked = tick_at(1)
    assert [made.schedule for made in ticked.made] == ["asks good"]
    assert ticked.failed.total() == 1
    assert ScheduleState.objects.get(name="bad").last_error
    assert Job.objects.get().subject == "fine"


@pytest.mark.django_db
def test_a_key_that_is_not_to_be_had_stops_no_other_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def enqueue(jobs: Sequence[NewJob]) -> list[Enqueued]:
        if any(new.subject == "held" for new in jobs):
            raise KeyTaken("try again")
        return enqueue_all(jobs)

    monkeypatch.setattr("jobs_app.lifecycle.slots.enqueue", enqueue)
    for subject in ("held", "free"):
        schedule("beat", subject=subject)
    ticked = tick_at(0)
    assert ([made.schedule for made in ticked.made], ticked.failed.total()) == (["beat free"], 1)
    monkeypatch.undo()
    assert [(made.schedule, made.slot) for made in tick_at(1).made] == [("beat held", NOON)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("broken", ["advance", "enqueue_slots"])
def test_job_and_advance_are_stored_together_or_not_at_all(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule("beat")
    with monkeypatch.context() as patch:
        patch.setattr(tick_module, broken, _crash)
        with pytest.raises(KeyboardInterrupt):
            tick_at(0)
    assert (Job.objects.count(), next_run_at()) == (0, 0)
    tick_at(1)
    assert (slots(), next_run_at()) == ([0], 15)


def _crash(*args: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.django_db
def test_what_a_batch_made_can_be_noted_and_is_then_not_kept() -> None:
    for n in range(5):
        schedule("beat", subject=str(n))
    noted: list[int] = []
    ticked = tick_at(0, limit=2, note=lambda made: noted.append(len(made)))
    assert (noted, ticked.made, ticked.rows) == ([2, 2, 1], [], 5)


@pytest.mark.django_db
def test_it_stops_between_batches() -> None:
    for n in range(6):
        schedule("beat", subject=str(n))
    answers = iter([True, True, False])
    assert tick_at(0, limit=2, go_on=lambda: next(answers)).rows == 4
    assert tick_at(0).rows == 2


@pytest.mark.django_db
@pytest.mark.spec("S0.21")
def test_a_row_that_is_behind_has_one_turn_in_a_tick_however_many_batches_that_has() -> None:
    for n in range(3):
        schedule("beat", subject=str(n), catch_up="all", catch_up_max=2)
    ticked = tick_at(60, limit=1)
    assert (ticked.rows, len(ticked.made)) == (3, 6)
    assert len(tick_at(61, limit=1).made) == 6


@pytest.mark.django_db
def test_a_tick_costs_the_same_for_one_row_and_for_hundreds(django_assert_num_queries: Callable[[int], Any]) -> None:
    for n in range(300):
        schedule("beat", subject=str(n))
    with frozen_clock(NOON), django_assert_num_queries(9):
        # Windows, lock, savepoint, a look for known slots, insert, release, advance; two for the test's transaction.
        assert len(tick(connection).made) == 300


@pytest.mark.django_db(transaction=True)
def test_schedulers_at_once_make_each_slot_once() -> None:
    for n in range(200):
        schedule("beat", subject=str(n), next_run_at=after(-n))

    def run(_: int) -> int:
        try:
            return len(tick(jobs_connection(), limit=7).made)
        finally:
            jobs_connection().close()

    with frozen_clock(NOON), ThreadPoolExecutor(6) as pool:
        made = sum(pool.map(run, range(6)))
        while more := len(tick(connection).made):
            made += more
    assert made == Job.objects.count() == 200
    expected = {slot_id("beat", str(n), "", after(-n % 15 - (15 if n % 15 else 0))) for n in range(200)}
    assert set(Job.objects.values_list("id", flat=True)) == expected
