"""What handlers say about their progress becomes rows."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.heartbeat import save_progress
from jobs_app.worker.flight import Flight

WAIT_SECONDS = 1.0  # for the other writer; its connection may hang, and a report is worth more than its last words

# Heartbeat and finisher both write words, each on its own connection. One after the other, or an older word of the
# heartbeat could land on top of the last one.
_writing = threading.Lock()


def save_words(connection: BaseDatabaseWrapper, flights: Iterable[Flight]) -> None:
    """One statement for all. Words count as saved only after it: what a cut connection swallowed is said again."""
    speaking = [flight.context for flight in flights if flight.context.unsaved() is not None]
    if not speaking:
        return
    is_alone = _writing.acquire(timeout=WAIT_SECONDS)
    try:
        spoken = [(context, words) for context in speaking if (words := context.unsaved()) is not None]
        save_progress(connection, [words for _, words in spoken])
        for context, words in spoken:
            context.saved(words)
    finally:
        if is_alone:
            _writing.release()
