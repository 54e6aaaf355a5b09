"""Does it fit, by what schedules ask for and what history measured?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.capacity import Load, TypeCapacity
from jobs_app.insights import capacity
from jobs_app.insights.capacity import MeasuredPool
from jobs_app.insights.measured import Duration
from tests.insights.planning import EveryMinutes, ran, schedule, worker
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import at

pytestmark = pytest.mark.django_db

TYPES = ("deal", "retrieval", "metrics")


def work() -> None: ...


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    with at(0):
        yield


@pytest.fixture(autouse=True)
def types() -> None:
    """As in the worked example: what is about a provider takes turns by it."""
    for name in ("deal", "retrieval"):
        job(name=name, queue="sp.work", policy="singleton")(work)
    job(name="metrics", queue="metrics")(work)


@pytest.fixture
def providers() -> None:
    """The worked example: 18 of them, with 4 deals of 5 minutes and 6 retrievals of 2 minutes an hour each."""
    for number in range(18):
        schedule("deal", f"sp-{number}", per_hour=4)
        schedule("retrieval", f"sp-{number}", per_hour=6)
    ran("deal", [5] * 3)
    ran("retrieval", [2] * 3)


@pytest.fixture
def workers() -> None:
    for number in range(5):
        worker(f"worker-{number}", 20, *TYPES)


def the_pool(**options: Any) -> MeasuredPool:
    return capacity.of_pool(connection, **options)


@pytest.mark.usefixtures("providers")
@pytest.mark.spec("S0.39")
def test_a_subjects_load_is_measured() -> None:
    found = capacity.of_subject(connection, "sp-7")
    assert [(each.job_type, each.per_hour, each.minutes, each.load) for each in found.demands] == [
        ("deal", 4, 5, 20),
        ("retrieval", 6, 2, 12),
    ]
    assert (found.load, found.unmeasured) == (Load(32, 60), [])
    assert found.verdict == "drains: 32 of 60 minutes an hour are used, 28 are left"


@pytest.mark.usefixtures("providers")
@pytest.mark.spec("S0.39")
def test_a_subject_that_is_slower_than_the_others_is_told_by_its_own_runs() -> None:
    slow = schedule("deal", "slow", per_hour=4)
    ran("deal", [20] * 19, schedule=slow.pk)
    assert capacity.of_subject(connection, "sp-7").demands[0].minutes == 20  # they are runs of the type too
    ran("deal", [5] * 500)
    assert capacity.of_subject(connection, "slow").load == Load(20, 60)
    ran("deal", [20], schedule=slow.pk)
    found = capacity.of_subject(connection, "slow")
    assert found.demands[0].duration == Duration(runs=20, p50=1200, p95=1200)
    assert found.verdict == "can never catch up: 80 of 60 minutes an hour are needed, 20 are missing"


@pytest.mark.spec("S0.39")
def test_a_subject_whose_jobs_run_beside_each_other_is_limited_by_the_pool_only() -> None:
    schedule("metrics", "sp-1", per_hour=10)
    ran("metrics", [9])
    found = capacity.of_subject(connection, "sp-1")
    assert found.load == Load(90, None)
    assert found.load.drains


def test_schedules_of_one_type_are_added_up_and_crons_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.cron.parse", EveryMinutes)
    schedule("deal", "sp-1", per_hour=4)
    schedule("deal", "sp-1", name="by night", cron="*/20")
    [demand] = capacity.of_subject(connection, "sp-1", minutes={"deal": 2}).demands
    assert (demand.per_hour, demand.load) == (7, 14)


def test_what_was_never_measured_is_said_and_not_guessed() -> None:
    schedule("deal", "sp-1", per_hour=4)
    schedule("retrieval", "sp-1", per_hour=6)
    ran("deal", [5])
    found = capacity.of_subject(connection, "sp-1")
    assert (found.load, found.unmeasured) == (Load(20, 60), ["retrieval"])
    assert found.demands[1].duration is found.demands[1].minutes is found.demands[1].load is None
    assert found.verdict.endswith("40 are left; without retrieval, of which no run was measured")
    by_hand = capacity.of_subject(connection, "sp-1", minutes={"retrieval": 2})
    assert (by_hand.load, by_hand.unmeasured) == (Load(32, 60), [])


@pytest.mark.usefixtures("providers")
def test_minutes_that_are_given_win_over_those_that_were_measured() -> None:
    assert capacity.of_subject(connection, "sp-1", minutes={"deal": 12, "retrieval": 3}).load == Load(66, 60)


def test_a_subject_without_schedules_asks_for_nothing() -> None:
    assert capacity.of_subject(connection, "nobody").load == Load(0, 60)
    with pytest.raises(ValueError, match="a subject has a name"):
        capacity.of_subject(connection, "")


@pytest.mark.usefixtures("providers", "workers")
@pytest.mark.spec("S0.40")
def test_a_type_is_measured_against_the_slots_that_may_run_it() -> None:
    found = capacity.of_type(connection, "deal")
    assert (found.per_hour, found.subjects, found.slots, found.minutes) == (72, 18, 100, 5)
    assert found.load == Load(360, 6000)
    assert found.capacity == TypeCapacity(job_type="deal", per_hour=1200, most_subjects=300)
    fewer = capacity.of_type(connection, "deal", slots=50)
    assert fewer.capacity == TypeCapacity(job_type="deal", per_hour=600, most_subjects=150)


@pytest.mark.usefixtures("workers")
def test_a_type_that_nobody_measured_or_scheduled_says_so() -> None:
    schedule("deal", "sp-1", per_hour=4)
    found = capacity.of_type(connection, "deal")
    assert (found.per_hour, found.duration, found.load, found.capacity) == (4, None, None, None)
    unplanned = capacity.of_type(connection, "metrics", minutes={"metrics": 1})
    assert (unplanned.per_hour, unplanned.subjects, unplanned.load) == (0, 0, Load(0, 6000))
    assert unplanned.capacity == TypeCapacity(job_type="metrics", per_hour=6000, most_subjects=None)


@pytest.mark.usefixtures("providers", "workers")
@pytest.mark.spec("S0.41", "S0.R17")
def test_the_pool_has_the_sum_of_all_loads_to_carry() -> None:
    pool = the_pool()
    assert [each.job_type for each in pool.types] == ["deal", "retrieval"]
    assert (pool.plan.subjects, pool.plan.slots, pool.plan.load) == (18, 100, Load(576, 6000))
    assert (pool.plan.slots_needed, pool.plan.most_subjects) == (9.6, 187)
    assert pool.limit == pool.plan
    assert pool.verdict == (
        "drains: 576 of 6000 minutes an hour are used, 5424 are left; slots needed: 10 of 100, subjects at most: 187"
    )


@pytest.mark.usefixtures("providers", "workers")
def test_a_type_with_a_limit_of_its_own_limits_the_subjects() -> None:
    job(name="deal", queue="sp.work", policy="singleton", concurrency_per_process=5)(work)
    limit = the_pool().limit
    assert limit == TypeCapacity(job_type="deal", per_hour=300, most_subjects=75)


@pytest.mark.usefixtures("providers", "workers")
def test_work_without_a_subject_takes_its_part_and_does_not_grow_with_the_subjects() -> None:
    schedule("metrics", per_hour=60)
    ran("metrics", [20])
    pool = the_pool()
    assert (pool.plan.load, pool.plan.most_subjects) == (Load(1776, 6000), 150)
    assert {each.job_type: each.subjects for each in pool.types} == {"deal": 18, "metrics": 0, "retrieval": 18}


@pytest.mark.usefixtures("providers")
def test_without_workers_nothing_catches_up() -> None:
    pool = the_pool()
    assert (pool.plan.load.drains, pool.plan.most_subjects) == (False, 0)
    assert the_pool(slots=10).plan.load.drains


@pytest.mark.usefixtures("providers", "workers")
def test_a_pool_says_what_it_leaves_out() -> None:
    schedule("metrics", per_hour=60)
    pool = the_pool()
    assert (pool.unmeasured, pool.plan.load) == (["metrics"], Load(576, 6000))
    assert pool.verdict.endswith("; without metrics, of which no run was measured")


def test_a_pool_without_schedules_is_empty() -> None:
    pool = the_pool()
    assert (pool.types, pool.plan.load, pool.limit, pool.is_capped) == ([], Load(0, 0), None, False)


@pytest.mark.usefixtures("providers", "workers")
def test_a_pool_takes_as_many_queries_however_many_types_and_subjects_it_has(is_postgres: bool) -> None:
    with CaptureQueriesContext(connection) as few:
        the_pool()
    for number in range(30):
        schedule(f"other-{number}", f"sp-{number}", per_hour=1)
        ran(f"other-{number}", [1])
    with CaptureQueriesContext(connection) as many:
        assert len(the_pool().types) == 32
    assert len(many) == len(few)
    if is_postgres:
        reading = plans_of(the_pool)
        ran("deal", [5] * 3000)
        assert plans_of(the_pool).rows <= reading.rows + 500


@pytest.mark.usefixtures("providers", "workers")
@pytest.mark.spec("S0.41")
def test_more_subjects_ask_for_as_much_as_the_usual_one() -> None:
    now, then = the_pool(), the_pool(more=18)
    assert (now.plan.subjects, now.plan.load.minutes) == (18, 18 * 32)
    assert (then.plan.subjects, then.plan.load.minutes) == (36, 36 * 32)
    assert [each.per_hour for each in then.types] == [2 * each.per_hour for each in now.types]
    assert then.plan.most_subjects == now.plan.most_subjects == 187
