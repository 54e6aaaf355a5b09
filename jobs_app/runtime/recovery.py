"""Recovery as every process does it now and then: no leader, a word in the log, a signal."""

from __future__ import annotations

import logging

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.recover import recover
from jobs_app.signals import jobs_recovered

logger = logging.getLogger("jobs_app.runtime")


def recover_silent(connection: BaseDatabaseWrapper) -> None:
    """Give back or end the jobs of workers that went silent, and tell it."""
    done = recover(connection)
    if not done.total:
        return
    logger.warning(
        "recovered jobs of silent workers: %s due again, %s failed; %s expired unstarted",
        len(done.requeued),
        len(done.failed),
        len(done.expired),
    )
    jobs_recovered.send_robust(None, requeued=done.requeued, failed=done.failed, expired=done.expired)
