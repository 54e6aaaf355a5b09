"""The app's own chores, as job types like any other: scheduled, run, recorded, and seen wherever jobs are seen."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied

from jobs_app.conf import get_settings
from jobs_app.definitions import JobDefinition, job
from jobs_app.errors import Fail, Snooze
from jobs_app.insights import counts
from jobs_app.insights.counts import LiveCounts
from jobs_app.insights.run_selection import RunSelection
from jobs_app.lifecycle import control, grouped
from jobs_app.lifecycle.control.bulk import BULK
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.peek import is_due
from jobs_app.lifecycle.prune import Pruned, prune
from jobs_app.lifecycle.rollups import Sample, minute_of, roll_up, write
from jobs_app.lifecycle.turns import end_turn, take_turn
from jobs_app.logs import event
from jobs_app.registry import SYSTEM_QUEUE, registry

logger = logging.getLogger("jobs_app.chores")

Handler: TypeAlias = Callable[..., dict[str, Any]]

A_MINUTE = 60.0  # seconds
A_DAY = timedelta(days=1)
RECENT = 2 * A_DAY
BREATH_SECONDS = 0.05  # between two batches, so that others get at the database
LONGEST_SECONDS = 3600.0  # of one that prunes
LAST_SECONDS = 10.0  # before its deadline a chore comes to its end: the next one goes on
# A chore that waits for so long has no slot but the one that a long chore is in. That one lets it have the slot.
WAITED_SECONDS = 15.0
ROOM_SECONDS = 10.0

KINDS_OF_ROWS = ("runs", "attempts", "items", "events", "samples")

_kept: dict[str, int] = {}  # what was last told of stale runs by this process


def chore(
    name: str, *, every: float = A_MINUTE, timeout: float, paced_by: str | None = None
) -> Callable[[Handler], JobDefinition[..., Any]]:
    """A job type of the app's own, every so many seconds or as often as a setting says.

    The next slot does what a failed one left, so each has one attempt.
    """
    define = job(
        name=name,
        queue=SYSTEM_QUEUE,
        policy="exclusive",
        max_attempts=1,
        every=every,
        timeout=timeout,
        takes_context=True,
        retention={"succeeded": "1d", "cancelled": "1d"},
    )
    return lambda handler: _paced(define(handler), paced_by)


def _paced(definition: JobDefinition[..., Any], paced_by: str | None) -> JobDefinition[..., Any]:
    paced: JobDefinition[..., Any] = JobDefinition(replace(definition.job_type, paced_by=paced_by))
    registry.register(paced.job_type)
    return paced


@chore("jobs.prune", paced_by="prune_every_seconds", timeout=LONGEST_SECONDS)
def prune_history(context: Any) -> dict[str, int]:
    """Delete what is past its retention: each time what became old lately, once a day all the rest.

    The rest is what is kept longer than other runs of its type, and what ended long after it was enqueued. With one
    worker alone a long one comes to its end in pieces: other chores are done in between.
    """
    goes_on = _goes_on(context)

    def go_on() -> bool:
        return goes_on() and not _do_others_wait()

    pruned = [prune(jobs_connection(), go_on=go_on, window=RECENT)]
    if pruned[0].complete and take_turn(jobs_connection(), "prune all", seconds=LONGEST_SECONDS):
        pruned.append(prune(jobs_connection(), go_on=go_on))
        every = max(A_DAY.total_seconds(), get_settings().prune_every_seconds)
        end_turn(jobs_connection(), "prune all", next_in=every if pruned[-1].complete else 0)
    told = _tell_pruned(pruned)
    if not pruned[-1].complete and _do_others_wait():
        raise Snooze(ROOM_SECONDS, "other chores come first")
    return told


@chore("jobs.reconcile", every=A_MINUTE, timeout=5 * A_MINUTE)
def reconcile_runs(context: Any) -> dict[str, Any]:
    """Move on the stale runs that the settings say, and tell how many others there are."""
    done = control.reconcile("jobs.reconcile", apply=get_settings().reconcile_applies)
    moved = set(done.moved)
    kept = dict(sorted(Counter(stale.kind for stale in done.found if stale.job.pk not in moved).items()))
    if moved:
        logger.warning("stale runs moved on: %s", len(moved), extra=event("stale_runs_moved", count=len(moved)))
    _tell_kept(kept)
    return {"moved": len(moved), "kept": kept}


@chore("jobs.rollup", every=A_MINUTE, timeout=5 * A_MINUTE)
def roll_up_minutes(context: Any) -> dict[str, int]:
    """Write the numbers of the minutes that are over, and how full the queues are now."""
    live = counts.live(jobs_connection())
    write(jobs_connection(), minute_of(live.at), _gauges(live))
    return {"minutes": roll_up(jobs_connection(), _goes_on(context))}


@chore("jobs.notify", every=A_MINUTE, timeout=5 * A_MINUTE)
def tell_failures(context: Any) -> dict[str, int]:
    """Let those who want to know be told of what failed since they last were, all of it in one message."""
    return {"failures": grouped.tell(jobs_connection())}


@job(
    name=BULK,
    queue=SYSTEM_QUEUE,
    max_attempts=10,
    timeout=LONGEST_SECONDS,
    takes_context=True,
    fail_on=PermissionDenied,
    permission="jobs_app.act_in_bulk",  # nobody has it: its payload names who acts, so nobody may write one by hand
)
def act_in_bulk(
    context: Any, verb: str, query: dict[str, Any], actor: str, user: str | None = None, reason: str = ""
) -> dict[str, int]:
    """Do what somebody asked for to all the runs that a filter means, part by part, while they have the permission."""
    goes_on = _goes_on(context)
    selection = RunSelection.of(jobs_connection(), query)
    totals = {name: int(context.meta.get(name, 0)) for name in ("seen", "moved")}
    place: str | None = context.cursor
    while place is not None:
        acted, place = control.bulk_part(verb, selection, _acting(user, actor), reason, place=place, run_id=context.id)
        totals["moved"] += len(acted.moved)
        totals["seen"] += len(acted.moved) + len(acted.skipped)
        context.save_meta(**totals)
        context.progress(totals["seen"], results=totals["moved"], cursor=place or context.cursor)
        context.raise_if_cancelled()
        if place is not None and not (goes_on() and not _do_others_wait()):
            raise Snooze(ROOM_SECONDS, "other chores come first")
    return totals


def _acting(user: str | None, actor: str) -> Any:
    """Who asked, with the permissions they have by now; or the name under which code did."""
    if user is None:
        return actor
    found = get_user_model()._default_manager.filter(pk=user).first()
    if found is None:
        raise Fail(f"{actor}, who asked for it, is not there any more")
    return found


def _goes_on(context: Any) -> Callable[[], bool]:
    """Asked between batches; it takes a breath. False when somebody wants it to stop, or its time is nearly over."""

    def go_on() -> bool:
        time.sleep(BREATH_SECONDS)
        left = context.remaining()
        return not context.cancelled and (left is None or left > LAST_SECONDS)

    return go_on


def _do_others_wait() -> bool:
    return is_due(jobs_connection(), SYSTEM_QUEUE, for_seconds=WAITED_SECONDS)


def _gauges(live: LiveCounts) -> Iterator[Sample]:
    for each in live.queues:
        if each.queue != SYSTEM_QUEUE:
            oldest = 0.0 if each.oldest_due_at is None else (live.at - each.oldest_due_at).total_seconds()
            yield Sample("waiting", each.queue, each.waiting)
            yield Sample("running", each.queue, each.running)
            yield Sample("oldest_wait", each.queue, oldest)


def _tell_pruned(pruned: list[Pruned]) -> dict[str, int]:
    sums = {name: sum(getattr(each, name) for each in pruned) for name in KINDS_OF_ROWS}
    if any(sums.values()):
        told = ", ".join(f"{count} {name}" for name, count in sums.items())
        more = "" if all(each.complete for each in pruned) else "; there is more"
        logger.info("pruned history: %s%s", told, more, extra=event("history_pruned", pruned=sums))
    return sums


def _tell_kept(kept: dict[str, int]) -> None:
    """When it changes: the same line each minute would only hide the others."""
    if kept == _kept:
        return
    _kept.clear()
    _kept.update(kept)
    if kept:
        told = ", ".join(f"{count} {kind}" for kind, count in kept.items())
        text = "stale runs are left as they are: %s. See them with manage.py jobs reconcile --dry-run"
        logger.warning(text, told, extra=event("stale_runs_kept", kept=kept))
    else:
        logger.info("no run is stale any more", extra=event("stale_runs_gone"))
