"""Waiting for sockets, also where a process has thousands of descriptors: `select.select` knows only the first 1024."""

from __future__ import annotations

import select
import socket


def readable(*ends: socket.socket, seconds: float | None) -> list[socket.socket]:
    """Those with something to read, or with nobody at the other end; none of them after so many seconds."""
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    found = {number for number, _ in poll.poll(None if seconds is None else seconds * 1000)}
    return [end for end in ends if end.fileno() in found]
