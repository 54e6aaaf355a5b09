"""`settings.JOBS["EAGER"]`, for development without a worker: what is enqueued runs here, once it is committed."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from django.core.signals import setting_changed
from django.dispatch import receiver

from jobs_app.conf import get_settings
from jobs_app.errors import RunNotFound, SettingsInvalid
from jobs_app.handles import RunHandle
from jobs_app.logs import about, event
from jobs_app.signals import job_enqueued

logger = logging.getLogger("jobs_app.worker")

MOST_AT_ONCE = 1000  # jobs that follow from one enqueue

_waiting: ContextVar[deque[RunHandle] | None] = ContextVar("jobs_app_eager", default=None)


def listen() -> None:
    """While the setting says so; asked at start, and when a test changes the settings."""
    if get_settings().eager:
        job_enqueued.connect(run_soon)
    else:
        job_enqueued.disconnect(run_soon)


def run_soon(*, run: RunHandle, **kwargs: Any) -> None:
    """Run one attempt of what is due: now, or, enqueued by a job that runs so itself, right after that one."""
    waiting = _waiting.get()
    if waiting is not None:
        waiting.append(run)
        return
    waiting = deque([run])
    outer = _waiting.set(waiting)
    try:
        _work_off(waiting)
    finally:
        _waiting.reset(outer)


def _work_off(waiting: deque[RunHandle]) -> None:
    from jobs_app.worker.inline import InlineWorker

    worker = InlineWorker()
    for _ in range(MOST_AT_ONCE):
        if not waiting:
            return
        run = waiting.popleft()
        job = worker.take(run.id)
        if job is None:  # due later, held, or in other hands
            continue
        done = worker.work(job)
        if done.error is not None:
            facts = event("eager_job_raised", **about(job))
            logger.error("job=%s type=%s raised in eager mode", job.id, job.job_type, exc_info=done.error, extra=facts)
        with suppress(RunNotFound):
            run.refresh()
        if isinstance(done.error, KeyboardInterrupt):
            raise done.error
    text = "eager mode ran %s jobs that followed from one enqueue; the others wait for a worker"
    logger.error(text, MOST_AT_ONCE, extra=event("eager_limit_reached", count=MOST_AT_ONCE))


@receiver(setting_changed)
def _listen_again(*, setting: str, **kwargs: Any) -> None:
    if setting == "JOBS":
        with suppress(SettingsInvalid):  # whoever uses them will hear it
            listen()
