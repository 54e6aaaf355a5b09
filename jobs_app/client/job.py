"""A job as its handler has it: what it knows, what it reports, and the lease that is kept meanwhile."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from .calls import PATIENCE_SECONDS, JobsClient
from .errors import ClientError, JobCancelled, JobEnded, LeaseLost, Refused, failure
from .items import Item, Items, by_key, portions
from .text import LOG_BYTES, one_line, storable

logger = logging.getLogger("jobs_app.client")

UNFIT = (413, 422)  # statuses that are about what was sent
BEAT_SECONDS = 10.0  # what one heartbeat may take: others must have their turn before the lease is over
MAX_EXTEND_SECONDS = 600  # the longest extension of a lease that a server grants
MESSAGE_CHARS = 500  # what servers take
REMEMBERED_KEYS = 50_000


class RemoteJob:
    """What a handler gets. Safe to use from every thread of the job."""

    def __init__(self, client: JobsClient, told: Mapping[str, Any], stop: threading.Event) -> None:
        self.job_id: str = told["job_id"]
        self.job_type: str = told["job_type"]
        self.queue: str = told["queue"]
        self.subject: str = told["subject"]
        self.payload: Any = told["payload"]
        self.meta: dict[str, Any] = told["meta"]
        self.attempt: int = told["attempt"]
        self.max_attempts: int = told["max_attempts"]
        self.cursor: str = told["cursor"] or ""  # where to go on: the last one reported, by whomever
        self.progress_count: int = told["progress_count"] or 0  # items sent
        self.result_count: int = told["result_count"] or 0  # those of them that were new
        self.target_count: int | None = told["target_count"]
        self.timeout_sec: float | None = told["timeout_sec"]
        self.cancelled = False  # somebody asked it to stop
        self.lease_lost = False  # another worker may have it; nothing that is reported here is kept
        self._client, self._token, self._stop = client, told["token"], stop
        self._lock, self._over = threading.Lock(), threading.Event()
        self._log = ""
        self._is_told = False  # in the log, how it ended
        self._sent: dict[str, None] = {}  # keys, in the order in which they were sent
        self._started = time.monotonic()
        self._lease_until = self._started + told["lease_sec"]
        self._extend_sec = min(told["lease_sec"], MAX_EXTEND_SECONDS)

    @property
    def stopping(self) -> bool:
        """This worker shuts down: report the cursor and raise `Release`, or come to the end within the grace."""
        return self._stop.is_set()

    @property
    def ended(self) -> bool:
        """Nothing more can be reported: it has ended, was given back, or its lease is lost."""
        return self._over.is_set()

    def remaining(self, limit: float | None = None) -> float | None:
        """Seconds until the job's timeout and at most `limit`: what a call inside the job may take."""
        if self.timeout_sec is None:
            return limit
        left = max(0.0, self._started + self.timeout_sec - time.monotonic())
        return left if limit is None else min(left, limit)

    def log(self, text: object) -> None:
        """Keep a line with this attempt; it is sent with the end. The oldest go when there are more than 64 KB."""
        with self._lock:
            self._log = f"{self._log}{text}\n"[-LOG_BYTES:]

    def report(self, items: Items = (), cursor: str | None = None, message: str | None = None) -> dict[str, Any]:
        """Send what was found and where to go on. Each key is sent once, and stored once whoever sends it.

        What is too much for one report goes in several. The cursor is in the last: it never runs ahead of its items."""
        *early, last = portions(self._unsent(items))
        words = None if message is None else storable(message)[:MESSAGE_CHARS]
        answers = [self._progress(portion) for portion in early]
        answers.append(self._progress(last, cursor=cursor, message=words))
        if self.cancelled:
            raise JobCancelled("asked to stop")
        return {**answers[-1], **{name: sum(told[name] for told in answers) for name in ("added", "duplicates")}}

    def beat(self) -> None:
        """Keep the lease until the job is over. Only an answer says that it is lost; silence may pass."""
        every = self._extend_sec / 3
        with closing(self._client):
            while not self._over.wait(every):
                try:
                    self._send({}, patience=every, timeout=min(every, BEAT_SECONDS))
                except LeaseLost:
                    return
                except ClientError as error:
                    logger.warning("job=%s: heartbeat: %s", self.job_id, error)

    def finish(self, fields: Mapping[str, Any], **limits: float) -> None:
        """The one last report: of the handler's end, or of the stop that did not wait for it."""
        with self._lock:
            if self.ended:
                return
            self._over.set()
            log = {"log": storable(self._log)} if self._log else {}
        try:
            self._send({**fields, **log}, **limits)
        except (Refused, TypeError, ValueError) as error:  # the result may be too large, or no JSON
            if isinstance(error, Refused) and error.status not in UNFIT:
                raise
            self._send({**failure(error), **log}, **limits)

    def _unsent(self, items: Items) -> list[Item]:
        found = by_key(items)
        with self._lock:
            return [{"key": key, "data": data} for key, data in found.items() if key not in self._sent]

    def _progress(self, items: list[Item], cursor: str | None = None, message: str | None = None) -> dict[str, Any]:
        if self.ended:
            raise LeaseLost("the lease is lost") if self.lease_lost else JobEnded("it has ended")
        given = {"items": items or None, "cursor": cursor, "message": message}
        if self._may_reach_target(len(items)):  # then it is the last, and nothing else would bring the log
            given["log"] = storable(self._log) or None
        answer = self._send({name: value for name, value in given.items() if value is not None})
        self._remember(items, cursor, answer["added"])
        if self.ended:
            raise JobEnded(one_line(answer.get("done_reason") or answer["state"]))
        return answer

    def _may_reach_target(self, more: int) -> bool:
        return self.target_count is not None and self.result_count + more >= self.target_count

    def _remember(self, sent: list[Item], cursor: str | None, added: int) -> None:
        """After the answer only: what may not have arrived must go again."""
        with self._lock:
            self.cursor = self.cursor if cursor is None else cursor
            self.progress_count += len(sent)
            self.result_count += added
            self._sent.update(dict.fromkeys(item["key"] for item in sent))
            while len(self._sent) > REMEMBERED_KEYS:
                del self._sent[next(iter(self._sent))]

    def _send(self, fields: Mapping[str, Any], **limits: float) -> dict[str, Any]:
        """Every report passes here, and what its answer says is noted."""
        began = time.monotonic()
        # Also a while after the lease: a late report is taken as long as nobody else has the job.
        limits.setdefault("patience", max(self._lease_until - began, PATIENCE_SECONDS))
        extend = math.ceil(self._extend_sec)
        try:
            answer = self._client.report(self.job_id, self._token, extend_lease_sec=extend, **fields, **limits)
        except LeaseLost:
            self._note_loss()
            raise
        self._lease_until = max(self._lease_until, began + extend)
        self.cancelled = self.cancelled or answer["cancel_requested"]
        if answer["done"]:
            self._note_end(answer["state"])
        return answer

    def _note_end(self, state: str) -> None:
        """Told once, whichever of the heartbeat, a report and the end hears it first."""
        self._over.set()
        with self._lock:
            is_known, self._is_told = self._is_told, True
        if not is_known:
            logger.info("job=%s type=%s state=%s", self.job_id, self.job_type, state)

    def _note_loss(self) -> None:
        """Likewise."""
        with self._lock:
            is_known, self.lease_lost = self.lease_lost, True
        self._over.set()
        if not is_known:
            logger.warning("job=%s lost its lease: dropped, another worker has it", self.job_id)
