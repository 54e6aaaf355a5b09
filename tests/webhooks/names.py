"""A resolver for tests: it knows a few names, reads numbers as the system does, and asks nobody."""

from __future__ import annotations

import socket
from typing import Any

NAMES = {
    "example.com": ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"],
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "db.internal": ["10.1.2.3"],
    "half.example": ["93.184.215.14", "10.0.0.1"],
    "other-half.example": ["2606:2800:21f:cb07::1", "fd00::1"],
    "nat64.example": ["64:ff9b::5db8:d70e"],
    "nat64-inside.example": ["64:ff9b::a00:1"],
    "mapped.example": ["::ffff:10.0.0.1"],
}


class Names:
    """Called as `socket.getaddrinfo`. `rebinding` answers in turn, as a name server with bad intentions does."""

    def __init__(self, rebinding: list[str] | None = None) -> None:
        self.asked: list[str] = []
        self._rebinding = rebinding or []

    def __call__(self, host: str, port: int, *, type: int = 0) -> list[tuple[Any, ...]]:  # noqa: A002
        self.asked.append(host)
        if host == "rebinding.example":
            return _numbers(self._rebinding[min(len(self.asked), len(self._rebinding)) - 1], port)
        return [found for each in NAMES.get(host, [host]) for found in _numbers(each, port)]


def _numbers(host: str, port: int) -> list[tuple[Any, ...]]:
    """127.1, 0x7f.1, 2130706433 and the like are numbers to the system's resolver."""
    return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST))
