"""A scheduler in this process: signals, the wait for its end, the exit code."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.database import database_now, jobs_connection, prepare
from jobs_app.lifecycle.overrides import read_overrides
from jobs_app.logs import event
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.runtime.janitor import Janitor
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.pulse import Shown, examine
from jobs_app.runtime.recovery import recover_silent
from jobs_app.runtime.stopping import StopSignals
from jobs_app.scheduler.due import ticking_types
from jobs_app.scheduler.due_items import DueFound
from jobs_app.scheduler.loop import Scheduler, say_switched_off
from jobs_app.scheduler.reading import Read, SourceFailed, read_source
from jobs_app.scheduler.sync import sync_declared
from jobs_app.scheduler.tick import Ticked, tick
from jobs_app.sources import sources

logger = logging.getLogger("jobs_app.scheduler")

LOOK_SECONDS = 0.1
PARTLY_DONE = 4


def run_scheduler(
    signals: StopSignals, *, poll: float | None = None, beside: Sequence[Loop] = (), shown: Shown = nullcontext
) -> int:
    """Tick until told to stop; the tick that runs then is brought to its end. The exit code.

    `beside` are loops that share the process; `shown` is how monitoring sees it.
    """
    prepare(jobs_connection())
    jobs_connection().close()  # the thread has its own
    scheduler = Scheduler(poll)
    loops: list[Loop] = [scheduler, Janitor(), *beside]
    with shown(lambda: examine([scheduler])):
        for loop in loops:
            loop.start()
        while not signals.received.wait(LOOK_SECONDS):
            pass  # also where it is switched off: a supervisor would only start it again
        _end(loops, signals)
        code = 1 if signals.forced else 0
    logger.info("scheduler stopped", extra=event("scheduler_stopped"))
    return code


def _end(loops: Sequence[Loop], signals: StopSignals) -> None:
    for loop in loops:
        loop.stop()
    while any(loop.is_alive() for loop in loops) and not signals.forced:
        for loop in loops:
            loop.join(LOOK_SECONDS)


def tick_once() -> int:
    """One tick, for an outer cron. The exit code."""
    if not get_settings().scheduler_enabled:
        say_switched_off()
        return 0
    logger.info("⏰ Starting scheduler...", extra=event("tick_began"))
    connection = jobs_connection()
    prepare(connection)
    read_overrides(connection)
    sync_declared(connection)
    read = [read_source(connection, source, lambda: True) for source in sources]
    ticked = _tick_all(connection)
    recover_silent(connection)
    failed = ticked.failed.total() + sum(_failures(found) for found in read if found is not None)
    _say(ticked, [found for found in read if isinstance(found, DueFound)], failed)
    return PARTLY_DONE if failed else 0


def _failures(read: Read) -> int:
    return 1 if isinstance(read, SourceFailed) else len(read.refused)


def _tick_all(connection: BaseDatabaseWrapper) -> Ticked:
    """What became of the host's schedules. Nobody asked for the app's own chores, so nothing is told of them."""
    types = ticking_types(connection, database_now(connection))
    own = [name for name in types if registry.get(name).queue == SYSTEM_QUEUE]
    tick(connection, job_types=own)
    return tick(connection, job_types=[name for name in types if name not in own])


def _say(ticked: Ticked, due: Sequence[DueFound], failed: int) -> None:
    for found in due:
        logger.info("📊 %s %s found", found.found, found.noun, extra=event("due_found", count=found.found))
    if ticked.rows or not due:
        logger.info("📊 %s schedules found", ticked.rows, extra=event("due_found", count=ticked.rows))
    made = len(ticked.made) + sum(len(found.made) for found in due)
    logger.info("✅ %s jobs scheduled successfully", made, extra=event("jobs_scheduled", count=made))
    _say_made(ticked, due)
    if failed:
        facts = event("tick_failed", count=failed)
        logger.error("❌ %s schedules or rows of sources failed", failed, extra=facts)
    else:
        logger.info("🎉 Scheduler executed successfully", extra=event("tick_done"))


def _say_made(ticked: Ticked, due: Sequence[DueFound]) -> None:
    for found in due:
        for run_id, subject in found.made:
            facts = event("slot_enqueued", job=str(run_id), subject=subject)
            logger.info("📦 Job created for %s %s (%s)", found.noun_of_one, subject, run_id, extra=facts)
    for made in ticked.made:
        facts = event("slot_enqueued", job=str(made.run_id), schedule=made.schedule, slot=made.slot.isoformat())
        logger.info("📦 Job created for %s (%s)", made.schedule, made.run_id, extra=facts)
