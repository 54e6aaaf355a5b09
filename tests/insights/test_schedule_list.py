"""Schedules page by page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights import schedule_list
from jobs_app.insights.schedule_list import SchedulePage
from jobs_app.lifecycle.schedule_filter import ScheduleFilter
from jobs_app.models import ScheduleState
from tests.lifecycle.history import finished
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

HOSTILE = ['a"b', "a'b", "a/b", "a\\b", "ä%_", "日本", "[1,2]"]


@pytest.fixture(autouse=True)
def rates() -> None:
    job(name="rates")(lambda: None)


def schedules(*subjects: str, **columns: Any) -> None:
    given = {"job_type": "rates", "interval_seconds": 60, "next_run_at": T} | columns
    ScheduleState.objects.bulk_create([ScheduleState(subject=subject, **given) for subject in subjects])


def page(limit: int = 2, **options: Any) -> SchedulePage:
    with at(0):
        return schedule_list.page(connection, ScheduleFilter(), limit=limit, **options)


def subjects_of(found: SchedulePage) -> list[str]:
    return [line.row.subject for line in found.lines]


def walked(limit: int) -> list[list[str]]:
    pages, after = [], ""
    while True:
        found = page(limit, after=after)
        pages.append(subjects_of(found))
        if not found.last:
            return pages
        after = found.last


def test_pages_follow_each_other_without_gap_or_repetition() -> None:
    schedules("a", "b", "c", "d", "e")
    assert walked(2) == [["a", "b"], ["c", "d"], ["e"]]
    assert walked(5) == [["a", "b", "c", "d", "e"]]


def test_a_page_leads_back_to_the_one_before() -> None:
    schedules("a", "b", "c", "d", "e")
    first = page()
    assert first.first == ""
    third = page(after=page(after=first.last).last)
    second = page(before=third.first)
    assert subjects_of(second) == ["c", "d"]
    assert second.last
    start = page(before=second.first)
    assert subjects_of(start) == ["a", "b"]
    assert start.first == ""


def test_any_name_can_be_the_end_of_a_page() -> None:
    schedules(*HOSTILE)
    assert sorted(name for names in walked(1) for name in names) == sorted(HOSTILE)


@pytest.mark.parametrize("mark", ["x", "[", "[1,2,3]", '["a"]', '["a","b","\\u0000"]', '["a","b","\\ud800"]', "{}"])
def test_a_mark_that_nobody_made_means_the_first_page(mark: str) -> None:
    schedules("a")
    assert subjects_of(page(after=mark)) == subjects_of(page(before=mark)) == ["a"]


def test_a_line_tells_state_lag_and_the_last_run() -> None:
    schedules("late", next_run_at=T - timedelta(minutes=5))
    schedules("paused", paused=True, next_run_at=T - timedelta(minutes=5))
    schedules("soon", next_run_at=T - timedelta(seconds=30))
    row = ScheduleState.objects.get(subject="late")
    run = finished(0, "failed", schedule=row.pk, job_type="rates")
    late, paused, soon = page(5).lines
    assert (late.state, late.overdue, late.last_run and late.last_run.pk) == ("active", 300, run)
    assert (paused.state, paused.overdue, paused.next_at) == ("paused", None, None)
    assert (soon.overdue, soon.last_run) == (None, None)


def test_a_page_takes_the_same_queries_for_one_row_and_for_fifty(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    schedules(*(f"s{n:03}" for n in range(60)))
    for pk in ScheduleState.objects.values_list("pk", flat=True):
        finished(0, schedule=pk, job_type="rates", attempts=0)
    for limit in (1, 50):
        with django_assert_num_queries(3):
            assert all(line.last_run for line in page(limit).lines)


def test_what_an_act_would_meet_is_counted_up_to_a_limit() -> None:
    schedules(*(f"s{n:02}" for n in range(12)))
    schedules("p", paused=True)
    found = schedule_list.matched(connection, ScheduleFilter(job_type="rates"))
    assert (found.count, found.is_capped, found.paused) == (13, False, 1)
    assert [row.subject for row in found.sample] == ["p", *(f"s{n:02}" for n in range(9))]
    capped = schedule_list.matched(connection, ScheduleFilter(job_type="rates"), most=5)
    assert (capped.count, capped.is_capped) == (5, True)


def test_a_page_deep_in_the_list_is_one_step_into_an_index(is_postgres: bool) -> None:
    if not is_postgres:
        pytest.skip("only PostgreSQL tells what a statement has read")
    schedules(*(f"s{n:05}" for n in range(5000)))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_app_schedulestate")
    plans = plans_of(lambda: page(50, after='["rates","s04000",""]'))
    assert "jobs_app_schedule_unique" in plans.indexes()
    assert plans.rows <= 200
