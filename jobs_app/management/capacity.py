"""Plans as the command line tells them."""

from __future__ import annotations

from typing import Any

from jobs_app import durations
from jobs_app.capacity import Demand, Load, PoolPlan, TypeCapacity, settled, shown
from jobs_app.insights.capacity import MeasuredDemand, MeasuredType
from jobs_app.insights.measured import Duration


def load_data(load: Load) -> dict[str, Any]:
    names = ("minutes", "budget", "headroom", "drains", "verdict")
    return {name: getattr(load, name) for name in names}


def pool_data(plan: PoolPlan) -> dict[str, Any]:
    names = ("subjects", "slots", "slots_needed", "most_subjects", "verdict")
    return {"load": load_data(plan.load)} | {name: getattr(plan, name) for name in names}


def limit_data(limit: TypeCapacity | PoolPlan | None) -> dict[str, Any]:
    """How many subjects fit, and the job type that allows no more; none where it is the pool."""
    most = None if limit is None else limit.most_subjects
    return {"most_subjects": most, "limiting_type": limit.job_type if isinstance(limit, TypeCapacity) else None}


def limit_text(limit: TypeCapacity | PoolPlan | None) -> str:
    if limit is None:
        return "Answer: nothing limits the number of subjects"
    by = f"the slots of {limit.job_type}" if isinstance(limit, TypeCapacity) else "the slots that all types share"
    return f"Answer: {limit.most_subjects} subjects at most, limited by {by}"


def given_data(demand: Demand, capacity: TypeCapacity) -> dict[str, Any]:
    asked = {"job_type": demand.job_type, "per_hour": demand.per_hour, "minutes": demand.minutes}
    return asked | {"load": settled(demand.load)} | _most_data(capacity)


def given_row(demand: Demand, capacity: TypeCapacity) -> tuple[object, ...]:
    """Type, jobs, time of one, minutes, and what fits."""
    takes = durations.exact(settled(demand.minutes * 60))
    return (demand.job_type, number(demand.per_hour), takes, number(demand.load), *_most(capacity))


def demand_data(demand: MeasuredDemand) -> dict[str, Any]:
    return _measured_data(demand) | {"load": demand.load}


def demand_row(demand: MeasuredDemand) -> tuple[object, ...]:
    """Type, jobs, times, minutes."""
    load = None if demand.load is None else number(demand.load)
    return (demand.job_type, number(demand.per_hour), *_times(demand.duration), load)


def type_data(each: MeasuredType) -> dict[str, Any]:
    room = {"subjects": each.subjects, "slots": each.slots, "load": None if each.load is None else load_data(each.load)}
    return _measured_data(each) | room | _most_data(each.capacity)


def type_row(each: MeasuredType) -> tuple[object, ...]:
    """Type, jobs, subjects, times, minutes, slots, and what fits."""
    load = None if each.load is None else number(each.load.minutes)
    asked = (each.job_type, number(each.per_hour), each.subjects, *_times(each.duration), load, each.slots)
    return (*asked, *_most(each.capacity))


def number(value: float | None) -> int | str:
    """A whole number where it is one, so that a column of them lines up."""
    return int(settled(value)) if value is not None and settled(value).is_integer() else shown(value)


def _measured_data(each: MeasuredDemand | MeasuredType) -> dict[str, Any]:
    """What is asked of a job type, and what was measured of it."""
    asked = {"job_type": each.job_type, "per_hour": settled(each.per_hour), "minutes": each.minutes}
    if each.duration is None:
        return asked | {"runs": 0, "p50_seconds": None, "p95_seconds": None}
    return asked | {"runs": each.duration.runs, "p50_seconds": each.duration.p50, "p95_seconds": each.duration.p95}


def _times(duration: Duration | None) -> tuple[str | None, str | None]:
    return (None, None) if duration is None else (durations.rough(duration.p50), durations.rough(duration.p95))


def _most_data(capacity: TypeCapacity | None) -> dict[str, Any]:
    names = {"per_hour_at_most": "per_hour", "most_subjects": "most_subjects"}
    return {ours: capacity and getattr(capacity, theirs) for ours, theirs in names.items()}


def _most(capacity: TypeCapacity | None) -> tuple[object, object]:
    """Jobs an hour and subjects; nothing where nobody knows."""
    return (None, None) if capacity is None else (number(capacity.per_hour), number(capacity.most_subjects))
