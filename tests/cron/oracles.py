"""Witnesses of what an expression means that share nothing with the app: they look at every minute."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim

MINUTE = timedelta(minutes=1)
RANGES = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
NAMES = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
NAMES |= {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}


class Change:
    """One change of the clocks of a zone."""

    def __init__(self, zone: str, at: datetime) -> None:
        self.zone = zone
        self.at = at

    def __repr__(self) -> str:
        return f"{self.zone} {self.at:%Y-%m-%dT%H:%MZ}"
