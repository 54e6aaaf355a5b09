"""Do the schedules make their jobs?

Some of each kind are read, by the index of what is due, or in one pass over the schedules, which are few beside runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.doctor.finding import Fault, examination, few, note, problem, warning
from jobs_app.insights.schedules import ORDER
from jobs_app.lifecycle.schedule_filter import DISABLED, FAILING, OVERDUE, RETIRED, ScheduleFilter
from jobs_app.models import ScheduleState
from jobs_app.text import clean

MOST_COUNTED = 1000
ERROR_LENGTH = 80


@examination(fine="No schedule is late.")
def schedules_overdue(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if rows := _rows(connection, ScheduleFilter(trouble=OVERDUE)):
        advice = "Is a scheduler alive, and does its log tell of errors? It catches up by itself."
        yield problem(f"The next slot of schedules is past, and nobody made its job: {_told(rows)}.", advice=advice)


@examination(fine="No schedule was switched off by failures.")
def schedules_disabled(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if rows := _rows(connection, ScheduleFilter(state=DISABLED)):
        advice = "See why with manage.py jobs schedules --state disabled, correct it, and resume them in the admin."
        yield problem(f"Schedules were switched off because they failed for too long: {_told(rows)}.", advice=advice)


@examination(fine="No schedule fails.")
def schedules_failing(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if rows := _rows(connection, ScheduleFilter(trouble=FAILING)):
        error = clean(rows[0].last_error, ERROR_LENGTH)
        advice = "Correct it before they are switched off; manage.py jobs schedules shows the error of each."
        yield warning(f"Schedules fail: {_told(rows)}. The first says: {error}", advice=advice)


@examination(fine="No schedule is left of code that is gone.")
def schedules_retired(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if rows := _rows(connection, ScheduleFilter(state=RETIRED)):
        advice = "Nothing, if that was meant. Else bring back the code, or the row of the source."
        yield note(
            f"Schedules make no jobs any more, because code or source has them no more: {_told(rows)}.", advice=advice
        )


def _rows(connection: BaseDatabaseWrapper, wanted: ScheduleFilter) -> list[ScheduleState]:
    return list(wanted.rows(connection).order_by(*ORDER).defer("payload")[:MOST_COUNTED])


def _told(rows: list[ScheduleState]) -> str:
    return few([" ".join(filter(None, (row.job_type, row.subject, row.name))) for row in rows])
