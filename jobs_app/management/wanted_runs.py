"""The runs that a verb is wanted for: those whose ids are given, or all that a filter means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import UUID

from django.core.management.base import CommandError

from jobs_app.insights import run_list
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_list import Counted
from jobs_app.insights.run_selection import SAMPLE, Look, RunSelection, look, select
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.control.acting import begin
from jobs_app.lifecycle.control.bulk import Part
from jobs_app.lifecycle.control.runs import ENDED, NOT_FOUND, RUNS_PER_CHUNK, run_ids
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.exit_codes import WRONG_USAGE
from jobs_app.management.run_filters import filter_of, is_filtered
from jobs_app.models import Run, State

OnIds = Callable[[list[UUID], Any, str], Acted]


class Wanted(Protocol):
    def look(self) -> Look:
        """Before anything is done."""
        ...

    def parts(self) -> Iterator[Acted]:
        """Do it, a part and a transaction at a time."""
        ...


@dataclass(frozen=True, kw_only=True)
class Named:
    verb: str
    ids: list[UUID]
    on_ids: OnIds
    actor: Any
    reason: str

    def look(self) -> Look:
        rows = run_list.by_id(jobs_connection(), self.ids)
        skipped = Counter(why for run in rows if (why := _why_not(self.verb, run)))
        skipped[NOT_FOUND] = len(self.ids) - len(rows)
        return Look(counted=Counted(len(rows)), sample=rows[:SAMPLE], skipped=+skipped, is_large=False)

    def parts(self) -> Iterator[Acted]:
        for first in range(0, len(self.ids), RUNS_PER_CHUNK):
            yield self.on_ids(self.ids[first : first + RUNS_PER_CHUNK], self.actor, self.reason)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    verb: str
    selection: RunSelection
    limit: int | None
    actor: Any
    reason: str

    def look(self) -> Look:
        user = None if isinstance(self.actor, str) else self.actor
        if self.limit is None:
            return look(self.selection, self.verb, user)
        found = look(self.selection, self.verb, user, most=self.limit)
        return found if found.counted.number < self.limit else replace(found, counted=Counted(self.limit))

    def parts(self) -> Iterator[Acted]:
        chosen = self.selection if self.limit is None else First(self.selection, self.limit)
        place: str | None = ""
        while place is not None:
            acted, place = control.bulk_part(self.verb, chosen, self.actor, self.reason, place=place)
            yield acted


@dataclass
class First:
    """The first so many of a selection."""

    selection: RunSelection
    left: int

    @property
    def is_empty(self) -> bool:
        return self.selection.is_empty

    def as_query(self) -> dict[str, str]:
        return self.selection.as_query()

    def take(self, place: str, limit: int) -> Part:
        part = self.selection.take(place, min(limit, self.left))
        self.left -= len(part.ids)
        return part if self.left else Part(part.ids, None)


def wanted_of(verb: str, on_ids: OnIds, options: dict[str, Any]) -> Named | Chosen:
    by = {"actor": options["actor"], "reason": options["reason"]}
    if options["ids"]:
        if is_filtered(options) or options["limit"] is not None:
            raise CommandError("name runs by their ids, or choose them: not both.", returncode=WRONG_USAGE)
        return Named(verb=verb, ids=run_ids(options["ids"]), on_ids=on_ids, **by)
    connection = jobs_connection()
    now = database_now(connection)
    chosen = filter_of(options, now)
    _check(verb, chosen, options["actor"])
    return Chosen(verb=verb, selection=select(connection, verb, chosen, now), limit=options["limit"], **by)


def _why_not(verb: str, run: Run) -> str | None:
    """As far as its state tells."""
    if verb == "retry":
        return f"runs on worker {run.worker_id}" if run.state == State.RUNNING else None
    return f"has already {ENDED[run.state]}" if run.state in ENDED else None


def _check(verb: str, chosen: RunFilter, actor: Any) -> None:
    """Who may not see payloads must not guess at them by acting on what a search finds."""
    if chosen.is_empty:
        told = f"which runs? {verb.capitalize()} some by their ids, or choose them by --state, --job-type, ..."
        raise CommandError(told, returncode=WRONG_USAGE)
    if chosen.reads_payload:
        begin(verb, "view_payload", actor, "")
