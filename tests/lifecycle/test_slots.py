"""The job of a slot: one for each, whoever makes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import PayloadInvalid, UnknownJobType
from jobs_app.ids import slot_id
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.lifecycle.slots import SlotDrafts, enqueue_slots, known_slots
from jobs_app.models import Job, JobRun, ScheduleState
from tests.by_hand import HandWorker
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def beat() -> None:
    @job(name="beat", queue="beats", priority=3)
    def beat(n: int = 0) -> None: ...


def schedule(**columns: Any) -> ScheduleState:
    return ScheduleState.objects.create(**{"job_type": "beat", "interval_seconds": 60, "next_run_at": T} | columns)


def slot(number: int) -> datetime:
    return T + timedelta(minutes=number)


def drafts(row: ScheduleState, *numbers: int, delay: float = 0.0) -> list[NewJob]:
    made = SlotDrafts()
    return [made.job(row, slot(number), delay) for number in numbers]


def stored(row: ScheduleState, *numbers: int) -> list[int]:
    """Which of these slots got a job now."""
    jobs = drafts(row, *numbers)
    with at(0):
        made = enqueue_slots(connection, jobs)
    return [number for number, job in zip(numbers, jobs, strict=True) if job.id in made]


def test_it_is_a_job_of_its_type_with_what_the_schedule_says() -> None:
    row = schedule(subject="shop-7", name="second", payload={"n": 3})
    [draft] = drafts(row, 1, delay=90)
    assert draft.id == slot_id("beat", "shop-7", "second", slot(1))
    with at(0):
        assert enqueue_slots(connection, [draft]) == {draft.id}
    live = Job.objects.get()
    assert (live.queue, live.priority, live.subject, live.payload) == ("beats", 3, "shop-7", {"n": 3})
    assert (live.schedule, live.slot_at, live.run_at) == (row.pk, slot(1), T + timedelta(seconds=90))


def test_the_subject_of_the_payload_is_used_where_the_schedule_has_none() -> None:
    job(name="shops", subject="shop")(lambda shop="": None)
    rows = [schedule(job_type="shops", subject=subject, payload={"shop": "s-1"}) for subject in ("", "s-2")]
    assert [draft.subject for row in rows for draft in drafts(row, 0)] == ["s-1", "s-2"]


def test_what_cannot_be_enqueued_is_an_error_of_its_row() -> None:
    with pytest.raises(PayloadInvalid, match="job 'beat': n:"):
        drafts(schedule(payload={"n": "three"}), 0)
    with pytest.raises(UnknownJobType):
        drafts(schedule(job_type="gone"), 0)


def test_a_slot_gets_one_job_while_that_waits_runs_and_when_it_has_ended() -> None:
    row = schedule()
    assert stored(row, 1) == [1]
    assert stored(row, 0, 1, 2) == [0, 2]
    with at(1):
        [running] = HandWorker().claim(limit=1)
        assert stored(row, 0, 1, 2) == []
    with at(2):
        worker = HandWorker()
        assert worker.work() is not None
    assert (Job.objects.count(), JobRun.objects.count()) == (2, 1)
    assert stored(row, 0, 1, 2, 3) == [3]
    assert running.id in known_slots(connection, [running.id])


def test_the_same_moment_of_another_schedule_is_another_slot() -> None:
    assert stored(schedule(), 0) == [0]
    assert stored(schedule(name="second"), 0) == [0]
    assert stored(schedule(subject="x"), 0) == [0]


def test_a_key_that_lets_no_second_one_in_gets_one() -> None:
    job(name="alone", policy="exclusive")(lambda: None)
    row = schedule(job_type="alone")
    assert stored(row, 0, 1) == [0]
    assert stored(row, 2) == []
    assert Job.objects.get().slot_at == slot(0)


def test_known_are_those_that_live_and_those_of_history() -> None:
    row = schedule()
    jobs = drafts(row, 0, 1, 2)
    stored(row, 0, 1)
    with at(1):
        HandWorker().work()
    assert (Job.objects.count(), JobRun.objects.count()) == (1, 1)
    assert known_slots(connection, [job.id for job in jobs]) == {jobs[0].id, jobs[1].id}
    assert known_slots(connection, []) == set()


def test_hundreds_are_stored_by_a_look_and_an_insert(django_assert_max_num_queries: Callable[[int], Any]) -> None:
    row = schedule()
    jobs = drafts(row, *range(300))
    with django_assert_max_num_queries(4):
        assert len(enqueue_slots(connection, jobs)) == 300
