"""Messages between a worker and a child: JSON behind its length, over a socket, read without ever waiting for long."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

from jobs_app.worker.isolation.sockets import readable

HEADER_BYTES = 4
LARGEST_BYTES = 1 << 30  # no message of ours is near it: a larger one means that something else wrote here
READ_BYTES = 1 << 16
SEND_SECONDS = 10.0  # a child that does not read for so long is stuck


class Channel:
    """One end. Several threads may send, one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._end.settimeout(SEND_SECONDS)
        self._sending = threading.Lock()
        self._unread = bytearray()

    def send(self, message: dict[str, Any]) -> None:
        """OSError where nobody reads any more."""
        body = json.dumps(message).encode()
        with self._sending:
            self._end.sendall(len(body).to_bytes(HEADER_BYTES, "big") + body)

    def receive(self, seconds: float | None) -> dict[str, Any] | None:
        """The next message; None if none is complete within so many seconds. EOFError when the other end is gone.

        A message that stays half sent (its sender is stuck) does not hold the reader up.
        """
        message = self._next()
        if message is None and self._is_readable(seconds):
            self._read()
            message = self._next()
        return message

    def close(self) -> None:
        self._end.close()

    def _is_readable(self, seconds: float | None) -> bool:
        try:
            return bool(readable(self._end, seconds=seconds))
        except ValueError as error:
            raise EOFError("this end is closed") from error

    def _read(self) -> None:
        try:
            found = self._end.recv(READ_BYTES)
        except OSError as error:
            raise EOFError(str(error)) from error
        if not found:
            raise EOFError("the other end is gone")
        self._unread += found

    def _next(self) -> dict[str, Any] | None:
        length = int.from_bytes(self._unread[:HEADER_BYTES], "big")
        end = HEADER_BYTES + length
        if length > LARGEST_BYTES:
            raise EOFError("what came is no message")
        if len(self._unread) < max(end, HEADER_BYTES + 1):
            return None
        body = bytes(self._unread[HEADER_BYTES:end])
        del self._unread[:end]
        return json.loads(body)
