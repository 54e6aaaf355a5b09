"""The runs that a verb can act on, of those that a filter means, as they were at one moment; and a look at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import OptionInvalid
from jobs_app.insights import run_keys, run_list
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_filter_values import FINISHED_STATES
from jobs_app.insights.run_keys import Reading
from jobs_app.insights.run_list import Counted
from jobs_app.insights.run_order import BY_ID, Key, order_of
from jobs_app.lifecycle.control.bulk import MOST_AT_ONCE, Part
from jobs_app.lifecycle.database import database_now, pinned_reading
from jobs_app.models import Run
from jobs_app.registry import registry

SAMPLE = 10
# The state that a verb means where the filter names none, or a wider one; and those it can do something about.
MEANT = {
    "retry": ({"": "failed", "live": "waiting"}, ("failed", "cancelled", "succeeded", "finished", "waiting")),
    "cancel": ({"": "live"}, ("live", "waiting", "running")),
    "abort": ({"": "live"}, ("live", "waiting", "running")),
    "fail": ({"": "live"}, ("live", "waiting", "running")),
    "requeue": ({"": "running", "live": "running"}, ("running",)),
}
WAITS = ("queued", "scheduled", "retrying")


@dataclass(frozen=True)
class RunSelection:
    connection: BaseDatabaseWrapper
    chosen: RunFilter  # of one moment, and of states that the verb can do something about
    is_empty: bool = False

    @classmethod
    def of(cls, connection: BaseDatabaseWrapper, query: Mapping[str, Any]) -> RunSelection:
        """As it was written down."""
        chosen = RunFilter.from_query(query)
        return cls(connection, chosen, is_empty=chosen.is_empty)

    def as_query(self) -> dict[str, str]:
        return self.chosen.as_query()

    def take(self, place: str, limit: int) -> Part:
        after = Key.read(place) if place else None
        with pinned_reading(self.connection):
            found = self._reading().keys(after, limit=limit)
        keys = found.keys
        on = keys[-1] if len(keys) == limit else found.reached
        return Part([key.id for key in keys], str(on) if on else None)

    def _reading(self) -> Reading:
        """Live ones by their ids, which needs no sorting: a walk comes by all of them, however many there are."""
        now = database_now(self.connection)
        if self.chosen.is_live:
            return run_keys.live(self.connection, self.chosen, now, BY_ID)
        return run_keys.finished(self.connection, self.chosen, now, order_of(self.chosen))


@dataclass(frozen=True, kw_only=True)
class Look:
    """What an act would do, before it is done."""

    counted: Counted
    sample: list[Run]
    skipped: Counter[str]  # reason -> how many of the first thousand
    is_large: bool  # a job of the app's own would do it


def select(connection: BaseDatabaseWrapper, verb: str, chosen: RunFilter, moment: datetime) -> RunSelection:
    """What is queued after the moment is not in it. OptionInvalid where the verb can do nothing with such runs."""
    return RunSelection(connection, narrowed(verb, chosen).frozen(moment), is_empty=chosen.is_empty)


def narrowed(verb: str, chosen: RunFilter) -> RunFilter:
    """What waits is cancelled, and what failed is retried, once, although the filter may show more."""
    meant, possible = MEANT[verb]
    state = "failed" if chosen.open and not chosen.state else chosen.state
    state = meant.get(state, state)
    if (("waiting" if state in WAITS else state) not in possible) or (chosen.open and state != "failed"):
        raise OptionInvalid(f"{verb}: nothing can be done with runs that are {chosen.state or 'failed'}.")
    return replace(chosen.without("order"), state=state, open=state == "failed")


def look(selection: RunSelection, verb: str, user: Any, *, most: int = MOST_AT_ONCE) -> Look:
    """At the first so many; nothing is changed, or locked. Without a user it is code that looks, which may do all."""
    first = selection.take("", MOST_AT_ONCE + 1)
    counted = run_list.count(selection.connection, selection.chosen)
    with pinned_reading(selection.connection):
        rows = run_list.by_id(selection.connection, first.ids[: min(most, MOST_AT_ONCE)])
    reasons = _why_not_again(rows, user) if verb == "retry" else Counter()
    is_large = len(first.ids) > MOST_AT_ONCE or first.place is not None
    return Look(counted=counted, sample=rows[:SAMPLE], skipped=reasons, is_large=is_large)


def _why_not_again(rows: Iterable[Run], user: Any) -> Counter[str]:
    """Where it is known without trying: by the type of the run."""
    found: Counter[str] = Counter()
    for run in rows:
        job_type = registry.find(run.job_type)
        if job_type is None:
            found[f"is of job type {run.job_type!r}, which is not registered"] += run.state in FINISHED_STATES
        elif job_type.permission is not None and user is not None and not user.has_perm(job_type.permission):
            found[f"needs the permission {job_type.permission}"] += 1
        elif not job_type.is_enabled:
            found[f"is of job type {run.job_type!r}, which is switched off"] += run.state in FINISHED_STATES
    return +found
