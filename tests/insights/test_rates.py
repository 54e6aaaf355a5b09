"""How many jobs an hour the schedules make."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import rates
from jobs_app.insights.rates import Rule, ScheduleRules
from tests.insights.planning import EveryMinutes, schedule
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def crons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Crons that are simple to count, and which of them were read."""
    read: list[str] = []

    def parse(expression: str, timezone: str) -> EveryMinutes:
        read.append(f"{expression} {timezone}")
        return EveryMinutes(expression, timezone)

    monkeypatch.setattr("jobs_app.cron.parse", parse)
    return read


def the_rules(**options: Any) -> ScheduleRules:
    return rates.by_rule(rates.active(connection), T, **options)


@pytest.mark.parametrize(
    ("columns", "jobs"),
    [
        ({"interval_seconds": 900}, 4),
        ({"interval_seconds": 7200}, 0.5),
        ({"cron": "*/15"}, 4),
        ({"cron": "*/480"}, 0.125),
        ({"cron": "*/100000"}, 0),
        ({"cron": "not a cron"}, 0),
        ({"once_at": T}, 0),
    ],
)
def test_a_schedule_makes_a_job_each_interval_and_those_of_a_cron_in_a_day(
    columns: dict[str, Any], jobs: float
) -> None:
    assert rates.per_hour(schedule("work", **columns), T) == jobs


@pytest.mark.parametrize(("minutes", "jobs"), [(1, 60), (0.1, 600), (0.7, 60 / 0.7)])
def test_no_more_slots_of_a_cron_are_counted_than_a_day_has_minutes(
    minutes: float, jobs: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[datetime] = []
    after = EveryMinutes.after
    monkeypatch.setattr(EveryMinutes, "after", lambda self, moment: asked.append(moment) or after(self, moment))
    assert rates.cron_per_hour(f"*/{minutes}", "UTC", T) == pytest.approx(jobs, rel=1e-12)
    assert len(asked) == rates.MOST_SLOTS + 1


def test_a_cron_of_every_minute_is_sixty_an_hour_at_any_second(monkeypatch: pytest.MonkeyPatch) -> None:
    def after(moment: datetime) -> datetime:
        return moment.replace(second=0) + timedelta(minutes=1)

    monkeypatch.setattr("jobs_app.cron.parse", lambda expression, timezone: SimpleNamespace(after=after))
    assert {rates.cron_per_hour("* * * * *", "UTC", T + timedelta(seconds=second)) for second in (0, 3, 59)} == {60}


def test_a_cron_that_ends_has_the_slots_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def after(moment: datetime) -> datetime | None:
        return moment + timedelta(hours=1) if moment < T + timedelta(hours=12) else None

    monkeypatch.setattr("jobs_app.cron.parse", lambda expression, timezone: SimpleNamespace(after=after))
    assert rates.cron_per_hour("until noon", "UTC", T) == 0.5


def test_schedules_of_one_type_are_added_up_with_and_without_a_subject() -> None:
    for number in range(3):
        schedule("deal", f"sp-{number}", per_hour=4)
    schedule("deal", per_hour=2)
    assert the_rules().rules == [Rule("deal", "", "UTC", 0, 12, 2)]
    assert rates.jobs_of("deal", the_rules().rules) == (12, 2)
    assert rates.jobs_of("other", the_rules().rules) == (0, 0)


def test_a_cron_is_followed_once_however_many_schedules_have_it(crons: list[str]) -> None:
    for number in range(5):
        schedule("deal", f"sp-{number}", cron="*/15")
    schedule("deal", cron="*/15")
    schedule("retrieval", cron="*/30", timezone="Europe/Paris")
    assert the_rules().rules == [
        Rule("deal", "*/15", "UTC", 4, 20, 4),
        Rule("retrieval", "*/30", "Europe/Paris", 2, 0, 2),
    ]
    assert crons == ["*/15 UTC", "*/30 Europe/Paris"]


def test_no_more_rules_are_looked_at_than_the_limit_and_the_common_ones_first(crons: list[str]) -> None:
    for number in range(3):
        schedule("deal", f"sp-{number}", per_hour=1)
    schedule("deal", cron="*/10")
    assert not the_rules(limit=2).is_capped
    capped = the_rules(limit=1)
    assert (capped.is_capped, [rule.cron for rule in capped.rules]) == (True, [""])


@pytest.mark.parametrize("columns", [{"paused": True}, {"retired": True}, {"disabled": True}])
def test_a_schedule_that_makes_no_jobs_is_left_out(columns: dict[str, Any]) -> None:
    schedule("deal", "sp-1", per_hour=4)
    schedule("deal", "sp-2", per_hour=4, **columns)
    assert rates.jobs_of("deal", the_rules().rules) == (4, 0)
    assert rates.of_subject(connection, "sp-2") == []
    assert rates.all_subjects(rates.active(connection)) == 1


def test_one_moment_is_no_rate_and_no_subject() -> None:
    schedule("deal", "sp-1", once_at=T)
    assert the_rules().rules == []
    assert rates.all_subjects(rates.active(connection)) == 0


def test_a_subject_is_counted_once_whatever_it_has() -> None:
    for job_type, subject, name in (("deal", "a", ""), ("deal", "a", "again"), ("deal", "b", ""), ("metrics", "", "")):
        schedule(job_type, subject, name=name, per_hour=1)
    schedule("retrieval", "a", per_hour=1)
    schedules = rates.active(connection)
    assert rates.subjects(schedules) == {"deal": 2, "retrieval": 1}
    assert rates.all_subjects(schedules) == 2


def test_the_schedules_of_a_subject_come_type_by_type() -> None:
    for job_type, subject in (("retrieval", "a"), ("deal", "a"), ("deal", "b")):
        schedule(job_type, subject, per_hour=1)
    assert [str(row) for row in rates.of_subject(connection, "a")] == ["deal a", "retrieval a"]


def test_the_apps_own_chores_ask_for_no_slots() -> None:
    schedule("jobs.prune", "", per_hour=6)
    assert the_rules().rules == []
