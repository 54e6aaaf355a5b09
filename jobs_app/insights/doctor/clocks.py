"""Do all agree about the time, and about time zones?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from django.conf import settings as django_settings
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import wall_clock
from jobs_app.insights.doctor.finding import Fault, Level, Needs, examination, few, problem
from jobs_app.lifecycle.database import database_now
from jobs_app.models import ScheduleState

SKEW_SECONDS = 2.0
BAD_SKEW_SECONDS = 60.0
INSTALL = "Install them: pip install tzdata, or the package tzdata of the system."


# SQLite has no clock but that of this host.
@examination(fine="This host and the database agree about the time.", needs=Needs.DATABASE, only_on="postgresql")
def clock_skew(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    before = datetime.now(UTC)
    moment = database_now(connection)
    after = datetime.now(UTC)
    ahead, behind = (moment - after).total_seconds(), (before - moment).total_seconds()
    skew = max(ahead, behind)  # at least: the answer was under way
    if skew < SKEW_SECONDS:
        return
    told = f"The clock of the database is {skew:.1f} s {'ahead of' if ahead > behind else 'behind'} that of this host"
    yield Fault(
        Level.PROBLEM if skew >= BAD_SKEW_SECONDS else Level.WARNING,
        f"{told}: moments that code here works out (run_at=, expires_at=) are so much off.",
        "Let both hosts keep time with NTP (chrony, systemd-timesyncd).",
    )


@examination(fine="The time zone of the settings is known here.", needs=Needs.NOTHING)
def time_zone_unknown(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """Django refuses a wrong one itself, but not where the system has no zones."""
    try:
        wall_clock.clock(django_settings.TIME_ZONE or "UTC")
    except ValueError as error:
        advice = "Correct settings.TIME_ZONE." if wall_clock.zone_names() else INSTALL
        yield problem(f"settings.TIME_ZONE is {django_settings.TIME_ZONE!r}: {error}.", advice=advice)


@examination(fine="The time zones of all schedules are known here.")
def schedule_zone_unknown(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """One pass over the schedules, which are few beside runs; zones are some hundred at most."""
    rows = ScheduleState.objects.using(connection.alias).filter(retired=False).exclude(cron="")
    names = set(rows.order_by().values_list("timezone", flat=True).distinct())
    unknown = sorted(names - wall_clock.zone_names() - {"UTC", ""})
    if unknown:
        advice = "Upgrade tzdata here, or give the schedules another zone." if wall_clock.zone_names() else INSTALL
        yield problem(f"Schedules have time zones that are not known here: {few(unknown)}.", advice=advice)
