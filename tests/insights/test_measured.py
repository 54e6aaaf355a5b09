"""How long jobs take, from a bounded part of history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.insights import measured
from jobs_app.insights.measured import Duration, percentile
from tests.insights.planning import ran, schedule
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import T
from tests.lifecycle.test_plans import run

# As many as there are; of three types, and of fifty schedules each.
HISTORY = """
INSERT INTO jobs_app_jobrun (id, state, job_type, queue, priority, run_at, queued_at, started_at, finished_at,
                             max_attempts, payload, meta, schedule)
SELECT gen_random_uuid(), CASE WHEN n %% 5 = 0 THEN 'succeeded' ELSE 'cancelled' END, 'work-' || n %% 3, 'default', 0,
       {at}, {at}, {at}, {at}, 5, '{{}}', '{{}}', n %% 50
  FROM generate_series(1, %(count)s) AS n
"""


def of_type(job_type: str = "work") -> Duration | None:
    return measured.of_type(connection, job_type, now=T)


def of_schedules(*schedules: int) -> Duration | None:
    return measured.of_schedules(connection, schedules, now=T)


@pytest.mark.django_db
def test_half_and_95_of_100_runs_took_no_longer() -> None:
    ran("work", range(1, 101))
    ran("other", [1000])
    assert of_type() == Duration(runs=100, p50=50 * 60, p95=95 * 60)


@pytest.mark.django_db
def test_a_type_without_a_run_is_not_measured() -> None:
    ran("other", [1])
    assert of_type() is None


@pytest.mark.django_db
def test_failed_runs_took_their_time_and_cancelled_ones_do_not_count() -> None:
    ran("work", [4], state="failed")
    ran("work", [9], state="cancelled", ended_at=T - timedelta(hours=1))
    assert of_type() == Duration(runs=1, p50=240, p95=240)


@pytest.mark.django_db
def test_a_run_that_never_started_took_no_time() -> None:
    ran("work", [4], state="failed", started_at=None)
    assert of_type() is None


@pytest.mark.django_db
def test_only_the_last_days_count() -> None:
    ran("work", [1], ended_at=T - measured.LOOK_BACK)
    ran("work", [9], ended_at=T - measured.LOOK_BACK - timedelta(seconds=1))
    assert of_type() == Duration(runs=1, p50=60, p95=60)


@pytest.mark.django_db
def test_only_the_newest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "MOST_RUNS", 3)
    ran("work", [1, 2, 3, 99, 99])
    assert of_type() == Duration(runs=3, p50=120, p95=180)


@pytest.mark.django_db
def test_schedules_are_measured_together_where_they_ran_often_enough() -> None:
    first, second, other = (schedule("work", name, per_hour=1).pk for name in ("a", "b", "c"))
    ran("work", [1] * 10, schedule=first)
    ran("work", [3] * 9, schedule=second)
    ran("work", [9] * 30, schedule=other)
    assert of_schedules(first, second) is None
    ran("work", [5], schedule=second, ended_at=T - timedelta(hours=1))
    ran("work", [9], schedule=second, ended_at=T - timedelta(days=8))
    assert of_schedules(first, second) == Duration(runs=20, p50=60, p95=180)


@pytest.mark.django_db
def test_measuring_is_one_query_for_a_type_and_one_for_a_schedule(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    with django_assert_num_queries(1):
        of_type()
    with django_assert_num_queries(2):
        of_schedules(1, 2)


@given(seconds=st.lists(st.floats(0, 1000), min_size=1), share=st.floats(0.01, 1))
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(seconds: list[float], share: float) -> None:
    found = percentile(sorted(seconds), share)
    assert sum(each <= found for each in seconds) >= share * len(seconds)
    assert sum(each < found for each in seconds) < share * len(seconds)


@pytest.fixture(params=["never analysed", "analysed"])
def history(request: pytest.FixtureRequest, db: None, is_postgres: bool) -> Callable[[int], None]:
    if not is_postgres:
        pytest.skip("only PostgreSQL tells how it reads")

    def fill(count: int) -> None:
        run(HISTORY.format(at="%(now)s - n * interval '10 seconds'"), {"now": T, "count": count})
        if request.param == "analysed":
            run("ANALYZE jobs_app_jobrun")

    return fill


@pytest.mark.parametrize("count", [3_000, 30_000])
def test_measuring_reads_as_many_runs_as_it_shows_and_not_the_history(
    count: int, history: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "MOST_RUNS", 50)
    history(count)
    of_one_type, of_two_schedules = plans_of(lambda: of_type("work-1")), plans_of(lambda: of_schedules(7, 8))
    assert (of_one_type.indexes(), of_one_type.rows) == ({"jobs_app_run_type_newest"}, 50)
    assert (of_two_schedules.indexes(), of_two_schedules.rows) == ({"jobs_app_run_schedule"}, 100)
    assert of_one_type.disorder() == of_two_schedules.disorder() == []
    of_many = plans_of(lambda: measured.of_types(connection, ["work-0", "work-1"], now=T))
    assert (of_many.indexes(), of_many.rows, of_many.disorder()) == ({"jobs_app_run_type_newest"}, 100, [])


@pytest.mark.django_db
def test_many_types_are_measured_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "TYPES_PER_QUERY", 2)
    lengths = {"deal": [5, 1, 9], "retrieval": [2], "never": [], "metrics": list(range(1, 60))}
    for name, minutes in lengths.items():
        ran(name, minutes)
    ran("deal", [50], state="cancelled")
    found = measured.of_types(connection, list(lengths), now=T)
    assert found == {name: of_type(name) for name in lengths}
    assert found["never"] is None
