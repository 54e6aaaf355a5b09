"""The one meaning of a filter of runs: what a list shows, a number counted, an export writes and a bulk act touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.utils.translation import gettext as _

from jobs_app.errors import OptionInvalid
from jobs_app.insights import run_search
from jobs_app.insights.run_filter_values import (
    ANY_TIME,
    DEFAULT_WINDOW,
    FINISHED_STATES,
    LABELS,
    LIVE_STATES,
    READERS,
    STATES,
    WINDOWS,
    as_text,
)
from jobs_app.insights.run_search import Search
from jobs_app.registry import SYSTEM_NAMES, SYSTEM_QUEUE

ABOUT_TIME = ("window", "since", "until")
BY_DUE = "due"


class Chip(NamedTuple):
    """One filter that is in force, in words, and the query of the list without it."""

    name: str
    label: str
    value: str
    query: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which runs: those for which all of this is true. Times are of `queued_at`.

    Without `window`, `since` and `until` it is about the last 24 hours; about any time, where it names what is live, a
    schedule, or a run. The app's own chores are in it only where they, their queue or their schedule are named.
    """

    state: str = ""
    job_type: str = ""
    queue: str = ""
    subject: str = ""
    worker: str = ""  # id
    error: str = ""  # class of the last attempt's error, with its module or without
    window: str = ""
    since: datetime | None = None
    until: datetime | None = None  # not in it
    attempts: str = ""  # "more": than one
    longer: float | None = None  # seconds, of the last attempt
    schedule: int | None = None
    parent: UUID | None = None
    open: bool = False  # failed, and not run again since
    q: str = ""
    order: str = ""  # "due": what waits, by when it is due

    @classmethod
    def from_query(cls, query: Mapping[str, Any]) -> Self:
        """From the parameters of an address. Names that it does not know are not its own; OptionInvalid tells all
        values that cannot be used."""
        found, problems = cls.read(query)
        if problems:
            raise OptionInvalid(" ".join(problems.values()))
        return found

    @classmethod
    def read(cls, query: Mapping[str, Any]) -> tuple[Self, dict[str, str]]:
        """The same with what can be used, and what is wrong with the rest, by name."""
        given = {name: str(query[name]).strip() for name in READERS if query.get(name) not in (None, "")}
        problems: dict[str, str] = {}
        chosen = _read(given, problems)
        try:
            search, named = run_search.parse(chosen.pop("q", ""))
        except ValueError as problem:
            problems["q"] = _problem("q", given["q"], problem)
        else:
            chosen |= {"q": str(search)} | _read(named, problems)
        found = cls(**chosen)
        if found.since and found.until and found.since >= found.until:
            problems["until"] = _("The time ends before it begins.")
        return found, problems

    def as_query(self) -> dict[str, str]:
        """As the parameters of an address, always in the same order, without what is the default."""
        query = {name: as_text(getattr(self, name)) for name in READERS if getattr(self, name)}
        if query.get("window") == self.default_window or self.since or self.until:
            query.pop("window", None)
        return query

    def without(self, *names: str) -> RunFilter:
        cleared: dict[str, Any] = {each.name: each.default for each in fields(self) if each.name in names}
        return replace(self, **cleared)

    def frozen(self, now: datetime) -> RunFilter:
        """The same set for ever: what is queued from `now` on is not in it."""
        until = min(self.until, now) if self.until else now
        return replace(self, window="", since=self.begins(now), until=until)

    def begins(self, now: datetime) -> datetime | None:
        """The first moment that it is about; None: there is none."""
        if self.since or self.until:
            return self.since
        length = WINDOWS[self.window or self.default_window]
        return now - length if length else None

    @property
    def default_window(self) -> str:
        return ANY_TIME if self.names_a_place or self.state in LIVE_STATES else DEFAULT_WINDOW

    @property
    def names_a_place(self) -> bool:
        """What it names has few runs, wherever in time they are."""
        return bool(self.schedule or self.parent or self.search.run_id)

    @property
    def is_empty(self) -> bool:
        """Nothing but a time is chosen: so it means everything."""
        return not self.as_query().keys() - {*ABOUT_TIME, "order"}

    @property
    def is_live(self) -> bool:
        """May a live run be in it?"""
        return self.state not in FINISHED_STATES and not self.open

    @property
    def is_finished(self) -> bool:
        """May one that has ended be in it?"""
        return self.state not in LIVE_STATES and self.order != BY_DUE

    @property
    def has_chores(self) -> bool:
        return self.names_a_place or self.queue == SYSTEM_QUEUE or self.job_type.startswith(SYSTEM_NAMES)

    @cached_property
    def search(self) -> Search:
        return run_search.parse(self.q)[0]

    @property
    def reads_payload(self) -> bool:
        """Who may not see payloads must not learn of them by searching."""
        return bool(self.search.payload)

    @property
    def chips(self) -> list[Chip]:
        query = self.as_query()
        return [
            Chip(name, str(LABELS[name]), self._in_words(name, value), self.without(name).as_query())
            for name, value in query.items()
        ]

    def _in_words(self, name: str, value: str) -> str:
        words = {"state": STATES, "attempts": {"more": _("more than one")}, "open": {"1": _("yes")}}
        words |= {"order": {BY_DUE: _("by when it is due")}, "window": {ANY_TIME: _("any time")}}
        return str(words.get(name, {}).get(value, value))  # type: ignore[attr-defined]


def _read(given: Mapping[str, str], problems: dict[str, str]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        try:
            chosen[name] = READERS[name](value)
        except ValueError as problem:
            problems[name] = _problem(name, value, problem)
    return chosen


def _problem(name: str, value: str, problem: ValueError) -> str:
    told = {"name": LABELS[name], "value": repr(value[:100]), "problem": problem}
    return _("%(name)s %(value)s cannot be used: %(problem)s.") % told
