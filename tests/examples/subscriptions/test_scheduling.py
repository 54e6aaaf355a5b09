"""Due subscriptions become one job each, from an outer cron, with the lines that its operators know."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest
from django.utils import timezone

import examples.subscriptions
from jobs_app import cron
from jobs_app.models import Job
from tests.examples.site import Site
from tests.examples.subscriptions.conftest import Subscribe

pytestmark = pytest.mark.django_db(transaction=True)


def five_of_seven(subscribe: Subscribe) -> list[str]:
    """Those that are due, among others that are not."""
    subscribe("Gone", status="CANCELLED")
    subscribe("Later", due_at=timezone.now() + timedelta(days=1))
    return [str(subscribe(f"Payer {number}").pk) for number in range(5)]


@pytest.mark.spec("A4.1", "S4.2", "S4.3", "S4.4", "S4.16", "S4.R1", "S4.R6")
def test_five_due_ones_become_five_jobs_with_their_lines_and_a_second_look_makes_none(
    make_payments: Callable[..., Site], subscribe: Subscribe
) -> None:
    site, due = make_payments(), five_of_seven(subscribe)

    told = site.manage("runscheduler", "--once")

    lines = [line.partition("INFO ")[2] for line in told.splitlines() if "INFO" in line]
    known = [line for line in lines if line.startswith(("⏰", "📊", "✅", "📦", "🎉"))]
    assert known[:3] == ["⏰ Starting scheduler...", "📊 5 subscriptions found", "✅ 5 jobs scheduled successfully"]
    created = [re.fullmatch(r"📦 Job created for subscription (\d+) \(.*\)", line)[1] for line in known[3:-1]]
    assert sorted(created) == sorted(due)
    assert known[-1] == "🎉 Scheduler executed successfully"
    jobs = Job.objects.filter(job_type="charge")
    assert sorted(jobs.values_list("subject", flat=True)) == sorted(due)
    assert set(jobs.values_list("state", "attempts")) == {("queued", 0)}

    assert "✅ 0 jobs scheduled successfully" in site.manage("runscheduler", "--once")
    assert jobs.count() == 5


@pytest.mark.spec("A4.1", "S4.4", "S4.R1")
def test_two_schedulers_at_once_make_five_in_all(make_payments: Callable[..., Site], subscribe: Subscribe) -> None:
    site = make_payments()
    five_of_seven(subscribe)

    with ThreadPoolExecutor(2) as both:
        told = list(both.map(lambda _: site.manage("runscheduler", "--once"), range(2)))

    assert Job.objects.filter(job_type="charge").count() == 5
    assert sum(int(re.search(r"✅ (\d) jobs scheduled", text)[1]) for text in told) == 5


@pytest.mark.spec("S4.R6", "S4.20")
def test_with_nothing_due_both_commands_say_so_and_end_well(make_payments: Callable[..., Site]) -> None:
    site = make_payments()

    assert "✅ 0 jobs scheduled successfully" in site.manage("runscheduler", "--once")
    assert "📊 No pending jobs found" in site.manage("runworker", "--once")


@pytest.mark.spec("S4.R6")
def test_a_fatal_error_ends_a_command_with_another_code_than_0(make_payments: Callable[..., Site]) -> None:
    site = make_payments(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=1")

    for command in ("runscheduler", "runworker"):
        site.manage(command, "--once", code=75)  # a supervisor tries again


@pytest.mark.spec("S4.5")
def test_the_crontab_has_both_commands_at_their_times() -> None:
    text = (Path(examples.subscriptions.__file__).parent / "crontab").read_text()
    lines = [line for line in text.splitlines() if line[:1].isdigit()]
    entries = {line.split(maxsplit=5)[5]: " ".join(line.split()[:5]) for line in lines}
    assert entries == {
        "python manage.py runscheduler --once": "0 0 * * *",
        "python manage.py runworker --once --queues payments": "15 0,6,12,18 * * *",
    }
    midnight = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(seconds=1)
    assert _times(entries["python manage.py runscheduler --once"], midnight, 2) == ["01 00:00", "02 00:00"]
    worked_off = _times(entries["python manage.py runworker --once --queues payments"], midnight, 4)
    assert worked_off == ["01 00:15", "01 06:15", "01 12:15", "01 18:15"]


def _times(expression: str, after: datetime, count: int) -> list[str]:
    slots = cron.parse(expression).between(after, after + timedelta(days=count))
    return [f"{slot:%d %H:%M}" for slot in islice(slots, count)]
