"""What a scheduler makes of the hours in which there was none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import QuerySet
from django.test import override_settings

from examples.storage_checks.chain import listed
from jobs_app.lifecycle import control
from jobs_app.models import Job, ScheduleState
from jobs_app.registry import registry
from jobs_app.scheduler.tick import tick as take_turns
from jobs_app.testing import freeze_clock
from tests.examples.site import Site
from tests.examples.storage_checks.conftest import A, ChainHere, T, after, row, starts, tick, tick_here

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3600


@pytest.mark.spec("A0.2", "S0.20", "S0.21", "S0.22", "S0.23", "S0.27", "S0.28", "S0.R5")
def test_three_hours_without_a_scheduler_come_under_the_cap_and_spread(
    make_checks: Callable[..., Site], chain: ChainHere
) -> None:
    """Deals come back every 15 minutes, and retrievals every 30, since somebody wanted fewer."""
    chain.registry = [listed("main", "A", 1)]
    tick_here(after(-3.25 * HOUR))
    control.change_schedule(("retrieval", A, ""), "ann", "fewer", from_slot=after(-3 * HOUR), per_hour=2)
    assert (row("deal", A).next_run_at, row("retrieval", A).next_run_at) == (after(-3 * HOUR), after(-3 * HOUR))

    site = make_checks()
    tick(site, T)
    assert starts("deal", A, T) == [1080 * place for place in range(10)]
    assert starts("retrieval", A, T) == [0, 1543, 3086, 4629, 6172, 7715, 9258]
    assert (row("deal", A).next_run_at, row("deal", A).last_run_at) == (after(-1800), T)

    tick(site, after(300))
    assert starts("deal", A, after(300)) == [0, 3600, 7200]
    assert row("deal", A).next_run_at == after(900)

    tick(site, after(600))
    assert not Job.objects.filter(queued_at=after(600)).exists()


@pytest.mark.spec("A0.3", "S0.21", "S0.28", "S0.46")
def test_a_rate_of_one_a_second_is_caught_up_by_three_and_moves_by_three(
    make_checks: Callable[..., Site], chain: ChainHere
) -> None:
    """Twenty an hour, in hours of twenty seconds."""
    tick_here(after(-900))
    assert row("deal", A).next_run_at == T

    given = {"JOB_CATCHUP_MAX_ENQUEUE": "3", "JOB_CATCHUP_SPREAD_HOURS": "180", "DEALS_PER_SP_PER_HOUR": "20"}
    tick(make_checks(minute=1 / 3, **given), after(10))

    assert starts("deal", A, after(10)) == [0, 1200, 2400]
    assert row("deal", A).next_run_at == after(3)


@pytest.mark.spec("A0.3", "S0.22", "S0.23")
@pytest.mark.parametrize(("failing", "moved", "last"), [(3, 2, 10), (1, 0, -60)])
def test_a_slot_that_cannot_be_enqueued_keeps_the_schedule_there(
    chain: ChainHere, failing: int, moved: int, last: float
) -> None:
    """The oldest come first, and the first failure ends the turn: what comes after it waits with it."""
    chain.registry = [listed("main", "A", 1)]
    with freeze_clock(after(-60)) as clock:
        call_command("runscheduler", "--once")
        often = {"every": 1, "catch_up_max": 3, "spread": "1h"}
        control.change_schedule(("deal", A, ""), "ann", "more of it", from_slot=T, **often)
        registry.register(replace(registry.get("deal"), key=_failing_at(failing)))
        clock.move_to(after(10))
        take_turns(connection, job_types=["deal"])
    assert Job.objects.filter(job_type="deal", queued_at=after(10)).count() == moved
    assert row("deal", A).next_run_at == after(moved)
    assert row("deal", A).last_run_at == after(last)


def _failing_at(number: int) -> Callable[[dict[str, Any]], str]:
    asked: list[str] = []

    def key_of(payload: dict[str, Any]) -> str:
        asked.append(payload["provider"])
        if len(asked) == number:
            raise RuntimeError("no")
        return str(payload["provider"])

    return key_of


@pytest.mark.spec("A0.8", "S0.19", "S0.29", "S0.43")
def test_two_deployments_stand_apart_by_their_phase_and_start_at_random_within_the_jitter(
    make_checks: Callable[..., Site], chain: ChainHere
) -> None:
    """Each has a database of its own: here the second has that of the first, without its schedules."""
    with override_settings(JOBS={"SCHEDULE_JITTER_SECONDS": 300}):
        tick_here(T)
    _checks().delete()
    tick(make_checks(JOB_SCHEDULE_PHASE_SECONDS="1200", JOB_ENQUEUE_JITTER_SECONDS="300"), after(1))
    first = Job.objects.filter(queue="sp.work")
    assert {each.slot_at for each in first} == {T}
    late = [(each.run_at - each.queued_at).total_seconds() for each in first]
    assert len(late) == 4
    assert all(0 <= seconds <= 300 for seconds in late)
    assert {each.next_run_at for each in _checks()} == {after(1201)}


def _checks() -> QuerySet[ScheduleState]:
    return ScheduleState.objects.filter(job_type__in=["deal", "retrieval"])
