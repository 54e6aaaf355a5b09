"""Which errors pass by themselves: judged by class and HTTP status, never by words in the message."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
import urllib.error
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db.utils import InterfaceError, OperationalError
from django.http import Http404

from jobs_app.errors import PayloadInvalid

TRANSIENT_BY_CLASS: dict[type[BaseException], bool] = {
    ConnectionError: True,
    TimeoutError: True,
    socket.gaierror: True,
    socket.herror: True,
    ssl.SSLError: True,
    ssl.SSLCertVerificationError: False,
    http.client.IncompleteRead: True,
    urllib.error.ContentTooShortError: True,
    OperationalError: True,
    InterfaceError: True,
    ValidationError: False,
    PayloadInvalid: False,
    PermissionDenied: False,
    Http404: False,
}

# Classes of packages that may not be installed, so they are known by name.
TRANSIENT_BY_NAME = {
    "aiohttp.client_exceptions.ClientConnectionError": True,
    "aiohttp.client_exceptions.ClientPayloadError": True,
    "httpx.TransportError": True,
    "psycopg.InterfaceError": True,
    "psycopg.OperationalError": True,
    "pydantic_core._pydantic_core.ValidationError": False,
    "redis.exceptions.ConnectionError": True,
    "redis.exceptions.TimeoutError": True,
    "requests.exceptions.ChunkedEncodingError": True,
    "requests.exceptions.ConnectionError": True,
    "requests.exceptions.Timeout": True,
    "urllib3.exceptions.MaxRetryError": True,
    "urllib3.exceptions.NewConnectionError": True,
    "urllib3.exceptions.ProtocolError": True,
    "urllib3.exceptions.TimeoutError": True,
}

# Network failures that Python raises as a plain OSError.
TRANSIENT_ERRNOS = frozenset(
    number
    for name in ("ENETDOWN", "ENETUNREACH", "ENETRESET", "EHOSTDOWN", "EHOSTUNREACH", "ENOBUFS", "ENONET")
    if (number := getattr(errno, name, None)) is not None
)

STATUS_ATTRIBUTES = ("status_code", "status", "code")
TOO_MANY_REQUESTS = 429


def is_transient(error: BaseException) -> bool | None:
    """True: another try may help. False: it cannot. None: this error says nothing about it."""
    status = http_status(error)
    if status is not None:
        return status == TOO_MANY_REQUESTS or status >= 500
    if isinstance(error, BaseExceptionGroup):
        return _of_group(error)
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        return is_transient(error.reason)
    return _by_class(error)


def http_status(error: BaseException) -> int | None:
    """The HTTP error status (400 to 599) that the error or its response carries, if any."""
    for holder in (error, _attribute(error, "response")):
        for name in STATUS_ATTRIBUTES:
            status = _attribute(holder, name)
            if isinstance(status, int) and 400 <= status <= 599:
                return int(status)
    return None


def _by_class(error: BaseException) -> bool | None:
    for ancestor in type(error).__mro__:
        verdict = TRANSIENT_BY_CLASS.get(ancestor)
        if verdict is None:
            verdict = TRANSIENT_BY_NAME.get(f"{ancestor.__module__}.{ancestor.__qualname__}")
        if verdict is not None:
            return verdict
    return True if isinstance(error, OSError) and error.errno in TRANSIENT_ERRNOS else None


def _of_group(group: BaseExceptionGroup[Any]) -> bool | None:
    """A group is as bad as its worst member: one permanent error makes it permanent."""
    verdicts = {is_transient(error) for error in group.exceptions}
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _attribute(holder: object, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # a property of a foreign error class may fail in any way
        return None
