"""What schedules do, when they come next, and how their last runs ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.errors import UnknownJobType
from jobs_app.ids import slot_id
from jobs_app.insights import schedules
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import ScheduleState
from tests.lifecycle.history import finished
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
ALL = {"active", "paused", "disabled", "retired", "done"}


@pytest.fixture(autouse=True)
def rates() -> None:
    job(name="rates")(lambda: None)


def schedule(**columns: Any) -> ScheduleState:
    given = {"job_type": "rates", "interval_seconds": 3600, "next_run_at": T}
    return ScheduleState.objects.create(**(given | columns))


def ended(row: ScheduleState, slot: datetime, state: str = "succeeded", **columns: Any) -> None:
    run_id = slot_id(row.job_type, row.subject, row.name, slot)
    finished(0, state, id=run_id, job_type=row.job_type, schedule=row.pk, slot_at=slot, **columns)


STATES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("active", {}),
    "failing": ("active", {"failures": 1, "last_error": "ValueError: no"}),
    "paused": ("paused", {"paused": True}),
    "disabled": ("disabled", {"disabled": True, "last_error": "ValueError: no"}),
    "both": ("disabled", {"disabled": True, "paused": True, "last_error": "ValueError: no"}),
    "retired": ("retired", {"retired": True, "paused": True, "disabled": True, "next_run_at": None}),
    "unsourced": ("retired", {"retired": True, "paused": True, "origin": "source"}),
    "done": ("done", {"interval_seconds": None, "once_at": T, "next_run_at": None}),
    "done-paused": ("paused", {"interval_seconds": None, "once_at": T, "next_run_at": None, "paused": True}),
}


def test_a_schedule_is_in_one_state_and_is_found_by_it() -> None:
    for subject, (_, columns) in STATES.items():
        schedule(subject=subject, **columns)
    assert {row.subject: schedules.state_of(row) for row in schedules.find(connection)} == {
        subject: state for subject, (state, _) in STATES.items()
    }
    for state in ALL:
        found = {row.subject for row in schedules.find(connection, ScheduleFilter(state=state))}
        assert found == {subject for subject, (its, _) in STATES.items() if its == state}
    assert set(schedules.STATES) == ALL


def test_why_it_does_not_come_or_fails() -> None:
    rows = {subject: schedule(subject=subject, **columns) for subject, (_, columns) in STATES.items()}
    assert {subject: schedules.why(row) for subject, row in rows.items()} == {
        "plain": "",
        "failing": "ValueError: no",
        "paused": "",
        "disabled": "ValueError: no",
        "both": "ValueError: no",
        "retired": "code declares it no more",
        "unsourced": "its source has it no more",
        "done": "has had its last slot",
        "done-paused": "",
    }
    assert schedules.why(schedule(job_type="gone", retired=True)) == "its job type is gone from code"


def test_they_are_found_by_job_type_and_subject_in_the_order_of_their_names() -> None:
    for job_type, subject, name in [("rates", "b", ""), ("mail", "a", ""), ("rates", "a", "z"), ("rates", "a", "")]:
        schedule(job_type=job_type, subject=subject, name=name)

    def names(limit: int = 10, **wanted: Any) -> list[str]:
        return [str(row) for row in schedules.find(connection, ScheduleFilter(**wanted), limit=limit)]

    assert names() == ["mail a", "rates a", "rates a z", "rates b"]
    assert names(job_type="rates") == ["rates a", "rates a z", "rates b"]
    assert names(subject="a") == ["mail a", "rates a", "rates a z"]
    assert names(job_type="rates", subject="b", state="active") == ["rates b"]
    assert names(subject="") == []
    assert names(limit=2) == ["mail a", "rates a"]


def test_a_job_type_that_nobody_knows_is_an_error_and_one_without_schedules_is_not() -> None:
    assert schedules.find(connection, ScheduleFilter(job_type="rates")) == []
    with pytest.raises(UnknownJobType, match="Did you mean 'rates'"):
        schedules.find(connection, ScheduleFilter(job_type="rtes"))
    schedule(job_type="gone", retired=True)
    assert len(schedules.find(connection, ScheduleFilter(job_type="gone"))) == 1


def test_the_next_slots_are_those_that_come_if_nobody_changes_anything() -> None:
    assert schedules.next_slots(schedule(), count=3) == [T, T + HOUR, T + 2 * HOUR]
    daily = schedule(subject="daily", interval_seconds=None, cron="0 9 * * *", next_run_at=T)
    assert schedules.next_slots(daily, count=2) == [T, T + 21 * HOUR]
    once = schedule(subject="once", interval_seconds=None, once_at=T + HOUR, next_run_at=T + HOUR)
    assert schedules.next_slots(once) == [T + HOUR]
    for state in ("paused", "disabled", "retired"):
        assert schedules.next_slots(schedule(subject=state, **{state: True})) == []


@pytest.mark.spec("S0.23")
def test_the_last_run_is_that_of_the_newest_slot_that_has_ended() -> None:
    often, never = schedule(subject="often"), schedule(subject="never")
    ended(often, T + HOUR, "failed", finished_at=T + HOUR)
    ended(often, T, finished_at=T + 9 * HOUR)  # an older slot, made later by hand
    [(pk, run)] = schedules.last_runs(connection, [often, never]).items()
    assert (pk, run.state, run.finished_at) == (often.pk, "failed", T + HOUR)
    assert schedules.last_runs(connection, []) == {}


def test_a_page_costs_the_same_queries_for_one_row_and_for_many(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    rows = [schedule(subject=str(n)) for n in range(50)]
    for row in rows:
        ended(row, T)
    with django_assert_num_queries(3):
        found = schedules.find(connection)
        runs = schedules.last_runs(connection, found)
        assert {runs[row.pk].finished_at for row in found} == {T}


HISTORY = """
INSERT INTO jobs_app_jobrun (id, state, job_type, queue, priority, run_at, queued_at, finished_at, max_attempts,
                             payload, meta, schedule)
SELECT gen_random_uuid(), 'succeeded', 'rates', 'default', 0, %(at)s, %(at)s, %(at)s, 5, '{}', '{}',
       CASE WHEN n %% 2 = 0 THEN %(first)s + n %% 20 END
  FROM generate_series(1, 20000) AS n
"""


@pytest.mark.parametrize("is_analysed", [True, False])
def test_the_last_runs_are_read_by_a_step_into_their_index_however_long_the_history(
    is_analysed: bool, is_postgres: bool
) -> None:
    if not is_postgres:
        pytest.skip("only PostgreSQL tells what a statement has read")
    rows = [schedule(subject=str(n)) for n in range(20)]
    with connection.cursor() as cursor:
        cursor.execute(HISTORY, {"at": T, "first": rows[0].pk})
        if is_analysed:
            cursor.execute("ANALYZE jobs_app_jobrun; ANALYZE jobs_app_schedulestate")
    plans = plans_of(lambda: schedules.last_runs(connection, rows))
    assert "jobs_app_run_schedule" in plans.indexes()
    assert plans.rows <= 3 * len(rows)


def test_one_whose_cron_is_none_has_no_slots_to_show_after_the_one_that_fails() -> None:
    assert schedules.next_slots(schedule(interval_seconds=None, cron="now and then")) == [T]
