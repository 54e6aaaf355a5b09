"""The scheduler as a thread: on time for the next slot, whatever the poll is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import DatabaseError, InterfaceError, OperationalError

import jobs_app
from jobs_app.conf import get_settings
from jobs_app.lifecycle.database import database_now
from jobs_app.lifecycle.overrides import read_overrides
from jobs_app.lifecycle.presence import Presence, announce, beat, leave
from jobs_app.logs import event
from jobs_app.models import WorkerKind
from jobs_app.registry import registry
from jobs_app.runtime.enabled import is_enabled
from jobs_app.runtime.identity import Identity
from jobs_app.runtime.loops import Loop
from jobs_app.runtime.memory import rss_bytes
from jobs_app.runtime.recovery import recover_silent
from jobs_app.scheduler import metrics
from jobs_app.scheduler.due import next_due, ticking_types
from jobs_app.scheduler.reading import SourceReader
from jobs_app.scheduler.sync import declared, sync_declared
from jobs_app.scheduler.tick import Made, Ticked, tick
from jobs_app.sources import sources

logger = logging.getLogger("jobs_app.scheduler")

BEATS_PER_LEASE = 3
FOLLOW_SECONDS = 1.0  # between looks at what operators changed of the settings
LOOK_SECONDS = 1.0  # for schedules that somebody made, resumed or triggered, and for those of a scheduler that died
LOOK_SHARE = 0.05  # of the time, at most, goes into looking, where many schedules wait for their next turn
TRY_AGAIN_SECONDS = 5.0
REST_SHARE = 0.9  # of the poll: what is behind has its next turn with the next poll, not just after it


@dataclass
class Chore:
    """Something done now and then. It says itself after how many seconds it wants to be done again."""

    do: Callable[[], float]
    due: float = 0.0  # by the monotonic clock
    is_failing: bool = False

    def do_if_due(self) -> None:
        """A database that is away is for the loop, which waits for it. Any other fault is this chore's own."""
        if time.monotonic() < self.due:
            return
        try:
            seconds = self.do()
            self.is_failing = False
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            if not self.is_failing:
                facts = event("scheduler_chore_failed", chore=self.name, error=error)
                text = "the scheduler's %s failed (%s); trying again"
                logger.error(text, self.name, error, exc_info=error, extra=facts)
            seconds, self.is_failing = TRY_AGAIN_SECONDS, True
        self.due = time.monotonic() + seconds

    @property
    def name(self) -> str:
        return getattr(self.do, "__name__", "chore").strip("_")


class Scheduler(Loop):
    """Ticks at start, then every `poll` seconds and whenever a slot is due. Also recovers, as every worker does.

    Without a `poll` of its own it follows the settings, also as operators change them.
    """

    def __init__(self, poll: float | None = None) -> None:
        super().__init__("scheduler")
        self._own_poll = poll
        self._followed = get_settings()
        self._who = _presence(Identity.new())
        self._reader = SourceReader(poll)
        self._beating = Chore(self._beat)
        self._chores = [
            Chore(self._follow_settings),
            self._beating,
            Chore(self._sync),
            Chore(self._tick),
            Chore(self._look),
            Chore(self._recover),
        ]

    @property
    def poll(self) -> float:
        return self._own_poll or get_settings().scheduler_poll_seconds

    def run(self) -> None:
        if not get_settings().scheduler_enabled:
            self.is_off = True
            say_switched_off()
            return
        self._say_started()
        self._reader.start()
        super().run()
        self._reader.join()
        self._leave()

    def _say_started(self) -> None:
        facts = event("scheduler_started", scheduler=self._who.id, poll_seconds=self.poll)
        text = "scheduler %s started; it reads code and sources every %g s"
        logger.info(text, self._who.id, self.poll, extra=facts)
        for name, options in declared().items():
            if is_enabled(registry.get(name)):
                facts = event("schedule_declared", job_type=name, timetable=str(options.timetable))
                logger.info("Scheduled %s: %s", name, options.timetable, extra=facts)
        for source in sources:
            facts = event("schedule_declared", job_types=list(source.job_types), source=source.name)
            logger.info("Scheduled %s: by %s", ", ".join(source.job_types), source.name, extra=facts)

    def stop(self) -> None:
        self._reader.stop()
        super().stop()

    def run_once(self) -> None:
        for chore in self._chores:
            chore.do_if_due()
        self.pause(max(0.0, min(chore.due for chore in self._chores) - time.monotonic()))

    def _follow_settings(self) -> float:
        """What was planned by the settings of before is done now, and then by those in force."""
        read_overrides(self.connection)
        before, self._followed = self._followed, get_settings()
        if self._followed is not before:
            for chore in self._chores:
                chore.due = 0.0
        if self._followed.scheduler_poll_seconds != before.scheduler_poll_seconds:
            self._reader.follow_settings(self.connection)
        return FOLLOW_SECONDS

    def _sync(self) -> float:
        # Again and again, because which types are gone depends on which processes are left.
        done = sync_declared(self.connection)
        for what, names in done._asdict().items():
            if names:
                facts = event("schedules_synced", change=what, job_types=list(names))
                logger.info("schedules %s: %s", what, ", ".join(names), extra=facts)
        for name in done.retired:
            if name not in registry:
                facts = event("unknown_job_type", job_type=name)
                logger.warning("unknown_job_type: no code has %s; its schedules rest", name, extra=facts)
        return self.poll

    def _tick(self) -> float:
        """Each poll: what is due, and what is behind."""
        began = time.monotonic()
        self._give_turns()
        seconds = time.monotonic() - began
        if seconds > self.poll:
            text = "scheduler_tick_skipped: a tick took %.1f s, longer than the poll of %g s"
            facts = event("scheduler_tick_skipped", duration_ms=round(seconds * 1000), poll_seconds=self.poll)
            logger.warning(text, seconds, self.poll, extra=facts)
        return self.poll

    def _look(self) -> float:
        """In between: is a slot due? Then it has its turn now; else wait for it."""
        now = database_now(self.connection)
        slot, cost = self._next_slot(now)
        if slot is not None and slot <= now:
            ticked = self._give_turns()
            slot, cost = self._next_slot(now)
            if slot is not None and slot <= ticked.at:
                slot = None  # another scheduler has it in hand
        rest = max(LOOK_SECONDS, cost / LOOK_SHARE)
        if slot is None:
            return rest
        return max(0.0, min(rest, (slot - database_now(self.connection)).total_seconds()))

    def _give_turns(self) -> Ticked:
        began = time.monotonic()
        ticked = tick(self.connection, rest=REST_SHARE * self.poll, go_on=self._go_on, note=_note)
        metrics.note_tick(ticked, time.monotonic() - began)
        return ticked

    def _go_on(self) -> bool:
        self._beating.do_if_due()  # in a tick of minutes it must not be taken for dead
        self.moved_at = time.monotonic()
        return not self.stopping

    def _next_slot(self, now: datetime) -> tuple[datetime | None, float]:
        """And the seconds that it took to find it."""
        began = time.monotonic()
        slot = next_due(self.connection, ticking_types(self.connection, now))
        return slot, time.monotonic() - began

    def _recover(self) -> float:
        recover_silent(self.connection)
        return get_settings().recover_seconds

    def _beat(self) -> float:
        every, rss = get_settings().lease_seconds / BEATS_PER_LEASE, rss_bytes()
        if not beat(self.connection, self._who.id, busy=0, draining=False, rss_bytes=rss, beat_seconds=every):
            announce(self.connection, replace(self._who, beat_seconds=every))
        return every

    def _leave(self) -> None:
        try:
            leave(self.connection, self._who.id)
            self.connection.close()
        except DatabaseError as error:
            logger.warning("the scheduler could not sign off: %s", error, extra=event("sign_off_failed", error=error))


def _note(made: Sequence[Made]) -> None:
    metrics.note_made(made)
    if logger.isEnabledFor(logging.DEBUG):
        for one in made:
            slot = one.slot.isoformat()
            facts = event("slot_enqueued", job=str(one.run_id), schedule=one.schedule, slot=slot)
            logger.debug("job=%s made for schedule %s, slot %s", one.run_id, one.schedule, slot, extra=facts)


def say_switched_off() -> None:
    text = "the scheduler is switched off by SCHEDULER_ENABLED: no schedule makes jobs here"
    logger.warning(text, extra=event("scheduler_switched_off"))


def _presence(identity: Identity) -> Presence:
    return Presence(
        id=identity.id,
        kind=WorkerKind.SCHEDULER,
        host=identity.host,
        pid=identity.pid,
        version=jobs_app.__version__,
        job_types=registry.names(),
    )
