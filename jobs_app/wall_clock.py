"""Which moment it is when a clock on a wall shows a time: also on the days when it is put forward or back."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo


def zone_of(name: str) -> tzinfo:
    """The zone of this name. ValueError if there is none, or if nobody installed the data of zones here."""
    if name == "UTC":
        return UTC  # needs no data
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not there, not a name of one, a folder of several
        raise ValueError('use the name of a time zone, such as "UTC" or "Europe/Berlin"') from None


def moment_of(day: date, shown: time, zone: tzinfo) -> datetime:
    """The moment, in UTC, when clocks of this zone show that time on that day.

    The first one where they show it twice. Where they are put forward over it, the moment at which they are.
    """
    wall = datetime.combine(day, shown)
    found = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    return found if _shown(found, zone) == wall else _put_forward(wall, zone, found)


def _put_forward(wall: datetime, zone: tzinfo, after: datetime) -> datetime:
    """Before that moment clocks show less than `wall`, from it on they show more. Zones shift at whole seconds."""
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC).replace(microsecond=0)
    seconds = range(int((after - before).total_seconds()) + 1)
    first = bisect_left(seconds, True, key=lambda passed: _shown(before + timedelta(seconds=passed), zone) >= wall)
    return before + timedelta(seconds=first)


def _shown(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)
