"""How a job type comes back by itself: what `@job`, a source and an operator may say, by one set of rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from jobs_app import cron, values
from jobs_app.timetable import Timetable

CATCH_UPS = ("all", "once", "skip")
OVERLAPS = ("allow", "skip", "queue_one")
WHENS = ("every", "per_hour", "cron", "at")
MOST_PER_TURN = 10_000
HOUR = 3600
SHORTEST_INTERVAL = 0.001  # seconds; ids of slots sort by milliseconds


@dataclass(frozen=True, kw_only=True)
class ScheduleOptions:
    """What was said, each None where nothing was."""

    timetable: Timetable | None = None
    payload: Mapping[str, Any] | None = None
    catch_up: str | None = None
    catch_up_max: int | None = None
    catch_up_window: float | None = None  # seconds, as those below
    spread: float | None = None
    jitter: float | None = None
    phase: float | None = None
    overlap: str | None = None

    def over(self, others: ScheduleOptions) -> ScheduleOptions:
        """These, and where they say nothing the others."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return ScheduleOptions(
            **{name: getattr(others, name) if value is None else value for name, value in said.items()}
        )


UNSCHEDULED = ScheduleOptions()


def per_hour(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.001 <= value <= HOUR:
        return float(value)
    raise ValueError(f"use a number from 0.001 to {HOUR}, such as 4, or 0.25 for every four hours")


def interval(value: object) -> float:
    if (found := values.period(value)) >= SHORTEST_INTERVAL:
        return found
    raise ValueError(f"use {SHORTEST_INTERVAL} seconds at least")


def optional(reader: Any) -> Any:
    return lambda value: None if value is None else reader(value)


READERS: dict[str, Any] = {
    "every": optional(interval),
    "per_hour": optional(per_hour),
    "cron": optional(partial(values.text, longest=200, shortest=1)),
    "timezone": partial(values.text, longest=64, shortest=1),
    "at": optional(values.moment),
    "payload": optional(values.mapping),
    "catch_up": optional(partial(values.choice, of=CATCH_UPS)),
    "catch_up_max": optional(partial(values.whole, low=1, high=MOST_PER_TURN)),
    "catch_up_window": optional(values.period),
    "spread": optional(values.seconds),
    "jitter": optional(values.seconds),
    "phase": optional(values.seconds),
    "overlap": optional(partial(values.choice, of=OVERLAPS)),
}


def take(chosen: dict[str, Any]) -> ScheduleOptions:
    """Take what is said of a schedule out of options that were read one by one. ValueError if it does not fit."""
    taken = {name: chosen.pop(name) for name in READERS if name in chosen}
    when = {name: taken.pop(name, None) for name in (*WHENS, "timezone")}
    timetable = _timetable({name: value for name, value in when.items() if value is not None})
    return ScheduleOptions(timetable=timetable, **taken)


def interval_of(rate: float) -> float:
    """Seconds between the slots of so many an hour, whole ones: a grid that people can read."""
    return float(max(1, round(HOUR / rate)))


def _timetable(when: Mapping[str, Any]) -> Timetable | None:
    said = [name for name in WHENS if name in when]
    if len(said) > 1:
        raise ValueError(f"{' and '.join(f'{name}=' for name in said)} each say when; give one of them")
    if "timezone" in when and "cron" not in when:
        raise ValueError("timezone= is about cron=, which is not given")
    if not said:
        return None
    if "cron" in when:
        return _by_cron(when["cron"], when.get("timezone", "UTC"))
    if "per_hour" in when:
        return Timetable(every=interval_of(when["per_hour"]))
    return Timetable(every=when.get("every"), at=when.get("at"))


def _by_cron(expression: str, zone: str) -> Timetable:
    try:
        cron.parse(expression, zone)  # it must be sound, and have a slot
    except ValueError as problem:
        raise ValueError(f"cron={expression!r} in {zone} cannot be used: {str(problem).rstrip('.')}") from None
    return Timetable(cron=expression, timezone=zone)
