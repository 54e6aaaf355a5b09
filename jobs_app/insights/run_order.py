"""The orders that lists of runs have, and the places in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Model, Q
from django.utils.translation import gettext as _

from jobs_app.ids import EPOCH
from jobs_app.insights.run_filter import BY_DUE, RunFilter
from jobs_app.lifecycle.bounded import beyond

MICROSECOND = timedelta(microseconds=1)


class Key(NamedTuple):
    """The place of a run: its moment to the microsecond, and its id, since thousands may share a moment."""

    at: datetime
    id: UUID

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // MICROSECOND}.{self.id.hex}"

    @classmethod
    def read(cls, text: str) -> Key:
        """ValueError where it is none."""
        at, _dot, run_id = text.partition(".")
        try:
            return cls(EPOCH + int(at) * MICROSECOND, UUID(run_id))
        except (ValueError, OverflowError):
            raise ValueError(_("%(place)s is no place in the list") % {"place": repr(text[:100])}) from None


@dataclass(frozen=True)
class Order:
    moment: str  # the column
    descending: bool = True
    by_moment: bool = True  # else by id alone

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.moment, "id") if self.by_moment else ("id",)

    @property
    def by(self) -> list[str]:
        return [f"-{column}" if self.descending else column for column in self.columns]

    @property
    def turned(self) -> Order:
        return replace(self, descending=not self.descending)

    def after(self, key: Key, model: type[Model]) -> Q:
        """What comes after it."""
        return beyond(self.columns, self.rank(key), descending=self.descending, model=model)

    def rank(self, key: Key) -> tuple[Any, ...]:
        """Ids compare here as they do in the database."""
        return tuple(key) if self.by_moment else (key.id,)

    def sort(self, keys: list[Key]) -> list[Key]:
        return sorted(keys, key=self.rank, reverse=self.descending)

    def is_past(self, key: Key, place: Key) -> bool:
        """Does it come after the place?"""
        return self.rank(key) < self.rank(place) if self.descending else self.rank(key) > self.rank(place)


NEWEST = Order("queued_at")
BY_ID = Order("queued_at", by_moment=False)  # in a schedule, ids are in the order of its slots
DUE = Order("run_at", descending=False)


def order_of(chosen: RunFilter) -> Order:
    if chosen.order == BY_DUE:
        return DUE
    return BY_ID if chosen.schedule else NEWEST
