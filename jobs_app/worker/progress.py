"""What handlers say about their progress becomes rows."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.heartbeat import save_progress
from jobs_app.worker.flight import Flight


def save_words(connection: BaseDatabaseWrapper, flights: Iterable[Flight]) -> None:
    """One statement for all. Words count as saved only after it: what a cut connection swallowed is said again."""
    spoken = [(flight.context, words) for flight in flights if (words := flight.context.unsaved()) is not None]
    save_progress(connection, [words for _, words in spoken])
    for context, words in spoken:
        context.saved(words)
