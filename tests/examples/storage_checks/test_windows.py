"""The daily windows in which nothing of the checks begins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.test import override_settings

from examples.storage_checks.chain import listed
from examples.storage_checks.jobs import deal
from jobs_app.models import Job, JobAttempt
from jobs_app.testing import freeze_clock
from tests.examples.site import Site
from tests.examples.storage_checks.conftest import A, B, ChainHere, row, tick, tick_here

pytestmark = pytest.mark.django_db(transaction=True)

WINDOWS = {"MAINTENANCE_WINDOWS_UTC": "07:00,23:50", "MAINTENANCE_WINDOW_MINUTES": "20"}
MINUTE = timedelta(minutes=1)


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-05T{clock}+00:00")


def made(job_type: str, provider: str) -> list[str]:
    jobs = Job.objects.filter(job_type=job_type, subject=provider).order_by("slot_at")
    return [f"{each.slot_at:%H:%M:%S}" for each in jobs if each.slot_at]


@pytest.mark.spec("A0.4", "S0.25", "S0.26", "S0.27", "S0.R8", "S0.R9", "S0.R18")
def test_around_a_window_slots_are_held_and_what_a_worker_meets_is_deferred(
    make_checks: Callable[..., Site], chain: ChainHere
) -> None:
    """A deal may take six minutes, and one of B, who is new, would begin a second too late for that."""
    chain.registry = [listed("main", "A", 1)]
    site = make_checks(JOB_CATCHUP_MAX_ENQUEUE="1", **WINDOWS)
    tick(site, at("06:54:00"))
    assert (made("deal", A), made("retrieval", A)) == (["06:54:00"], ["06:54:00"])

    chain.registry.append(listed("main", "B", 2))
    with override_settings(JOBS={"MAINTENANCE_WINDOWS": "07:00"}):
        tick_here(at("06:54:01"))
    assert row("deal", B).next_run_at == at("06:54:01")
    site.manage("runworker", "--once", at=at("07:05:00"))
    waiting = Job.objects.get(job_type="deal", subject=A)
    assert (waiting.run_at, waiting.attempts - waiting.free_attempts) == (at("07:20:00"), 0)
    assert made("deal", B) == []

    tick(site, at("07:20:00"))
    assert (made("deal", A), made("deal", B)) == (["06:54:00", "07:09:00"], ["06:54:01"])  # 07:09:01 is for later
    site.manage("runworker", "--once", at=at("23:55:00"))
    assert {each.run_at for each in Job.objects.filter(queue="sp.work")} == {at("23:50:00") + 20 * MINUTE}
    outcomes = JobAttempt.objects.filter(job_id=waiting.pk).values_list("outcome", flat=True)
    assert list(outcomes) == ["deferred", "deferred"]
    assert chain.asked.count(("deals", A)) == 0


@pytest.mark.spec("A0.4", "S0.25", "S0.26")
def test_nothing_is_enqueued_from_the_longest_check_before_a_window_until_its_end(
    chain: ChainHere, providers: list[str]
) -> None:
    with override_settings(JOBS={"MAINTENANCE_WINDOWS": "07:00"}), freeze_clock(at("06:54:01")) as clock:
        for moment in ("06:54:01", "06:59:59", "07:00:00", "07:19:59"):
            clock.move_to(at(moment))
            call_command("runscheduler", "--once")
            assert not Job.objects.exists()
        clock.move_to(at("07:20:00"))
        call_command("runscheduler", "--once")
    assert made("deal", A) == ["06:54:01", "07:09:01"]
    assert deal.job_type.timeout == 360
