"""What every process does now and then, without a leader: recovery, and the sweeping out of what was left behind."""

from __future__ import annotations

import logging
import time

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.forsaken import wake_forsaken
from jobs_app.lifecycle.idempotency import forget_keys
from jobs_app.lifecycle.recover import Recovered, recover
from jobs_app.signals import jobs_recovered

logger = logging.getLogger("jobs_app.runtime")

FORGET_EVERY_SECONDS = 60.0

_forgot_at = float("-inf")  # by the monotonic clock; when this process last left no expired key behind


def recover_silent(connection: BaseDatabaseWrapper) -> None:
    """Give back or end the jobs of workers that went silent, and tell it. Who waits for a key that nobody has is
    woken, and old idempotency keys go, in the same round. With AUTO_RECOVER off, silent workers' jobs are left to
    reconciliation."""
    done = recover(connection, leases=get_settings().auto_recover)
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
    )
    jobs_recovered.send_robust(None, requeued=done.requeued, failed=done.failed, expired=done.expired)
