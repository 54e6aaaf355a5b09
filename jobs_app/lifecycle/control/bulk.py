"""One verb on all the runs that a filter means: few at once, many by a job of the app's own that tells its progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from jobs_app.drafts import Drafts
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.control.again import retry_step
from jobs_app.lifecycle.control.lost import fail_step, requeue_step
from jobs_app.lifecycle.control.runs import RUNS_PER_CHUNK, Step, on_runs
from jobs_app.lifecycle.control.stop import abort_step, cancel_step
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.lifecycle.enqueue import enqueue_one
from jobs_app.registry import registry

BULK = "jobs.bulk"  # the job type
MOST_AT_ONCE = 1000  # while somebody waits for the answer
MOST_LOOKS = 5  # at parts of the history, to know whether they are so few


class Verb(NamedTuple):
    permission: str
    step: Step


VERBS = {
    "retry": Verb("retry_run", partial(retry_step, once=True)),
    "cancel": Verb("cancel_run", cancel_step),
    "abort": Verb("abort_run", abort_step),
    "fail": Verb("fail_run", fail_step),
    "requeue": Verb("reconcile_runs", requeue_step),
}


class Part(NamedTuple):
    ids: list[UUID]
    place: str | None  # where to go on; None: that was the last


class Selection(Protocol):
    """Runs that are chosen by what they are, and were there at one moment: the same ones however often it is asked."""

    @property
    def is_empty(self) -> bool: ...

    def as_query(self) -> dict[str, str]: ...

    def take(self, place: str, limit: int) -> Part:
        """The next ones from a place on, `limit` at most; from "" the first."""
        ...


@dataclass(kw_only=True)
class Bulked(Acted):
    """What was moved at once; or the run of the job that moves them."""

    run_id: UUID | None = None


def bulk(verb: str, selection: Selection, actor: Any, reason: str = "") -> Bulked:
    """Act on all of the selection. Every event of it has the filter."""
    act = _begin(verb, selection, actor, reason)
    ids = _if_few(selection)
    if ids is None:
        return _hand_over(act, selection)
    done = Bulked()
    done.add(on_runs(ids, act, VERBS[verb].step))
    return done


def bulk_part(
    verb: str, selection: Selection, actor: Any, reason: str = "", *, place: str = "", run_id: UUID | None = None
) -> tuple[Acted, str | None]:
    """Act on the next part of it, and tell where to go on. The same part again does nothing twice: what was moved is
    not as the verb wants it any more, and what was run again is left alone."""
    act = _begin(verb, selection, actor, reason, {"bulk": str(run_id)} if run_id else {})
    part = selection.take(place, RUNS_PER_CHUNK)
    return on_runs(part.ids, act, VERBS[verb].step), part.place


def _begin(verb: str, selection: Selection, actor: Any, reason: str, about: Mapping[str, Any] | None = None) -> Act:
    if verb not in VERBS:
        raise OptionInvalid(f"bulk: there is no verb {verb!r}. Known are: {', '.join(VERBS)}.")
    act = begin(verb, VERBS[verb].permission, actor, reason)
    if selection.is_empty:
        raise OptionInvalid(f"{verb}: a filter that chooses nothing means every run. Choose a state, a job type, ...")
    return replace(act, about={"filter": selection.as_query(), **(about or {})})


def _if_few(selection: Selection) -> list[UUID] | None:
    ids: list[UUID] = []
    place = ""
    for _ in range(MOST_LOOKS):
        part = selection.take(place, MOST_AT_ONCE + 1 - len(ids))
        ids += part.ids
        if len(ids) > MOST_AT_ONCE:
            return None
        if part.place is None:
            return ids
        place = part.place
    return None


def _hand_over(act: Act, selection: Selection) -> Bulked:
    """The event of the whole; each part has its own."""
    connection = jobs_connection()
    user = None if act.user is None else str(act.user.pk)
    asked = {"verb": act.name, "query": selection.as_query(), "actor": act.actor, "user": user, "reason": act.reason}
    draft, _ = Drafts(registry.get(BULK), {"actor": act.actor}).draft(asked)
    with write_savepoint(connection):
        stored = enqueue_one(draft)
        done = Bulked(run_id=stored.id, more=True)
        act.record(connection, "run", str(stored.id), done, {"job_type": BULK})
    return done
