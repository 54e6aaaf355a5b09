"""What comes back by the clock: one row for one cron of code, one job for each morning."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from jobs_app.lifecycle import control
from jobs_app.models import Job, ScheduleState
from tests.examples.site import Site

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "welcome-the-missed"
NINE = datetime(2030, 1, 7, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def tick(site: Site, at: datetime, **variables: str) -> None:
    site.manage("runscheduler", "--once", at=at, **variables)


def tick_twice(site: Site, at: datetime) -> None:
    """Two schedulers at once."""
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda _: tick(site, at), range(2)))


def of_schedules() -> list[datetime]:
    return list(Job.objects.filter(job_type=NAME).values_list("slot_at", flat=True))


@pytest.mark.spec("A2.6", "S2.4", "S2.15", "S2.24", "S2.R5", "S2.R6", "S2.R7")
def test_a_cron_is_one_row_that_enqueues_once_at_nine_and_gives_way_to_another(site: Site) -> None:
    tick_twice(site, NINE - MINUTE)
    row = ScheduleState.objects.get(job_type=NAME)
    assert (row.cron, row.timezone, row.next_run_at, of_schedules()) == ("0 9 * * *", "UTC", NINE, [])

    tick_twice(site, NINE)
    assert of_schedules() == [NINE]
    row.refresh_from_db()
    assert (row.last_run_at, row.next_run_at) == (NINE, NINE + timedelta(days=1))

    control.pause_schedule(row.pk, actor="ann")
    tick(site, NINE + MINUTE, WELCOME_MAIL_CRON="30 9 * * *")
    row = ScheduleState.objects.get(job_type=NAME)
    assert (row.cron, row.next_run_at, row.paused) == ("30 9 * * *", NINE + 30 * MINUTE, True)

    tick(site, NINE + 2 * MINUTE, EXAMPLES="first_steps")
    row.refresh_from_db()
    assert (row.retired, row.paused, of_schedules()) == (True, True, [NINE])
