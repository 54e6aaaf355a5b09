"""What is wrong with an installation, and what to do next: every examination, each by itself.

However many runs there are: nothing here reads history, what is read of live jobs and schedules is cut, and the rest is
catalogues and tables with a row per process. Beyond that each statement has a time, after which it is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.budget import budget
from jobs_app.insights.doctor import (
    bloat,
    clocks,
    database,
    fleet,
    jobs,
    pooler,
    schedules,
    schema,
    settings,
    sqlite,
    time_limits,
)
from jobs_app.insights.doctor.finding import Examination, Fault, Finding, Level, Needs

STATEMENT_SECONDS = 5.0

EXAMINATIONS: Sequence[Examination] = (
    settings.system_checks,
    clocks.time_zone_unknown,
    database.database_unreachable,
    database.database_too_old,
    schema.migrations_missing,
    schema.tables_missing,
    schema.indexes_missing,
    schema.indexes_invalid,
    pooler.sessions_shared,
    pooler.notifications_lost,
    time_limits.time_limits,
    clocks.clock_skew,
    clocks.schedule_zone_unknown,
    bloat.dead_rows,
    bloat.autovacuum_off,
    bloat.old_transactions,
    bloat.prepared_transactions,
    bloat.replication_slots,
    sqlite.journal_mode,
    sqlite.wal_size,
    fleet.no_worker,
    fleet.queue_unserved,
    fleet.no_scheduler,
    fleet.versions_differ,
    fleet.silent_workers,
    jobs.type_unknown_to_workers,
    jobs.type_unknown_here,
    jobs.stale_runs,
    jobs.overdue_runs,
    jobs.forgotten_pause,
    schedules.schedules_overdue,
    schedules.schedules_disabled,
    schedules.schedules_failing,
    schedules.schedules_retired,
    settings.overridden_settings,
    settings.debug_mode,
)
SAYS_WHAT_THERE_IS = {  # where one of these finds something, examinations that need so much are left out
    database.database_unreachable.name: Needs.DATABASE,
    schema.tables_missing.name: Needs.TABLES,
}


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    findings: list[Finding]
    examined: int
    left_out: list[str]  # names of examinations that need what is not there

    @property
    def found(self) -> list[Finding]:
        """What is not as it should be, or worth knowing; the worst first."""
        worst_first = list(reversed(Level))
        told = [finding for finding in self.findings if finding.level != Level.OK]
        return sorted(told, key=lambda finding: worst_first.index(finding.level))

    @property
    def is_healthy(self) -> bool:
        return all(finding.level in (Level.OK, Level.NOTE) for finding in self.findings)

    @property
    def is_database_away(self) -> bool:
        wanted = (database.database_unreachable.name, Level.PROBLEM)
        return any((finding.name, finding.level) == wanted for finding in self.findings)


def examine(connection: BaseDatabaseWrapper, examinations: Sequence[Examination] = EXAMINATIONS) -> Diagnosis:
    """Do all that fit this database, as far as what they need is there."""
    findings: list[Finding] = []
    left_out: list[str] = []
    enough = Needs.TABLES
    fitting = [each for each in examinations if each.fits(connection)]
    for each in fitting:
        if each.needs > enough:
            left_out.append(each.name)
            continue
        found = _findings(each, connection)
        findings += found
        if each.name in SAYS_WHAT_THERE_IS and any(finding.level != Level.OK for finding in found):
            enough = min(enough, Needs(SAYS_WHAT_THERE_IS[each.name] - 1))
    return Diagnosis(findings=findings, examined=len(fitting) - len(left_out), left_out=left_out)


def _findings(one: Examination, connection: BaseDatabaseWrapper) -> list[Finding]:
    """An error is a finding too, and never the end of the others."""
    try:
        with _limited(one, connection):
            return one.findings(connection)
    except Exception as error:
        told = f"could not be examined: {type(error).__name__}: {database.first_line(error)}"
        advice = "The other findings may tell why."
        return [one.finding(Fault(Level.WARNING, told, advice))]


def _limited(one: Examination, connection: BaseDatabaseWrapper) -> AbstractContextManager[None]:
    """In a transaction of its own, so that an error spoils nothing for others."""
    return nullcontext() if one.needs == Needs.NOTHING else budget(connection, STATEMENT_SECONDS)
