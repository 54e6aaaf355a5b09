"""Does it fit? The formulas of capacity planning, with the rates of the schedules and the durations of history."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _

from jobs_app.capacity import MINUTES, Demand, Load, PoolPlan, TypeCapacity, pool_plan, tightest, type_capacity
from jobs_app.insights import at_once, measured, rates
from jobs_app.insights.at_once import AtOnce
from jobs_app.insights.measured import Duration
from jobs_app.insights.rates import Rule
from jobs_app.lifecycle.database import database_now

Minutes = Mapping[str, float]  # per job of a type, as a caller gives them by hand; what was measured gives way
NONE_GIVEN: Minutes = {}


@dataclass(frozen=True, kw_only=True)
class MeasuredDemand:
    """What one subject's schedules ask of one job type."""

    job_type: str
    per_hour: float
    duration: Duration | None  # of its own runs, where there are enough, else of the type's
    minutes: float | None  # to plan with: given by hand, else the measured p95; None: nobody knows yet

    @property
    def load(self) -> float | None:
        return None if self.minutes is None else self.per_hour * self.minutes


@dataclass(frozen=True, kw_only=True)
class MeasuredSubject:
    subject: str
    demands: list[MeasuredDemand]
    load: Load

    @property
    def unmeasured(self) -> list[str]:
        return [each.job_type for each in self.demands if each.minutes is None]

    @property
    def verdict(self) -> str:
        return told(self.load.verdict, self.unmeasured)


@dataclass(frozen=True, kw_only=True)
class MeasuredType:
    """One job type over all its schedules, against the slots that may run it."""

    job_type: str
    per_hour: float
    subjects: int
    slots: int
    duration: Duration | None
    minutes: float | None
    load: Load | None  # None: nobody knows yet how long its jobs take
    capacity: TypeCapacity | None


@dataclass(frozen=True, kw_only=True)
class MeasuredPool:
    """All schedules, against all slots."""

    at: datetime
    types: list[MeasuredType]
    plan: PoolPlan
    is_capped: bool  # there are more rules than were looked at: the loads are "at least"

    @property
    def unmeasured(self) -> list[str]:
        return [each.job_type for each in self.types if each.minutes is None]

    @property
    def limit(self) -> TypeCapacity | PoolPlan | None:
        """What allows the fewest subjects."""
        return tightest([*(each.capacity for each in self.types if each.capacity), self.plan])

    @property
    def verdict(self) -> str:
        return told(self.plan.verdict, self.unmeasured)


class Basis(NamedTuple):
    """What an answer rests on, as of one moment."""

    connection: BaseDatabaseWrapper
    now: datetime
    room: AtOnce
    minutes: Minutes
    durations: dict[str, Duration | None]  # of job types, as far as they were asked for

    @classmethod
    def read(cls, connection: BaseDatabaseWrapper, minutes: Minutes, *, slots: int | None = None) -> Basis:
        now = database_now(connection)
        return cls(connection, now, at_once.read(connection, now, slots=slots), minutes, {})

    def measure(self, job_types: Sequence[str]) -> None:
        """All of them at once, for who will ask for each."""
        self.durations.update(measured.of_types(self.connection, job_types, now=self.now))

    def duration_of(self, job_type: str, schedules: Sequence[int] = ()) -> Duration | None:
        """Of the runs of these schedules where there are enough, else of the type's."""
        own = measured.of_schedules(self.connection, schedules, now=self.now)
        if own is not None:
            return own
        if job_type not in self.durations:
            self.durations[job_type] = measured.of_type(self.connection, job_type, now=self.now)
        return self.durations[job_type]

    def minutes_of(self, job_type: str, duration: Duration | None) -> float | None:
        """What to plan with. The slow ones count: a pool that is sized for the usual ones falls behind with them."""
        return self.minutes.get(job_type, None if duration is None else duration.p95 / 60)


def of_subject(connection: BaseDatabaseWrapper, subject: str, *, minutes: Minutes = NONE_GIVEN) -> MeasuredSubject:
    """Its job types, by its own runs where there are enough of them."""
    if not subject:
        raise ValueError("a subject has a name; work without a subject is part of the pool.")
    basis = Basis.read(connection, minutes)
    demands = []
    for job_type, group in groupby(rates.of_subject(connection, subject), attrgetter("job_type")):
        rows = list(group)
        duration = basis.duration_of(job_type, [row.pk for row in rows])
        per_hour = sum(rates.per_hour(row, basis.now) for row in rows)
        planned = basis.minutes_of(job_type, duration)
        demands.append(MeasuredDemand(job_type=job_type, per_hour=per_hour, duration=duration, minutes=planned))
    load = Load(sum(each.load or 0.0 for each in demands), basis.room.minutes_for([each.job_type for each in demands]))
    return MeasuredSubject(subject=subject, demands=demands, load=load)


def of_type(
    connection: BaseDatabaseWrapper, job_type: str, *, slots: int | None = None, minutes: Minutes = NONE_GIVEN
) -> MeasuredType:
    """With the slots of living workers, or with so many."""
    basis = Basis.read(connection, minutes, slots=slots)
    schedules = rates.active(connection).filter(job_type=job_type)
    found = rates.by_rule(schedules, basis.now)
    return _type(basis, job_type, found.rules, rates.subjects(schedules).get(job_type, 0))


def of_pool(
    connection: BaseDatabaseWrapper, *, slots: int | None = None, minutes: Minutes = NONE_GIVEN, more: int = 0
) -> MeasuredPool:
    """With the slots of living workers, or with so many; and with so many more subjects, as the usual one now is."""
    basis = Basis.read(connection, minutes, slots=slots)
    schedules = rates.active(connection)
    found = rates.by_rule(schedules, basis.now)
    subjects, counted = rates.all_subjects(schedules), rates.subjects(schedules)
    basis.measure(found.job_types)
    growth = (subjects + more) / subjects if subjects else 1.0
    types = [_type(basis, name, found.rules, counted.get(name, 0), growth) for name in found.job_types]
    plan = _plan(types, found.rules, subjects=subjects, more=more if subjects else 0, slots=basis.room.slots)
    return MeasuredPool(at=basis.now, types=types, plan=plan, is_capped=found.is_capped)


def told(verdict: str, unmeasured: Collection[str]) -> str:
    """A verdict, and what it leaves out."""
    if not unmeasured:
        return verdict
    names = ", ".join(sorted(unmeasured))
    return _("%(verdict)s; without %(names)s, of which no run was measured") % {"verdict": verdict, "names": names}


def _type(basis: Basis, job_type: str, rules: Sequence[Rule], subjects: int, growth: float = 1.0) -> MeasuredType:
    now_with_subject, without = rates.jobs_of(job_type, rules)
    with_subject = now_with_subject * growth
    duration, slots = basis.duration_of(job_type), basis.room.slots_of(job_type)
    minutes = basis.minutes_of(job_type, duration)
    load = capacity = None
    if minutes is not None:
        load = Load((with_subject + without) * minutes, slots * MINUTES)
        usual = Demand(job_type, now_with_subject / subjects if subjects else 0.0, minutes)
        capacity = type_capacity(usual, slots=slots, other_per_hour=without)
    return MeasuredType(
        job_type=job_type,
        per_hour=with_subject + without,
        subjects=subjects,
        slots=slots,
        duration=duration,
        minutes=minutes,
        load=load,
        capacity=capacity,
    )


def _plan(types: Sequence[MeasuredType], rules: Sequence[Rule], *, subjects: int, more: int, slots: int) -> PoolPlan:
    """For subjects that all are as the usual one now is."""
    demands, other_minutes = [], 0.0
    for each in types:
        if each.minutes is not None:
            with_subject, without = rates.jobs_of(each.job_type, rules)
            demands.append(Demand(each.job_type, with_subject / subjects if subjects else 0.0, each.minutes))
            other_minutes += without * each.minutes
    return pool_plan(demands, subjects=subjects + more, slots=slots, other_minutes=other_minutes)
