"""Sources are read now and then, by one scheduler at a time, beside the ticks: a slow one must make no slot late."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.lifecycle.turns import end_turn, take_turn
from jobs_app.logs import event
from jobs_app.runtime.loops import Loop
from jobs_app.scheduler.due_items import DueFound, enqueue_due
from jobs_app.scheduler.subjects import SubjectsSynced, sync_subjects, tell_empty
from jobs_app.sources import Source, sources

logger = logging.getLogger("jobs_app.scheduler")

IN_HAND_SECONDS = 120.0  # after which another scheduler may read it, if this one died; renewed with each chunk
LONGEST_PAUSE_SECONDS = 60.0  # another scheduler may have died just before its turn

GoOn = Callable[[], bool]
_failing: set[str] = set()  # sources that failed, or came back empty, when last read: told once per streak


@dataclass(frozen=True)
class SourceFailed:
    """It could not be read, or what it yielded not be stored."""

    error: Exception


Read: TypeAlias = SubjectsSynced | DueFound | SourceFailed


def read_source(connection: BaseDatabaseWrapper, source: Source, go_on: GoOn) -> Read | None:
    """Read it and act on it, unless another scheduler has it in hand. Its failure is told, and is its own."""
    in_hand = f"in hand: {source.name}"
    if not take_turn(connection, in_hand, seconds=IN_HAND_SECONDS):
        return None
    try:
        return _read(connection, source, partial(_go_on, connection, in_hand, go_on))
    except Exception as error:
        if isinstance(error, DatabaseError):
            connection.close_if_unusable_or_obsolete()
        if source.name not in _failing:
            text = "source_failed: %s could not be read; its schedules stay as they are"
            logger.exception(text, source.name, extra=event("source_failed", source=source.name, error=error))
        _failing.add(source.name)
        return SourceFailed(error)
    finally:
        end_turn(connection, in_hand, next_in=0)


def _go_on(connection: BaseDatabaseWrapper, in_hand: str, go_on: GoOn) -> bool:
    end_turn(connection, in_hand, next_in=IN_HAND_SECONDS)
    return go_on()


def _read(connection: BaseDatabaseWrapper, source: Source, go_on: GoOn) -> SubjectsSynced | DueFound:
    if source.kind == "due":
        found = enqueue_due(connection, source, go_on)
        _note(source, healthy=True, refused=found.refused)
        return found
    synced = sync_subjects(connection, source, go_on)
    if synced.is_empty and source.name not in _failing:
        tell_empty(connection, source)
    _note(source, healthy=not synced.is_empty, refused=synced.refused)
    if synced.created or synced.changed:
        facts = event("schedules_synced", source=source.name, made=synced.created, changed=synced.changed)
        text = "schedules of %s: %s made, %s changed"
        logger.info(text, source.name, synced.created, synced.changed, extra=facts)
    if synced.deleted:
        facts = event("job_schedules_deleted", source=source.name, count=synced.deleted)
        text = "job_schedules_deleted: %s, of subjects that %s has no longer"
        logger.info(text, synced.deleted, source.name, extra=facts)
    return synced


def _note(source: Source, *, healthy: bool, refused: list[str]) -> None:
    if healthy:
        _failing.discard(source.name)
    else:
        _failing.add(source.name)
    told = f"{source.name} refused"
    if refused and told not in _failing:
        facts = event("source_rows_refused", source=source.name, count=len(refused))
        text = "source %s: %s rows cannot be used, the first: %s"
        logger.error(text, source.name, len(refused), refused[0], extra=facts)
        _failing.add(told)
    elif not refused:
        _failing.discard(told)


class SourceReader(Loop):
    """Each source once in `poll` seconds, whichever scheduler it is that gets its turn; None: as the settings say."""

    def __init__(self, poll: float | None = None) -> None:
        super().__init__("sources")
        self._own_poll = poll

    @property
    def _poll(self) -> float:
        return self._own_poll or get_settings().scheduler_poll_seconds

    def follow_settings(self, connection: BaseDatabaseWrapper) -> None:
        """Another poll counts from now, and not from the turn that was taken with the one before."""
        if self._own_poll is None:
            for source in sources:
                end_turn(connection, f"source: {source.name}", next_in=0)
            self.wake.set()

    def run_once(self) -> None:
        for source in sources:
            if self.stopping:
                return
            if take_turn(self.connection, f"source: {source.name}", seconds=self._poll):
                read_source(self.connection, source, lambda: not self.stopping)
        if not self.stopping:
            connections.close_all()  # used for a moment, every few minutes; sources may read from other databases
            self.pause(min(self._poll, LONGEST_PAUSE_SECONDS))
