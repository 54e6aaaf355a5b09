"""The job as its handler sees it inside a child: what it says goes on to the worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobs_app.conf import get_settings
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.text import clean_block
from jobs_app.worker.context import JobContext
from jobs_app.worker.isolation.parcels import pack_words

Tell = Callable[[dict[str, Any]], None]


class TellingContext(JobContext):
    __slots__ = ("_tell",)

    def __init__(self, job: ClaimedJob, *, worker: str, worker_id: str, tell: Tell) -> None:
        super().__init__(job, worker=worker, worker_id=worker_id)
        self._tell = tell

    def log(self, text: object) -> None:
        """Told at once: the last lines before a crash are the ones that are looked for."""
        self._tell({"log": clean_block(text, get_settings().max_log_bytes)})

    def tell(self) -> None:
        """The newest word, if the worker does not have it. Not at each call of the handler: it may make millions."""
        if (words := self.unsaved()) is not None:
            self.saved(words)
            self._tell({"words": pack_words(words)})
