"""The subjects whose schedules ask for the most. One pass over the schedules, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.capacity import MINUTES, Load
from jobs_app.insights import rates
from jobs_app.insights.capacity import NONE_GIVEN, Basis, Minutes
from jobs_app.lifecycle.relation import relation

MOST_SHOWN = 20

# What a schedule asks for is `amount` over its interval, or just `amount` where it is a cron. Durations and crons come
# from here and are few, so that the join has one small side; the ORM cannot join what is not a table.
BUSIEST = """
SELECT schedule.subject, coalesce(sum(rule.amount / coalesce(schedule.interval_seconds, 1)), 0) AS minutes,
       min(rule.turns) = max(rule.turns) AND min(rule.turns) <> '' AS takes_turns,
       count(*) - count(rule.amount) AS left_out
  FROM jobs_app_schedulestate AS schedule
  LEFT JOIN ({rules}) AS rule
    ON rule.job_type = schedule.job_type AND rule.cron = schedule.cron AND rule.timezone = schedule.timezone
 WHERE NOT schedule.paused AND NOT schedule.retired AND NOT schedule.disabled
   AND schedule.once_at IS NULL AND schedule.subject <> '' {among}
 GROUP BY schedule.subject {having} ORDER BY minutes DESC, schedule.subject LIMIT %(limit)s
"""
# A subject whose jobs take turns has the minutes of an hour. A little more is what floats leave behind.
LATE = f"""HAVING min(rule.turns) = max(rule.turns) AND min(rule.turns) <> ''
   AND sum(rule.amount / coalesce(schedule.interval_seconds, 1)) > {MINUTES + 1e-9}"""
COLUMNS = {"job_type": "text", "cron": "text", "timezone": "text", "amount": "float", "turns": "text"}


@dataclass(frozen=True, kw_only=True)
class BusySubject:
    """A subject by the usual durations of its job types, not by its own."""

    subject: str
    load: Load
    left_out: int  # schedules that are not in the load: nobody knows how long, or how often


def busiest(
    connection: BaseDatabaseWrapper,
    *,
    limit: int = MOST_SHOWN,
    minutes: Minutes = NONE_GIVEN,
    among: Sequence[str] | None = None,
    only_late: bool = False,
) -> list[BusySubject]:
    """The highest load first; of all subjects, of those named, or of those that can never catch up."""
    basis = Basis.read(connection, minutes)
    rows = _rules(basis, among)
    if not rows:
        return []
    rules, parameters = relation(connection, COLUMNS, rows)
    names = {f"subject_{place}": name for place, name in enumerate(among or ())}
    listed = ", ".join(f"%({name})s" for name in names)
    which = f"AND schedule.subject IN ({listed})" if names else ""
    sql = BUSIEST.format(rules=rules, among=which, having=LATE if only_late else "")
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters | names | {"limit": limit})
        found = cursor.fetchall()
    return [
        BusySubject(subject=subject, load=Load(load, MINUTES if takes_turns else None), left_out=left_out)
        for subject, load, takes_turns, left_out in found
    ]


def with_late(
    connection: BaseDatabaseWrapper, *, limit: int = MOST_SHOWN, minutes: Minutes = NONE_GIVEN
) -> tuple[list[BusySubject], list[BusySubject]]:
    """The busiest, and those that can never catch up. All of the latter are mostly among the former: one pass then."""
    top = busiest(connection, limit=limit, minutes=minutes)
    if len(top) < limit or top[-1].load.minutes <= MINUTES:
        return top, [each for each in top if not each.load.drains]
    return top, busiest(connection, limit=limit, minutes=minutes, only_late=True)


def _rules(basis: Basis, among: Sequence[str] | None) -> list[tuple[str, str, str, float | None, str]]:
    """Each rule, with the minutes that a schedule asks for in an hour, or in a second of its interval."""
    schedules = rates.active(basis.connection).filter(rates.HAS_SUBJECT)
    found = rates.by_rule(schedules if among is None else schedules.filter(subject__in=among), basis.now)
    basis.measure(found.job_types)
    planned = {name: basis.minutes_of(name, basis.duration_of(name)) for name in found.job_types}
    rows = []
    for rule in found.rules:
        minutes = planned[rule.job_type]
        amount = None if minutes is None else minutes * (rule.each if rule.cron else 3600)
        rows.append((rule.job_type, rule.cron, rule.timezone, amount, basis.room.turns_in(rule.job_type)))
    return rows
