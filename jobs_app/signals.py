"""Facts, in the past tense, sent after they are stored: a receiver can never undo one."""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

from jobs_app.logs import event

logger = logging.getLogger("jobs_app.signals")


class Fact(Signal):
    """A signal whose receivers' errors are logged, and harm nobody: neither other receivers nor whoever tells it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def tell(self, sender: Any, **facts: Any) -> None:
        try:
            answers = self.send_robust(sender, **facts)
        except Exception as error:  # an async receiver cannot be awaited from inside an event loop
            self._say_failed("an async receiver", error)
            return
        for receiver, answer in answers:
            if isinstance(answer, Exception):
                self._say_failed(getattr(receiver, "__qualname__", repr(receiver)), answer)

    def _say_failed(self, receiver: str, error: Exception) -> None:
        """Without the traceback, which Django logs itself."""
        facts = event("receiver_failed", signal=self.name, receiver=receiver, error=error)
        logger.error("a receiver of %s failed: %s (%s)", self.name, receiver, error, extra=facts)


# sender: the JobType; run: the RunHandle. Sent when the enqueue is committed, for what was created by code in this
# process; schedules and other processes tell nothing here.
job_enqueued = Fact("job_enqueued")

# sender: the JobType (None where this process does not know it); job: the ClaimedJob
job_started = Fact("job_started")

# sender and job as above; ended: how the attempt ended (state, outcome, error, delay, ...); worker_id: whose attempt it
# was. A retry has state "queued".
job_finished = Fact("job_finished")

# sender: None; requeued, failed, expired: ids of jobs whose worker went silent (`failed` also if
# one was cancelled meanwhile), found by recovery or reconciled by people, or that were never started in time
jobs_recovered = Fact("jobs_recovered")

# sender: None; worker: the LostWorker (id, kind, name, host, pid, seen_at); jobs: ids of those that it had in hand.
# Sent once, by the process that found it first. What becomes of the jobs is told by jobs_recovered as their leases end.
worker_lost = Fact("worker_lost")
