"""The calls to the server: one connection for each thread, and what passes is tried again."""

from __future__ import annotations

import json
import logging
import random
import re
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from .errors import ClientError, LeaseLost, Refused, Unreachable
from .text import one_line

logger = logging.getLogger("jobs_app.client")

BACKOFF_BASE, BACKOFF_MAX = 0.5, 30.0  # seconds; doubled with each failure, less up to half of it by chance
PATIENCE_SECONDS = 60.0  # so long a call is repeated at least; the report of a job until its lease is over
LEAVE_SECONDS = 5.0


class JobsClient:
    """The calls. `url` is where the project includes `jobs_app.urls`. Each thread keeps a connection of its own."""

    def __init__(
        self, url: str, token: str, timeout: float = 30, *, sleep: Callable[[float], Any] = time.sleep
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the url must be like https://host/jobs/")
        if not re.fullmatch(r"[!-~]+", token):  # told here: http.client would show it in its error
            raise ValueError("the token must be one word of plain characters; copy it as it was shown when it was made")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._path = parts.hostname, parts.port, f"{parts.path.rstrip('/')}/api/"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._timeout, self._sleep = timeout, sleep
        self._own = threading.local()

    def pull(self, worker_id: str, *, wait_sec: int = 0, **asked: Any) -> dict[str, Any]:
        """One job under a lease, or the reason why there is none. May ask for queues, job_types, lease_sec;
        tells how many it runs at once with concurrency.

        It is not repeated here. If only the answer was lost, a job is claimed that nobody works on, and it waits until
        its lease is over: a worker takes that and asks again."""
        body = {"worker_id": worker_id, "wait_sec": wait_sec, **{name: value for name, value in asked.items() if value}}
        return self._call("pull_job", body, patience=0, timeout=self._timeout + wait_sec)

    def report(
        self, job_id: str, token: str, *, patience: float = PATIENCE_SECONDS, timeout: float = 0, **fields: Any
    ) -> dict[str, Any]:
        """Repeated for `patience` seconds, under one key so that it counts once. `fields` are those of the call."""
        body = {"job_id": job_id, "token": token, "idempotency_key": uuid4().hex, **fields}
        try:
            return self._call("report_results", body, patience=patience, timeout=timeout)
        except Refused as refused:
            if refused.status == 409:
                raise LeaseLost(str(refused)) from None
            raise

    def trigger(self, name: str, payload: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """Enqueue a job. `options`: subject, key, queue, priority, run_at, delay_sec, idempotency_key, reason."""
        body = {"jobName": name, "payload": payload, "idempotency_key": uuid4().hex, **options}
        return self._call("functions/trigger-job", body, patience=PATIENCE_SECONDS)

    def leave(self, worker_id: str) -> None:
        """Say that this worker stops, so that nobody misses it."""
        self._call("leave", {"worker_id": worker_id}, patience=0, timeout=LEAVE_SECONDS)

    def close(self) -> None:
        """Close the connection of this thread."""
        if connection := self._own.__dict__.pop("connection", None):
            connection.close()

    def _call(self, path: str, body: Any, *, patience: float, timeout: float = 0) -> dict[str, Any]:
        sent = json.dumps(body, allow_nan=False).encode()  # once: a repeat must be the same to the letter
        give_up = time.monotonic() + patience
        failures = 0
        while True:
            try:
                return self._try(path, sent, timeout or self._timeout)
            except ClientError as error:
                delay = delay_after(error, failures)
                if not error.is_passing or time.monotonic() + delay > give_up:
                    raise
                logger.info("%s again in %.1f s: %s", path, delay, error)
            failures += 1
            self._sleep(delay)

    def _try(self, path: str, sent: bytes, timeout: float) -> dict[str, Any]:
        try:
            connection = self._connection(timeout)
            connection.request("POST", self._path + path, sent, self._headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise Unreachable(f"{self._host}: {type(error).__name__}: {one_line(error)}") from error
        return _answer(response, text)

    def _connection(self, timeout: float) -> HTTPConnection:
        connection: HTTPConnection | None = self._own.__dict__.get("connection")
        if connection is None or (connection.sock and _is_closed_by_server(connection.sock)):
            self.close()
            connection = self._own.connection = self._kind(self._host, self._port)
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        return connection


def delay_after(error: ClientError, failures: int) -> float:
    """Seconds until a call is tried again that failed so many times before."""
    backoff = min(BACKOFF_MAX, BACKOFF_BASE * 2 ** min(failures, 10)) * random.uniform(0.5, 1)
    return max(error.retry_after, backoff)


def _answer(response: HTTPResponse, text: bytes) -> dict[str, Any]:
    status, headers = response.status, response.headers
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if 200 <= status < 300 and isinstance(told, dict):
        return told
    if 300 <= status < 400:  # not followed: the token is for this address and no other
        told = {"detail": f"a redirect to {headers.get('Location')}; give the address where it ends as the url"}
    if not isinstance(told, dict):
        told = {"detail": "the answer is not one of jobs_app; is the url where jobs_app.urls is included?"}
    asked = headers.get("Retry-After", "")
    raise Refused(status, told, retry_after=min(int(asked), 3600) if re.fullmatch("[0-9]{1,9}", asked) else 0)


def _is_closed_by_server(idle: socket.socket) -> bool:
    """The only thing to be read from an idle connection is its end. Known before a pull, no pull is lost to it."""
    with selectors.DefaultSelector() as selector:
        selector.register(idle, selectors.EVENT_READ)
        return bool(selector.select(0))
