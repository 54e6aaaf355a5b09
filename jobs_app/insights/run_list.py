"""One list of live and finished runs, a page at a time, newest first, and how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import OuterRef, Subquery

from jobs_app.insights import run_keys
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_keys import Found, Reading
from jobs_app.insights.run_order import Key, Order, order_of
from jobs_app.insights.runs import readable
from jobs_app.lifecycle.database import database_now, pinned_reading
from jobs_app.models import JobAttempt, Run

PAGE_SIZE = 50
MOST_COUNTED = 10_000
MOST_EXPORTED = 100_000
EXPORT_SIZE = 500  # read by one statement
LARGE = ("payload", "meta", "result")  # columns that no list shows


@dataclass(frozen=True, kw_only=True)
class RunPage:
    runs: list[Run]  # each with `read_at`, and with `error_class` of its last attempt
    newer: Key | None = None  # the place before which the page of newer ones ends
    older: Key | None = None
    searched_to: datetime | None = None  # runs beyond it were not looked at: `older`, or `newer`, goes on there
    is_cut: bool = False  # there are more live ones than were looked at


@dataclass(frozen=True)
class Counted:
    number: int
    is_capped: bool = False  # at least so many


def page(
    connection: BaseDatabaseWrapper,
    chosen: RunFilter,
    *,
    older: Key | None = None,
    newer: Key | None = None,
    size: int = PAGE_SIZE,
) -> RunPage:
    """The runs after `older` or before `newer`; else the first ones."""
    now = database_now(connection)
    with pinned_reading(connection):
        if newer is not None:
            found = _read(connection, chosen, newer, now=now, size=size, back=True)
            if len(found.runs) == size or found.searched_to:
                return found
            older = None  # there is less than a page of newer ones: the first page has them all
        return _read(connection, chosen, older, now=now, size=size)


def each(
    connection: BaseDatabaseWrapper, chosen: RunFilter, *, large: bool = False, most: int = MOST_EXPORTED
) -> Iterator[Any]:
    """One after the other in the order of the list, `most` of them; what comes meanwhile is not among them. However
    long it takes, no statement or transaction does."""
    now = database_now(connection)
    frozen, place, left = chosen.frozen(now), None, most
    while left > 0:
        with pinned_reading(connection):
            found = _read(connection, frozen, place, now=now, size=min(left, EXPORT_SIZE), large=large)
        yield from found.runs
        left -= len(found.runs)
        if found.older is None:
            return
        place = found.older


def count(connection: BaseDatabaseWrapper, chosen: RunFilter, *, most: int = MOST_COUNTED) -> Counted:
    """Exactly, up to so many."""
    total, is_capped = 0, False
    now = database_now(connection)
    with pinned_reading(connection):
        for reading in readings(connection, chosen, now, order_of(chosen)):
            total += reading.rows()[: most + 1].count()
            is_capped = is_capped or (total <= most and reading.may_be_cut and reading.is_more())
    return Counted(min(total, most), is_capped or total > most)


def readings(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime, order: Order) -> list[Reading]:
    """Of the tables in which there can be such a run. Live ones first: a run that ends in between is then seen twice,
    and not missed."""
    live = [run_keys.live(connection, chosen, now, order)] if chosen.is_live else []
    return live + ([run_keys.finished(connection, chosen, now, order)] if chosen.is_finished else [])


def _read(
    connection: BaseDatabaseWrapper,
    chosen: RunFilter,
    place: Key | None,
    *,
    now: datetime,
    size: int,
    back: bool = False,
    large: bool = False,
) -> RunPage:
    """From a place on, or back from it."""
    order = order_of(chosen).turned if back else order_of(chosen)
    tables = readings(connection, chosen, now, order)
    keys, reached = _merged([reading.keys(place, limit=size + 1) for reading in tables], order)
    shown, is_more = keys[:size], len(keys) > size
    on = shown[-1] if is_more else reached
    behind = shown[0] if place and shown else place if back else None
    return RunPage(
        runs=by_id(connection, [key.id for key in (shown[::-1] if back else shown)], large=large),
        newer=on if back else behind,
        older=behind if back else on,
        searched_to=None if is_more or reached is None else reached.at,
        is_cut=chosen.is_live and tables[0].is_more(),
    )


def by_id(connection: BaseDatabaseWrapper, ids: Sequence[UUID], *, large: bool = False) -> list[Run]:
    """The runs with these ids, in their order; without their large columns, unless they are asked for."""
    last = JobAttempt.objects.using(connection.alias).filter(job_id=OuterRef("pk"), number=OuterRef("attempts"))
    asked = readable(connection).filter(pk__in=ids).defer(*(() if large else LARGE))
    with pinned_reading(connection):
        found: dict[Any, Run] = {
            run.pk: run for run in asked.annotate(error_class=Subquery(last.values("error_class")))
        }
    return [found[run_id] for run_id in ids if run_id in found]


def _merged(found: list[Found], order: Order) -> tuple[list[Key], Key | None]:
    """All keys in order, each run once, and no further than each search got."""
    reached = [each.reached for each in found if each.reached]
    end = order.sort(reached)[0] if reached else None
    keys = {key.id: key for each in found for key in each.keys}
    return order.sort([key for key in keys.values() if end is None or not order.is_past(key, end)]), end
