"""How attempts end that could not say so themselves: their process crashed, or there was none for them."""

from __future__ import annotations

from jobs_app.errors import JobCancelled, JobTimeout
from jobs_app.lifecycle.moves import Ended
from jobs_app.text import clean
from jobs_app.worker.flight import Flight
from jobs_app.worker.runner import failed
from jobs_app.worker.verdicts import STOPPED, passed

NO_CHILD_SECONDS = 30.0  # until a job for which no process could be started is due again

CRASHED = "ProcessCrashed"
TOO_LARGE = "MemoryExceeded"


def stopped(flight: Flight, how: str) -> Ended:
    """By force, or by itself after it was asked to stop: as a handler that raises."""
    if flight.cut == "cancelled" or flight.context.cancelled:
        return failed(flight, JobCancelled(f"{STOPPED if flight.cut else 'asked to stop'}: {how}"))
    return failed(flight, JobTimeout(f"{passed(flight)}; {how}"))


def crashed(flight: Flight, error_class: str, error: str) -> Ended:
    """Counted as an attempt, and tried again whatever the type says about errors: it said nothing of this one."""
    job = flight.job
    may_run_again = job.counted_attempts < job.max_attempts
    return Ended(
        id=job.id,
        token=job.token,
        state="queued" if may_run_again else "failed",
        outcome="crashed",
        done_reason="" if may_run_again else "exhausted",
        delay=flight.job_type.backoff.delay_after(job.counted_attempts) if may_run_again else 0.0,
        error_class=error_class,
        error=clean(error),
        log=flight.context.log_text(),
        policy=job.policy,
    )


def not_started(flight: Flight, error: object) -> Ended:
    """The job is not to blame and has not begun: later, unspent."""
    return Ended(
        id=flight.job.id,
        token=flight.job.token,
        state="queued",
        outcome="interrupted",
        delay=NO_CHILD_SECONDS,
        free=True,
        error=clean(f"no process could be started for it: {error}"),
        policy=flight.job.policy,
    )
