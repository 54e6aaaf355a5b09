"""Whether whoever asked is still there to be answered, where the web server lets its connection be seen."""

from __future__ import annotations

import socket

from django.http import HttpRequest

CONNECTIONS = ("gunicorn.socket", "werkzeug.socket")  # what servers call it


class Departed(Exception):
    """Whoever asked has gone away: a job would be nobody's until its lease ends."""


def require_presence(request: HttpRequest) -> None:
    if has_left(request):
        raise Departed


def has_left(request: HttpRequest) -> bool:
    """A client that waits sends nothing; of one that is gone the end can be read. False also where nobody can tell."""
    connection = next((request.META[name] for name in CONNECTIONS if name in request.META), None)
    if connection is None:
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except (BlockingIOError, ValueError):  # nothing to read; or TLS, through which nothing can be seen
        return False
    except OSError:
        return True
