"""Jobs that were claimed inside a maintenance window: due again at its end, unspent, their handlers not called."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.moves import Ended
from jobs_app.logs import event
from jobs_app.windows import Deferral, Span, Window, deferral, quiet_span

logger = logging.getLogger("jobs_app.worker")


class Calendar:
    """The windows as they were last read, and a span of time in which none of them is open.

    Most claims fall into it, and cost a comparison for each job; where there are no windows, nothing.
    """

    def __init__(self, windows: tuple[Window, ...] = ()) -> None:
        self.windows = windows
        self._quiet: Span | None = None
        self._said: frozenset[Deferral] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.windows)

    def met(self, jobs: Sequence[ClaimedJob]) -> dict[UUID, Ended]:
        """Those that a window covers, and how their attempts end. The moment of the claim counts, by database time."""
        if not self.windows or self._is_quiet(jobs):
            return {}
        kinds = {(job.queue, job.job_type, job.started_at) for job in jobs}
        deferrals = {kind: deferral(self.windows, *kind) for kind in kinds}
        found = ((job, deferrals[job.queue, job.job_type, job.started_at]) for job in jobs)
        self._quiet = quiet_span(self.windows, max(job.started_at for job in jobs))
        self._say(met for met in deferrals.values() if met)
        return {job.id: _deferred(job, *met) for job, met in found if met}

    def _say(self, deferrals: Iterable[Deferral]) -> None:
        """Each window once until it ends, and not at each of thousands of jobs."""
        met = frozenset(deferrals)
        for until, window in met - self._said:
            facts = event("maintenance_window_active", window=window.name, until=until.isoformat())
            text = "maintenance_window_active: what %s covers is due again at %s"
            logger.info(text, window.name, until.isoformat(timespec="seconds"), extra=facts)
        self._said |= met

    def _is_quiet(self, jobs: Sequence[ClaimedJob]) -> bool:
        quiet = self._quiet  # another thread may put another one in its place
        return quiet is not None and all(quiet.contains(job.started_at) for job in jobs)


def _deferred(job: ClaimedJob, until: datetime, window: Window) -> Ended:
    return Ended(
        id=job.id,
        token=job.token,
        state="queued",
        outcome="deferred",
        due_at=until,
        free=True,
        error=f"deferred to {until.isoformat(timespec='seconds')} by the maintenance window {window.name}",
        policy=job.policy,
    )
