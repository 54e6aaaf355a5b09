"""How much work fits: the load of a subject, the capacity of a job type, and the plan of a pool of slots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

MINUTES = 60.0  # that a slot has in an hour, and a subject whose jobs run one at a time


@dataclass(frozen=True, slots=True)
class Demand:
    """What a subject asks of a job type: so many jobs an hour, and so many minutes for each."""

    job_type: str
    per_hour: float
    minutes: float

    def __post_init__(self) -> None:
        for name in ("per_hour", "minutes"):
            _require_amount(f"{name} of {self.job_type!r}", getattr(self, name))

    @property
    def load(self) -> float:
        """Minutes of execution in an hour."""
        return self.per_hour * self.minutes


@dataclass(frozen=True, slots=True)
class Load:
    """Minutes of execution that an hour asks for, and the budget it has; None: as many as the pool gives."""

    minutes: float
    budget: float | None = MINUTES

    def __post_init__(self) -> None:
        _require_amount("minutes of a load", self.minutes)
        object.__setattr__(self, "minutes", settled(self.minutes))

    @property
    def drains(self) -> bool:
        """Does it ever catch up with what was late?"""
        return self.budget is None or self.minutes <= self.budget

    @property
    def headroom(self) -> float | None:
        """Minutes that are left; below zero: that are missing."""
        return None if self.budget is None else round(self.budget - self.minutes, 9)

    @property
    def verdict(self) -> str:
        if self.budget is None or self.headroom is None:
            told = _("only the pool limits it: its jobs run beside each other, %(used)s minutes an hour")
            return told % {"used": shown(self.minutes)}
        numbers = {"used": shown(self.minutes), "budget": shown(self.budget), "left": shown(self.headroom)}
        if self.drains:
            return _("drains: %(used)s of %(budget)s minutes an hour are used, %(left)s are left") % numbers
        # Up, so that what is too much never looks as if it just fitted.
        numbers |= {"used": shown(_up(self.minutes)), "missing": shown(_up(-self.headroom))}
        told = _("can never catch up: %(used)s of %(budget)s minutes an hour are needed, %(missing)s are missing")
        return told % numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCapacity:
    """What the slots of one job type get done. None: no limit."""

    job_type: str
    per_hour: float | None  # jobs
    most_subjects: int | None

    @property
    def verdict(self) -> str:
        numbers = {"job_type": self.job_type, "per_hour": shown(self.per_hour), "subjects": shown(self.most_subjects)}
        return _("%(job_type)s, jobs an hour at most: %(per_hour)s, subjects at most: %(subjects)s") % numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """What slots that all job types share get done, with so many subjects."""

    subjects: int
    slots: int
    load: Load  # of all subjects, against all slots
    most_subjects: int | None  # None: no limit

    @property
    def slots_needed(self) -> float:
        return settled(self.load.minutes / MINUTES)

    @property
    def verdict(self) -> str:
        numbers = {"slots": self.slots, "needed": math.ceil(self.slots_needed), "subjects": shown(self.most_subjects)}
        sizing = _("slots needed: %(needed)s of %(slots)s, subjects at most: %(subjects)s") % numbers
        return f"{self.load.verdict}; {sizing}"


def subject_load(demands: Iterable[Demand]) -> Load:
    """Of one subject whose jobs run one at a time, over all its job types."""
    return Load(math.fsum(each.load for each in demands))


def type_capacity(demand: Demand, *, slots: int, processes: int = 1, other_per_hour: float = 0.0) -> TypeCapacity:
    """With `slots` for the type in each process. `other_per_hour` jobs belong to no subject, and go first."""
    total = _total(processes, slots)
    _require_amount("other_per_hour", other_per_hour)
    per_hour = _divided(total * MINUTES, demand.minutes)
    fits = None if per_hour is None else fitting(per_hour - other_per_hour, demand.per_hour)
    return TypeCapacity(job_type=demand.job_type, per_hour=per_hour, most_subjects=fits)


def pool_plan(
    demands: Sequence[Demand], *, subjects: int, slots: int, processes: int = 1, other_minutes: float = 0.0
) -> PoolPlan:
    """With `slots` for all types together in each process. `other_minutes` an hour belong to no subject, and go first.

    Whichever type dominates the backlog may fill all slots, so that the sum of the loads is what counts.
    """
    total = _total(processes, slots)
    _require_count("subjects", subjects)
    _require_amount("other_minutes", other_minutes)
    of_one, budget = math.fsum(each.load for each in demands), total * MINUTES
    load = Load(subjects * of_one + other_minutes, budget)
    return PoolPlan(subjects=subjects, slots=total, load=load, most_subjects=fitting(budget - other_minutes, of_one))


def tightest(plans: Iterable[TypeCapacity | PoolPlan]) -> TypeCapacity | PoolPlan | None:
    """The one that allows the fewest subjects; None where nothing limits them."""
    limited = [(each.most_subjects, place, each) for place, each in enumerate(plans) if each.most_subjects is not None]
    return min(limited)[2] if limited else None


def fitting(total: float, share: float) -> int | None:
    """How many shares fit into the total; None: any number."""
    number = _divided(total, share)
    return None if number is None else max(0, math.floor(number))


def settled(number: float) -> float:
    """Without what floats leave behind: 3600 / 7 jobs of 7 / 60 minutes are 60 minutes, not 60.00000000000001."""
    return float(f"{number:.12g}")


def shown(number: float | None) -> str:
    """Two digits behind the point, where there are any."""
    return _("any number") if number is None else f"{number:.2f}".rstrip("0").rstrip(".")


def _divided(total: float, share: float) -> float | None:
    number = total / share if share else math.inf
    return settled(number) if math.isfinite(number) else None


def _up(number: float) -> float:
    return math.ceil(settled(number * 100)) / 100


def _total(processes: int, slots: int) -> int:
    _require_count("processes", processes)
    _require_count("slots", slots)
    return processes * slots


def _require_amount(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a number from 0, not {value!r}.")


def _require_count(name: str, value: int) -> None:
    if not (isinstance(value, int) and value >= 0):
        raise ValueError(f"{name} must be a whole number from 0, not {value!r}.")
