"""Which remote workers are there: each pull and each report is a heartbeat, written down every few seconds."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from typing import NamedTuple

from django.db import InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.presence import Presence, announce, beat, is_asked_to_drain
from jobs_app.logs import event

logger = logging.getLogger("jobs_app.remote")

BEAT_EVERY_SECONDS = 2.0
MOST_REMEMBERED = 10_000


class Heard(NamedTuple):
    """When this process last wrote down that a worker is there, and what it heard then."""

    at: float  # by the monotonic clock
    is_drained: bool = False


_heard: OrderedDict[str, Heard] = OrderedDict()
_guard = threading.Lock()


def attend(connection: BaseDatabaseWrapper, who: Presence) -> bool:
    """Note that it is there. False: an operator asked it to take no more jobs."""
    if (known := _lately(who.id)) is not None:
        return not known.is_drained
    if not beat(connection, who.id, busy=0, draining=False, rss_bytes=0, beat_seconds=who.beat_seconds):
        announce(connection, who)
    is_drained = is_asked_to_drain(connection, who.id)
    _remember(who.id, is_drained=is_drained)
    return not is_drained


def note(connection: BaseDatabaseWrapper, worker_id: str) -> None:
    """It reports, so it is there. One that is not known announces itself with its next pull. What it reported is stored
    by now, so that trouble here is nobody's."""
    if _lately(worker_id) is not None:
        return
    try:
        beat(connection, worker_id, busy=0, draining=False, rss_bytes=0)
    except (OperationalError, InterfaceError) as error:
        facts = event("presence_not_noted", remote_worker=worker_id, error=error)
        logger.warning("worker=%s: that it is there could not be noted: %s", worker_id, error, extra=facts)
    with _guard:
        was_drained = worker_id in _heard and _heard[worker_id].is_drained
    _remember(worker_id, is_drained=was_drained)


def forget() -> None:
    """As a process that has not heard of anybody."""
    with _guard:
        _heard.clear()


def _lately(worker_id: str) -> Heard | None:
    with _guard:
        known = _heard.get(worker_id)
    return known if known is not None and time.monotonic() - known.at < BEAT_EVERY_SECONDS else None


def _remember(worker_id: str, *, is_drained: bool) -> None:
    with _guard:
        _heard[worker_id] = Heard(time.monotonic(), is_drained)
        _heard.move_to_end(worker_id)
        if len(_heard) > MOST_REMEMBERED:
            _heard.popitem(last=False)
