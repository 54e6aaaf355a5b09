"""Which errors pass by themselves, told by class and status alone."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404

from jobs_app.errors import PayloadInvalid
from jobs_app.transience import http_status, is_transient


def carrying(**attributes: Any) -> Exception:
    error = Exception("some words: 500, 404, timeout, connection reset")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


def class_named(module: str, name: str) -> type[Exception]:
    return type(name, (Exception,), {"__module__": module, "__qualname__": name})


class Fragile(Exception):
    @property
    def response(self) -> Any:
        raise RuntimeError("no response here")


@pytest.mark.spec("S3.11")
@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError(),
        BrokenPipeError(),
        TimeoutError(),
        socket.gaierror(),
        ssl.SSLError(),
        http.client.RemoteDisconnected(),
        http.client.IncompleteRead(b""),
        urllib.error.URLError(ConnectionRefusedError()),
        OSError(errno.ENETUNREACH, "Network is unreachable"),
        OSError(errno.ETIMEDOUT, "Connection timed out"),
        OperationalError(),
        InterfaceError(),
    ],
    ids=repr,
)
def test_network_and_database_outages_are_transient(error: Exception) -> None:
    assert is_transient(error) is True


@pytest.mark.spec("S3.12")
@pytest.mark.parametrize(
    "error",
    [
        ValidationError("no"),
        PayloadInvalid("no"),
        PermissionDenied(),
        Http404(),
        ssl.SSLCertVerificationError(),
        urllib.error.URLError(ssl.SSLCertVerificationError()),
    ],
    ids=repr,
)
def test_validation_and_refusals_are_permanent(error: Exception) -> None:
    assert is_transient(error) is False


@pytest.mark.spec("S3.R3", "A3.2")
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("503 Service Unavailable"),
        ValueError("processed 500 items"),
        KeyError("timeout"),
        IntegrityError(),
        FileNotFoundError(errno.ENOENT, "connection"),
        urllib.error.URLError("unknown url type"),
    ],
    ids=repr,
)
def test_other_errors_say_nothing_whatever_their_words(error: Exception) -> None:
    assert is_transient(error) is None


@pytest.mark.spec("S3.11", "S3.12", "S3.R3")
@pytest.mark.parametrize(
    ("status", "transient"),
    [(400, False), (401, False), (403, False), (404, False), (422, False), (429, True), (500, True), (503, True)],
)
@pytest.mark.parametrize("attribute", ["status_code", "status", "code"])
def test_a_status_decides(status: int, transient: bool, attribute: str) -> None:
    assert is_transient(carrying(**{attribute: status})) is transient
    assert is_transient(carrying(response=SimpleNamespace(**{attribute: status}))) is transient


@pytest.mark.spec("S3.R3")
def test_a_status_goes_before_the_class() -> None:
    class Throttled(ValidationError):
        status_code = 429

    not_found = urllib.error.HTTPError("http://example.org", 404, "Not Found", Message(), None)
    with not_found:
        assert is_transient(not_found) is False
    assert is_transient(Throttled("later")) is True


@pytest.mark.parametrize("value", ["503", None, True, 200, 1006, 12.5, lambda: 503])
def test_what_is_no_http_error_status_is_passed_over(value: Any) -> None:
    assert http_status(carrying(code=value)) is None


def test_an_error_whose_attributes_fail_is_judged_by_its_class() -> None:
    assert is_transient(Fragile()) is None


@pytest.mark.parametrize(
    ("module", "name", "transient"),
    [
        ("requests.exceptions", "ConnectionError", True),
        ("httpx", "TransportError", True),
        ("pydantic_core._pydantic_core", "ValidationError", False),
        ("elsewhere", "ConnectionError", None),
    ],
)
def test_classes_of_known_packages_are_known_by_name(module: str, name: str, transient: bool | None) -> None:
    nearer = type("Nearer", (class_named(module, name),), {})
    assert is_transient(nearer()) is transient


@pytest.mark.parametrize(
    ("members", "transient"),
    [
        ([ConnectionError(), TimeoutError()], True),
        ([ConnectionError(), ValidationError("no")], False),
        ([ConnectionError(), RuntimeError()], None),
        ([ExceptionGroup("inner", [ConnectionError()])], True),
    ],
)
def test_a_group_is_as_bad_as_its_worst_member(members: list[Exception], transient: bool | None) -> None:
    assert is_transient(ExceptionGroup("several", members)) is transient
