"""The subjects whose schedules ask for the most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.capacity import Load
from jobs_app.insights import rates
from jobs_app.insights.busiest import BusySubject, busiest, with_late
from jobs_app.insights.capacity import of_subject
from tests.insights.planning import EveryMinutes, ran, schedule
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("jobs_app.cron.parse", EveryMinutes)
    for name in ("deal", "retrieval"):
        job(name=name, queue="sp.work", policy="singleton")(lambda: None)
    job(name="metrics", queue="metrics")(lambda: None)
    ran("deal", [5])
    ran("retrieval", [2])
    with at(0):
        yield


def found(**options: Any) -> list[tuple[str, Load, int]]:
    return [(each.subject, each.load, each.left_out) for each in busiest(connection, **options)]


@pytest.mark.spec("S0.39")
def test_the_highest_load_comes_first() -> None:
    for subject, deals, retrievals in (("usual", 4, 6), ("busy", 12, 3), ("idle", 1, 0.5)):
        schedule("deal", subject, per_hour=deals)
        schedule("retrieval", subject, per_hour=retrievals)
    assert found() == [("busy", Load(66, 60), 0), ("usual", Load(32, 60), 0), ("idle", Load(6, 60), 0)]
    assert [subject for subject, *_ in found(limit=1)] == ["busy"]
    assert found(minutes={"retrieval": 30})[0] == ("usual", Load(200, 60), 0)


def test_crons_and_intervals_are_added_up_as_for_one_subject() -> None:
    schedule("deal", "a", per_hour=4)
    schedule("deal", "a", name="by night", cron="*/20", timezone="Europe/Paris")
    schedule("retrieval", "a", cron="*/20")
    assert found() == [("a", Load(41, 60), 0)]
    assert of_subject(connection, "a").load == Load(41, 60)


def test_one_whose_jobs_run_beside_each_other_has_no_budget() -> None:
    schedule("deal", "both", per_hour=4)
    schedule("metrics", "both", per_hour=60)
    schedule("metrics", "other", per_hour=60)
    schedule("deal", "turns", per_hour=4)
    assert found(minutes={"metrics": 1}) == [
        ("both", Load(80, None), 0),
        ("other", Load(60, None), 0),
        ("turns", Load(20, 60), 0),
    ]


def test_what_is_not_in_the_load_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule("metrics", "new", per_hour=60)
    assert found() == [("new", Load(0, None), 1)]
    for number in range(2):
        schedule("deal", f"sp-{number}", per_hour=4)
    schedule("retrieval", "sp-0", cron="*/20")
    limited = rates.by_rule
    monkeypatch.setattr(rates, "by_rule", lambda schedules, now: limited(schedules, now, limit=1))
    assert found() == [("sp-0", Load(20, 60), 1), ("sp-1", Load(20, 60), 0), ("new", Load(0, None), 1)]


@pytest.mark.parametrize("columns", [{"paused": True}, {"retired": True}, {"disabled": True}])
def test_a_schedule_that_makes_no_jobs_is_left_out(columns: dict[str, Any]) -> None:
    schedule("deal", "off", per_hour=4, **columns)
    schedule("deal", "once", once_at=T)
    schedule("deal", per_hour=4)
    assert found() == []
    schedule("deal", "on", per_hour=4)
    assert busiest(connection) == [BusySubject(subject="on", load=Load(20, 60), left_out=0)]


def test_it_takes_as_many_queries_however_many_subjects(django_assert_num_queries: Callable[[int], Any]) -> None:
    for number in range(100):
        schedule("deal", f"sp-{number}", per_hour=4)
    workers_rules_schedules_durations_answer = 5
    with django_assert_num_queries(workers_rules_schedules_durations_answer):
        assert len(found()) == 20


@pytest.mark.spec("S0.39", "A0.1")
def test_only_those_that_can_never_catch_up_are_late() -> None:
    for subject, minutes in (("just fits", 60), ("a little", 60.1), ("much", 80)):
        schedule("deal", subject, per_hour=minutes / 5)
    schedule("metrics", "side by side", per_hour=600)
    late = found(only_late=True, minutes={"metrics": 1})
    assert late == [("much", Load(80, 60), 0), ("a little", Load(60.1, 60), 0)]
    assert not any(load.drains for _, load, _ in late)
    for limit in (1, 2, 3, 20):  # those of all, whether the busiest have them all or not
        _, also = with_late(connection, limit=limit, minutes={"metrics": 1})
        assert [each.subject for each in also] == ["much", "a little"][:limit]
