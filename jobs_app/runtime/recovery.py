"""What every process does now and then, without a leader: recovery, and the sweeping out of what was left behind."""

from __future__ import annotations

import logging
import time
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.forsaken import wake_forsaken
from jobs_app.lifecycle.idempotency import forget_keys
from jobs_app.lifecycle.lost_workers import LostWorker, find_lost
from jobs_app.lifecycle.recover import Recovered, recover
from jobs_app.logs import event
from jobs_app.signals import jobs_recovered, worker_lost

logger = logging.getLogger("jobs_app.runtime")

FORGET_EVERY_SECONDS = 60.0

_forgot_at = float("-inf")  # by the monotonic clock; when this process last left no expired key behind


def recover_silent(connection: BaseDatabaseWrapper) -> None:
    """Give back or end the jobs of workers that went silent, and tell it. Who waits for a key that nobody has is
    woken, and old idempotency keys go, in the same round. With AUTO_RECOVER off, silent workers' jobs are left to
    reconciliation."""
    lost = find_lost(connection)  # before their jobs are moved on
    try:
        done = recover(connection, leases=get_settings().auto_recover)
    finally:  # nobody else will find these
        for worker, jobs in lost.items():
            _tell_lost(worker, jobs)
    if done.total:
        _tell(done)
    wake_forsaken(connection)
    _forget_old_keys(connection)


def _forget_old_keys(connection: BaseDatabaseWrapper) -> None:
    global _forgot_at
    if time.monotonic() - _forgot_at >= FORGET_EVERY_SECONDS and not forget_keys(connection):
        _forgot_at = time.monotonic()


def _tell(done: Recovered) -> None:
    logger.warning(
        "recovered jobs of silent workers: %s due again, %s failed; %s expired unstarted",
        len(done.requeued),
        len(done.failed),
        len(done.expired),
        extra=event("jobs_recovered", **{what: len(ids) for what, ids in done._asdict().items()}),
    )
    jobs_recovered.tell(None, **done._asdict())


def _tell_lost(worker: LostWorker, jobs: set[UUID]) -> None:
    logger.warning(
        "worker %s went silent at %s with %s jobs in hand",
        worker.name or worker.id,
        worker.seen_at.isoformat(timespec="seconds"),
        len(jobs),
        extra=event("worker_lost", lost_worker=worker.id, kind=worker.kind, host=worker.host, count=len(jobs)),
    )
    worker_lost.tell(None, worker=worker, jobs=jobs)
