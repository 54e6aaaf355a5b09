"""Who did what, when, to what, why, and how many it moved: page by page, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from jobs_app.ids import EPOCH
from jobs_app.insights.run_filter_values import LARGEST_ID, WINDOWS, moment
from jobs_app.lifecycle.bounded import among, beyond
from jobs_app.lifecycle.database import database_now
from jobs_app.models import ControlEvent
from jobs_app.values import UNSTORABLE

PER_PAGE = 50
MOST_SEARCHED = 100_000  # the newest of the time that is asked for
MOST_EXPORTED = 100_000
MOST_REMEMBERED = 1000  # the newest, of which a filter offers who acted and what was done
ROWS_PER_READ = 1000
MICROSECOND = timedelta(microseconds=1)

SAME = ("actor", "action", "target_kind", "target")


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Which events: those for which all of this is true. Empty texts do not matter."""

    actor: str = ""
    action: str = ""
    target_kind: str = ""
    target: str = ""
    window: str = ""  # "all", where neither this nor a time is given
    since: datetime | None = None
    until: datetime | None = None  # not in it

    @classmethod
    def read(cls, query: Mapping[str, Any]) -> tuple[EventFilter, dict[str, str]]:
        """From the parameters of an address what can be used, and what is wrong with the rest, by name."""
        chosen: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for each in fields(cls):
            text = str(query.get(each.name) or "").strip()
            try:
                if text:
                    chosen[each.name] = _read(each.name, text)
            except ValueError as problem:
                problems[each.name] = str(problem)
        return cls(**chosen), problems

    def as_query(self) -> dict[str, str]:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in given.items() if value
        }

    def begins(self, now: datetime) -> datetime | None:
        if self.since or not self.window:
            return self.since
        length = WINDOWS[self.window]
        return now - length if length else None


class Place(NamedTuple):
    """Of an event in the list."""

    at: datetime
    id: int

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // MICROSECOND}.{self.id}"

    @classmethod
    def read(cls, text: str) -> Place | None:
        """None where it is none: the list begins at its beginning."""
        at, _, event_id = text.partition(".")
        try:
            place = cls(EPOCH + int(at) * MICROSECOND, int(event_id))
        except (ValueError, OverflowError):
            return None
        return place if 0 <= place.id <= LARGEST_ID else None


@dataclass(frozen=True, kw_only=True)
class EventPage:
    events: list[ControlEvent]
    newer: Place | None = None  # the page before ends at it
    older: Place | None = None  # the next one begins behind it
    is_cut: bool = False  # there are older ones, in which nobody looked


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What the newest events have, to choose from."""

    actors: list[str]
    actions: list[str]
    target_kinds: list[str]


def page(
    connection: BaseDatabaseWrapper,
    wanted: EventFilter,
    *,
    older: Place | None = None,
    newer: Place | None = None,
    limit: int = PER_PAGE,
) -> EventPage:
    """Those behind `older`, or before `newer`. At most two queries; both by the index of their time."""
    rows = _found(connection, wanted)
    backwards = newer is not None and older is None
    place = newer if backwards else older
    if place is not None:
        rows = rows.filter(beyond(("at", "id"), place, descending=not backwards, model=ControlEvent))
    found = list(rows.order_by(*(("at", "id") if backwards else ("-at", "-id")))[: limit + 1])
    has_more, shown = len(found) > limit, found[:limit]
    if backwards:
        shown.reverse()
    has_newer, has_older = (has_more, True) if backwards else (place is not None, has_more)
    return EventPage(
        events=shown,
        newer=_place(shown[0]) if shown and has_newer else None,
        older=_place(shown[-1]) if shown and has_older else None,
        is_cut=not has_more and not backwards and _is_cut(connection, wanted),
    )


def each(connection: BaseDatabaseWrapper, wanted: EventFilter, *, most: int = MOST_EXPORTED) -> Iterator[ControlEvent]:
    """All of them, newest first, up to so many: read in parts, so that no cursor stays open between them."""
    place: Place | None = None
    while most > 0:
        part = page(connection, wanted, older=place, limit=min(ROWS_PER_READ, most))
        yield from part.events
        most -= len(part.events)
        if part.older is None:
            return
        place = part.older


def remembered(connection: BaseDatabaseWrapper, *, among_newest: int = MOST_REMEMBERED) -> Remembered:
    newest = ControlEvent.objects.using(connection.alias).order_by("-at", "-id")
    rows = list(newest.values_list("actor", "action", "target_kind")[:among_newest])
    actors, actions, kinds = (sorted({row[place] for row in rows} - {""}) for place in range(3))
    return Remembered(actors=actors, actions=actions, target_kinds=kinds)


def _found(connection: BaseDatabaseWrapper, wanted: EventFilter) -> QuerySet[ControlEvent]:
    """Who asks for what has no index looks at the newest ones alone."""
    same = {name: value for name in SAME if (value := getattr(wanted, name))}
    in_time = _in_time(connection, wanted)
    if not same or (wanted.target_kind and wanted.target):
        return in_time.filter(**same)
    return among(in_time.order_by("-at", "-id")[:MOST_SEARCHED]).filter(**same)


def _is_cut(connection: BaseDatabaseWrapper, wanted: EventFilter) -> bool:
    searched = any(getattr(wanted, name) for name in SAME) and not (wanted.target_kind and wanted.target)
    return searched and _in_time(connection, wanted).order_by("-at", "-id")[MOST_SEARCHED : MOST_SEARCHED + 1].exists()


def _in_time(connection: BaseDatabaseWrapper, wanted: EventFilter) -> QuerySet[ControlEvent]:
    since = wanted.begins(database_now(connection))
    span = (Q(at__gte=since) if since else Q()) & (Q(at__lt=wanted.until) if wanted.until else Q())
    return ControlEvent.objects.using(connection.alias).filter(span)


def _place(event: ControlEvent) -> Place:
    return Place(event.at, event.pk)


def _read(name: str, text: str) -> Any:
    if name in ("since", "until"):
        return moment(text)
    if name == "window" and text not in WINDOWS:
        raise ValueError(f"{text!r} is none of {', '.join(WINDOWS)}")
    if UNSTORABLE.search(text):
        raise ValueError("it has characters that no event has")
    return text
