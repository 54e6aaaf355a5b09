"""How a job ends that a worker on another host had: by the rules of local workers, from what it said."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from jobs_app.errors import Fail, JobTimeout, Retry
from jobs_app.lifecycle.held import as_claimed
from jobs_app.lifecycle.moves import Ended
from jobs_app.text import clean
from jobs_app.worker.flight import Flight, board
from jobs_app.worker.runner import failed, interrupted, succeeded
from jobs_app.worker.verdicts import accept

if TYPE_CHECKING:
    from jobs_app.remote.reporting import Told


class RemoteError(Exception):
    """What a remote worker gave as the reason of a failed attempt."""


def end_of(told: Told, row: Any, results: int, target: int | None) -> Ended | None:
    """Done goes before an error, and so does a target that is reached. None: it goes on."""
    is_reached = target is not None and results >= target
    if told.done or is_reached:
        return _succeeded(told, _flight(told, row), _done_reason(target, is_reached))
    if told.error is not None:
        return _failed(told, _flight(told, row))
    if told.release:
        return interrupted(_flight(told, row), state="queued", error="given back by its worker")
    return None


def _flight(told: Told, row: Any) -> Flight:
    """The attempt as a local worker has it."""
    flight = board(as_claimed(row), worker=row.worker_id, worker_id=row.worker_id, lease=0)
    flight.started = time.monotonic() - (row.read_at - row.started_at).total_seconds()
    flight.context.cancelled = row.cancel_requested or row.abort_requested
    if told.log:
        flight.context.log(told.log)
    return flight


def _succeeded(told: Told, flight: Flight, done_reason: str) -> Ended:
    try:
        accept(flight)
    except JobTimeout as error:
        return failed(flight, error)
    ended = succeeded(flight, told.result)
    ended.done_reason = done_reason
    return ended


def _failed(told: Told, flight: Flight) -> Ended:
    ended = failed(flight, _error(told))
    ended.traceback = ""  # ours would tell nothing of theirs
    if told.error_class:
        ended.error_class = clean(told.error_class, 200)
    return ended


def _done_reason(target: int | None, is_reached: bool) -> str:
    if target is None:
        return "worker_done"
    return "target_reached" if is_reached else "no_more_results"


def _error(told: Told) -> Exception:
    text = told.error or "the worker gave no reason"
    if told.permanent:
        return Fail(text)
    return RemoteError(text) if told.retry_after is None else Retry(text, after=told.retry_after)
