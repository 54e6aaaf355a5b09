"""What a deadline or a wish to stop makes of the way a handler ends.

A thread cannot be stopped, so in a thread both are cooperative. A success stands when it comes before the deadline and
the grace after it are over, also where somebody had asked the job to stop. An error after the deadline is a timeout,
and an error after a wish to stop is a cancelled run: neither is retried as an error would be. What was stopped by force
ends as it was stopped, whatever it returns or raises.
"""

from __future__ import annotations

import asyncio
import logging
import time

from jobs_app.conf import get_settings
from jobs_app.errors import Cancel, Directive, JobCancelled, JobTimeout
from jobs_app.logs import about, event
from jobs_app.text import clean
from jobs_app.timeouts import passed_text
from jobs_app.worker.flight import Flight

logger = logging.getLogger("jobs_app.worker")

STOPPED = "stopped by force"


def refuse_if_unfit(flight: Flight) -> None:
    """Before the handler is called: raises where it must not be."""
    if flight.unfit is not None:
        raise flight.unfit
    if flight.context.cancelled:
        flight.context.raise_if_cancelled()


def accept(flight: Flight) -> None:
    """After the handler returned: raises where that does not count any more."""
    if flight.cut is None and flight.timeout is None:
        return
    if flight.cut == "cancelled":
        raise JobCancelled(f"{STOPPED}; what it returned is not kept")
    if flight.cut == "timeout" or flight.is_past_deadline(get_settings().timeout_grace_seconds):
        raise JobTimeout(f"{passed(flight)}; what it returned is not kept")


def meant(flight: Flight, error: BaseException) -> BaseException:
    """What an error stands for, with the error itself behind it."""
    if flight.cut == "cancelled" and not isinstance(error, Cancel):
        return _behind(JobCancelled(STOPPED + _told(error)), error)
    if isinstance(error, Directive | JobTimeout) or flight.context.cancelled:
        return error
    if is_timeout(flight, error):
        return _behind(JobTimeout(passed(flight) + _told(error)), error)
    return error


def is_timeout(flight: Flight, error: BaseException) -> bool:
    return isinstance(error, JobTimeout) or flight.cut == "timeout" or flight.is_past_deadline()


def tell_if_overdue(flight: Flight) -> None:
    """Once. It keeps its slot, its lease and its key: what still runs must not run a second time beside itself."""
    if not flight.is_overdue_told and flight.is_past_deadline(get_settings().timeout_grace_seconds):
        flight.is_overdue_told = True
        elapsed, limit = round(_elapsed(flight), 1), flight.timeout or 0.0
        facts = event("job_overdue", **about(flight.job), duration_ms=round(elapsed * 1000), limit_seconds=limit)
        text = "job=%s is overdue: it runs for %g s, its limit is %g s"
        logger.warning(text, flight.job.id, elapsed, limit, extra=facts)


def passed(flight: Flight) -> str:
    """That its time is over, in words for whoever reads the error."""
    return passed_text(_elapsed(flight), flight.timeout or 0.0)


def _elapsed(flight: Flight) -> float:
    now = time.monotonic()
    return now - (flight.started or now)


def _told(error: BaseException) -> str:
    """The error in a few words; none for the one that a forced stop raises itself."""
    if isinstance(error, asyncio.CancelledError | JobTimeout):
        return ""
    return f": {type(error).__name__}: {clean(error)}"


def _behind(told: BaseException, error: BaseException) -> BaseException:
    told.__cause__ = error
    return told
