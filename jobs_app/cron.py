"""temp"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from croniter import croniter


@dataclass(frozen=True)
class Cron:
    expression: str
    timezone: str

    def after(self, moment: datetime) -> datetime | None:
        return (
            croniter(self.expression, moment.astimezone(ZoneInfo(self.timezone)), second_at_beginning=True)
            .get_next(datetime)
            .astimezone(UTC)
        )

    def newest(self, moment: datetime) -> datetime | None:
        from datetime import timedelta

        return (
            croniter(
                self.expression,
                moment.astimezone(ZoneInfo(self.timezone)) + timedelta(seconds=1),
                second_at_beginning=True,
            )
            .get_prev(datetime)
            .astimezone(UTC)
        )


@lru_cache(maxsize=1000)
def parse(expression: str, timezone: str = "UTC") -> Cron:
    try:
        ZoneInfo(timezone)
        croniter(expression, second_at_beginning=True)
    except Exception as error:
        raise ValueError(str(error)) from None
    return Cron(expression, timezone)
