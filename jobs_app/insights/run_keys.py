"""Which runs a filter means, in order: read by the best index from a place on, and never more than so many rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from jobs_app.insights import run_match
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_match import Conditions, all_of
from jobs_app.insights.run_order import BY_ID, NEWEST, Key, Order
from jobs_app.lifecycle.bounded import among, held
from jobs_app.models import Job, JobRun

MOST_ROWS = 100_000  # looked at for one answer, where no index has what is asked for


class Access(NamedTuple):
    """A way into a table: the conditions that its index answers, and the order in which it has the rows."""

    covers: tuple[str, ...] = ()
    order: Order | None = None  # None: they are few
    lead: str = (
        ""  # the column with which its index begins, before those of the order; "-" where it is read from its end
    )


class Found(NamedTuple):
    keys: list[Key]
    reached: Key | None = None  # where the search ended: nothing after it was looked at


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The rows of one table that a filter means, in one order. To be read with `pinned_reading`."""

    model: type[Job] | type[JobRun]
    connection: BaseDatabaseWrapper
    conditions: Conditions
    access: Access
    order: Order

    def keys(self, after: Key | None = None, *, limit: int) -> Found:
        """From a place on. An answer that is shorter is all there is, unless the search ended before."""
        found = [Key(*row) for row in self.rows(after).values_list(self.order.moment, "id")[:limit]]
        is_short = self._is_in_order and self._rest and len(found) < limit
        return Found(found, self._last_looked_at(after) if is_short else None)

    def rows(self, after: Key | None = None) -> QuerySet[Any]:
        """From a place on, in order."""
        looked_at = self._looked_at(after)
        if self._is_in_order and not self._rest:
            return looked_at
        rows = among(looked_at[:MOST_ROWS]).filter(all_of(self._rest))
        if after is not None and not self._is_in_order:
            rows = rows.filter(self.order.after(after, self.model))
        return rows.order_by(*self._by)

    def first(self, most: int) -> QuerySet[Any]:
        """Of the first so many that are looked at, those that are meant, in any order."""
        return among(self._looked_at(None)[:most]).filter(all_of(self._rest))

    def is_more(self, most: int | None = None) -> bool:
        """Are there more to be looked at than so many, or than ever are?"""
        most = most or MOST_ROWS
        return bool(self._looked_at(None).values_list("id")[most : most + 1])  # `exists()` would forget the order

    @property
    def may_be_cut(self) -> bool:
        """Is there something asked for that an index does not have?"""
        return bool(self._rest) or not self._is_in_order

    @property
    def _rest(self) -> Conditions:
        return {name: each for name, each in self.conditions.items() if name not in self.access.covers}

    @property
    def _is_in_order(self) -> bool:
        return self.access.order is not None and self.access.order.columns == self.order.columns

    @property
    def _by(self) -> list[str]:
        """The leading column has one value; it is named so that no other index will do."""
        if not self.access.lead or not self._is_in_order:
            return self.order.by
        is_turned = self.access.order is not None and self.access.order.descending != self.order.descending
        column = self.access.lead.removeprefix("-")
        return [f"-{column}" if self.access.lead.startswith("-") != is_turned else column, *self.order.by]

    def _looked_at(self, after: Key | None) -> QuerySet[Any]:
        covered = {name: each for name, each in self.conditions.items() if name in self.access.covers}
        rows = self.model.objects.using(self.connection.alias).filter(all_of(covered))
        if not self._is_in_order:
            return rows.order_by(*(self.access.order.by if self.access.order else ()))
        if after is not None:
            rows = rows.filter(self.order.after(after, self.model))
        return rows.order_by(*self._by)

    def _last_looked_at(self, after: Key | None) -> Key | None:
        rows = self._looked_at(after).values_list(self.order.moment, "id")[MOST_ROWS - 1 : MOST_ROWS]
        return next((Key(*row) for row in rows), None)


def live(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime, order: Order) -> Reading:
    """Live runs have no index by when they were queued: the newest by their ids are looked at, and put in order."""
    return Reading(
        model=Job,
        connection=connection,
        conditions=run_match.of_jobs(connection, chosen, now),
        access=_first_that_fits(_TO_JOBS, chosen),
        order=order,
    )


def finished(connection: BaseDatabaseWrapper, chosen: RunFilter, now: datetime, order: Order) -> Reading:
    access = _first_that_fits(_TO_RUNS, chosen)
    conditions = run_match.of_runs(connection, chosen, now)
    if lead := access.lead.removeprefix("-"):
        conditions[lead] = held(lead, getattr(chosen, lead), JobRun)
    return Reading(model=JobRun, connection=connection, conditions=conditions, access=access, order=order)


_Fits = Callable[[RunFilter], Any]

# The first that fits is used. A subject has fewer runs than a job type, and failures are fewer than either.
_TO_RUNS: list[tuple[_Fits, Access]] = [
    (lambda chosen: chosen.search.run_id, Access(("id",))),
    (lambda chosen: chosen.parent, Access(("parent",))),
    (lambda chosen: chosen.schedule, Access(("schedule",), BY_ID, "-schedule")),
    (lambda chosen: chosen.subject, Access(("subject", "time"), NEWEST, "-subject")),
    (lambda chosen: chosen.open or chosen.state == "failed", Access(("state", "time"), NEWEST)),
    (lambda chosen: chosen.job_type, Access(("job_type", "time"), NEWEST, "-job_type")),
    (lambda chosen: True, Access(("time",), NEWEST)),
]
_TO_JOBS: list[tuple[_Fits, Access]] = [
    (lambda chosen: chosen.search.run_id, Access(("id",))),
    (lambda chosen: chosen.parent, Access(("parent",))),
    (lambda chosen: chosen.schedule, Access(("schedule",))),
    (lambda chosen: chosen.state == "running", Access(("state",))),
    (lambda chosen: True, Access(order=BY_ID)),
]


def _first_that_fits(ways: list[tuple[_Fits, Access]], chosen: RunFilter) -> Access:
    return next(access for fits, access in ways if fits(chosen))
