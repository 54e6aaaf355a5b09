"""One request, to an address that was looked at, within a few seconds altogether, and no redirect is followed."""

from __future__ import annotations

import io
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException
from typing import Any

from jobs_app.webhooks.addresses import PORTS, Address, Endpoint, Resolve, addresses_of
from jobs_app.webhooks.answers import Answer

SECONDS = 5.0  # from the look-up of the name to the end of the answer
MOST_BYTES = 64 * 1024  # of the answer's body, which is read so that the receiver can end in peace, and thrown away
MOST_ADDRESSES = 4  # tried in turn


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    private_allowed: bool,
    resolve: Resolve = socket.getaddrinfo,
    seconds: float = SECONDS,
) -> Answer:
    """Send it. Raises AddressRefused; OSError and HTTPException where there is no answer."""
    deadline = Deadline(seconds)
    endpoint = Endpoint.of(url)
    addresses = addresses_of(endpoint, private_allowed=private_allowed, resolve=resolve)
    connection = PinnedConnection(endpoint, addresses[:MOST_ADDRESSES], deadline)
    try:
        connection.request("POST", endpoint.path, body, dict(headers))
        response = connection.getresponse()
        with suppress(OSError, HTTPException):  # what it says by its status is said
            response.read(MOST_BYTES)
        return Answer(response.status, response.headers.get("Retry-After", ""))
    finally:
        connection.close()


class Deadline:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds, more than none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"it took more than {self.seconds:g} s")
        return left


class PinnedConnection(HTTPConnection):
    """HTTP as ever, with the name of the URL in its header and its certificate; but no name is looked up again."""

    def __init__(self, endpoint: Endpoint, addresses: Sequence[Address], deadline: Deadline) -> None:
        self.default_port = PORTS[endpoint.scheme]  # which the header leaves out
        super().__init__(endpoint.host, endpoint.port)
        self._endpoint, self._addresses, self._deadline = endpoint, addresses, deadline

    def connect(self) -> None:
        plain = self._first_that_answers()
        try:
            if self._endpoint.scheme == "https":
                plain.settimeout(self._deadline.left())
                plain = _tls().wrap_socket(plain, server_hostname=self._endpoint.host)
        except BaseException:
            plain.close()
            raise
        self.sock = TimedSocket(plain, self._deadline)

    def _first_that_answers(self) -> socket.socket:
        problem: OSError | None = None
        for number, address in enumerate(self._addresses):
            share = self._deadline.left() / (len(self._addresses) - number)
            try:
                return _connected(address, share)
            except OSError as error:
                problem = error
        raise problem or OSError("there is no address to connect to")


class TimedSocket:
    """As much of a socket as a connection uses. All of it ends at the deadline, however slowly the other side goes."""

    def __init__(self, plain: socket.socket, deadline: Deadline) -> None:
        self._plain, self._deadline = plain, deadline

    def sendall(self, data: Any) -> None:
        self._plain.settimeout(self._deadline.left())
        self._plain.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(TimedReader(self._plain, self._deadline))

    def close(self) -> None:
        self._plain.close()


class TimedReader(io.RawIOBase):
    """A timeout of the socket would be for each piece that arrives, and pieces can be small."""

    def __init__(self, plain: socket.socket, deadline: Deadline) -> None:
        self._plain, self._deadline = plain, deadline
        self._raw = plain.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._plain.settimeout(self._deadline.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _connected(address: Address, seconds: float) -> socket.socket:
    plain = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        plain.settimeout(seconds)
        plain.connect(address.place)
    except BaseException:
        plain.close()
        raise
    return plain


@cache
def _tls() -> ssl.SSLContext:
    """Reading the certificates of the system takes some milliseconds."""
    return ssl.create_default_context()
