"""How many jobs an hour the schedules make. Cost follows the schedules, never the history."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, F, Q, QuerySet, Sum

from jobs_app import cron
from jobs_app.models import ScheduleState
from jobs_app.registry import SYSTEM_NAMES

HOURS = 24  # that a cron is followed for
MOST_SLOTS = HOURS * 60  # counted of one cron: all of them, unless it has more than one a minute
MOST_RULES = 10_000  # looked at, those with the most schedules; beyond it the numbers are "at least"
MOST_SCHEDULES = 1000  # of one subject

HAS_SUBJECT, NO_SUBJECT = ~Q(subject=""), Q(subject="")


class Rule(NamedTuple):
    """Schedules of one job type that share a cron, or that all have intervals, and the jobs an hour of all of them."""

    job_type: str
    cron: str
    timezone: str
    each: float  # jobs an hour of one schedule, where it is a cron
    for_subjects: float
    without_subject: float


class ScheduleRules(NamedTuple):
    rules: list[Rule]
    is_capped: bool  # there are more

    @property
    def job_types(self) -> list[str]:
        return sorted({rule.job_type for rule in self.rules})


def active(connection: BaseDatabaseWrapper) -> QuerySet[ScheduleState]:
    """Schedules that make jobs again and again, now; but for the app's own chores, which have a slot to themselves."""
    rows = ScheduleState.objects.using(connection.alias).exclude(job_type__startswith=SYSTEM_NAMES)
    return rows.filter(paused=False, retired=False, disabled=False, once_at=None)


def of_subject(connection: BaseDatabaseWrapper, subject: str) -> list[ScheduleState]:
    rows = active(connection).filter(subject=subject).order_by("job_type", "name")
    return list(rows.defer("payload", "overrides")[:MOST_SCHEDULES])


def by_rule(schedules: QuerySet[ScheduleState], now: datetime, *, limit: int = MOST_RULES) -> ScheduleRules:
    """Each rule once, so that a cron is followed once, however many schedules have it."""
    jobs = 3600.0 / F("interval_seconds")
    grouped = schedules.values_list("job_type", "cron", "timezone").annotate(
        rows=Count("pk"),
        named=Count("pk", filter=HAS_SUBJECT),
        named_jobs=Sum(jobs, filter=HAS_SUBJECT, default=0.0),
        other_jobs=Sum(jobs, filter=NO_SUBJECT, default=0.0),
    )
    found = []
    for job_type, expression, zone, rows, named, named_jobs, other_jobs in grouped.order_by("-rows")[: limit + 1]:
        each = cron_per_hour(expression, zone, now) if expression else 0.0
        found.append(
            Rule(job_type, expression, zone, each, named_jobs + named * each, other_jobs + (rows - named) * each)
        )
    return ScheduleRules(found[:limit], len(found) > limit)


def jobs_of(job_type: str, rules: Iterable[Rule]) -> tuple[float, float]:
    """Jobs an hour of a type: for subjects, and without one."""
    its = [rule for rule in rules if rule.job_type == job_type]
    return sum(rule.for_subjects for rule in its), sum(rule.without_subject for rule in its)


def subjects(schedules: QuerySet[ScheduleState]) -> dict[str, int]:
    """How many subjects each job type has."""
    rows = schedules.filter(HAS_SUBJECT).order_by().values_list("job_type")
    return dict(rows.annotate(Count("subject", distinct=True)))


def all_subjects(schedules: QuerySet[ScheduleState]) -> int:
    """How many subjects all job types have together."""
    return schedules.filter(HAS_SUBJECT).order_by().values("subject").distinct().count()


def per_hour(row: ScheduleState, now: datetime) -> float:
    """Jobs an hour of one schedule."""
    if row.interval_seconds is not None:
        return 3600 / row.interval_seconds
    return cron_per_hour(row.cron, row.timezone, now) if row.cron else 0.0


def cron_per_hour(expression: str, timezone: str, now: datetime) -> float:
    """Its slots in the next day, an hour. What cannot be read makes no jobs."""
    try:
        rule = cron.parse(expression, timezone)
    except ValueError:
        return 0.0
    first = slot = rule.after(now)
    end, count = now + timedelta(hours=HOURS), 0
    while slot is not None and slot <= end:
        if count == MOST_SLOTS and first is not None:
            return count * 3600 / (slot - first).total_seconds()
        count += 1
        slot = rule.after(slot)
    return count / HOURS
