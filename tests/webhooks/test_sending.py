"""A request as a receiver gets it, and that no receiver can hold the sender for long."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from jobs_app.webhooks import sending
from jobs_app.webhooks.answers import Answer
from jobs_app.webhooks.sending import post
from tests.webhooks.names import NAMES, Names
from tests.webhooks.receiver import PATH, Receiver, for_ever, raw, receiving, status

BODY = b'{"event":"run.finished"}'
HEADERS = {"Content-Type": "application/json", "Jobs-Delivery": "7"}
STEADY = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMES, "receiver.example", ["127.0.0.1"])


def send(receiver: Receiver, **options: Any) -> Answer:
    return post(receiver.url, BODY, HEADERS, **{"private_allowed": True, "resolve": Names(), **options})


def test_it_is_posted_with_its_headers_and_the_name_of_the_url(receiver: Receiver) -> None:
    url = receiver.url.replace("127.0.0.1", "receiver.example")
    assert post(url, BODY, HEADERS, private_allowed=True, resolve=Names()) == Answer(200)
    [got] = receiver.got
    assert (got.path, got.body) == (PATH, BODY)
    assert {name: got.headers[name] for name in HEADERS} == HEADERS
    assert (got.headers["Host"], got.headers["Content-Length"]) == (f"receiver.example:{receiver.port}", "24")


def test_a_proxy_of_the_environment_is_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    assert send(receiver).status == 200


@pytest.mark.parametrize("number", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_not_followed(receiver: Receiver, number: int) -> None:
    receiver.answers = [status(number, Location=receiver.url)]
    assert send(receiver).status == number
    assert len(receiver.got) == 1


def test_a_wait_that_is_asked_for_is_handed_on(receiver: Receiver) -> None:
    receiver.answers = [status(429, Retry_After="120")]
    assert send(receiver) == Answer(429, "120")


def quickly(receiver: Receiver) -> Answer:
    """Within the time it was given, and a little for a machine that is busy."""
    began = time.monotonic()
    try:
        return send(receiver, seconds=0.3)
    finally:
        assert time.monotonic() - began < 3


def test_a_body_without_an_end_is_read_to_its_limit(receiver: Receiver) -> None:
    receiver.answers = [for_ever(STEADY, b"x" * 65536, receiver.closing, every=0)]
    assert send(receiver).status == 200


def test_a_slow_body_does_not_keep_the_sender(receiver: Receiver) -> None:
    receiver.answers = [for_ever(STEADY, b"x", receiver.closing, every=0.05)]
    assert quickly(receiver).status == 200


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"", b""),
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
def test_an_answer_that_never_comes_ends_at_the_deadline(receiver: Receiver, first: bytes, piece: bytes) -> None:
    receiver.answers = [for_ever(first, piece, receiver.closing, every=0.02)]
    with pytest.raises(TimeoutError):
        quickly(receiver)


@pytest.mark.parametrize(
    "answer", [b"", b"220 mail.example ESMTP\r\n", b"\x00\xff\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200]
)
def test_what_is_no_answer_is_an_error(receiver: Receiver, answer: bytes) -> None:
    receiver.answers = [raw(answer)]
    with pytest.raises((OSError, HTTPException)):
        send(receiver)


def test_when_the_first_address_does_not_answer_the_next_one_does(receiver: Receiver, free_port: int) -> None:
    def two(host: str, port: int, **options: Any) -> list[tuple[Any, ...]]:
        [found] = Names()("127.0.0.1", port)
        return [(*found[:4], ("127.0.0.1", free_port)), found]

    assert send(receiver, resolve=two).status == 200


@pytest.fixture
def free_port() -> int:
    """Nobody listens there any more."""
    with receiving() as gone:
        return gone.port


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of receiver.example, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    path = tmp_path / "receiver.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=receiver.example"]
    made += ["-addext", "subjectAltName=DNS:receiver.example", "-keyout", str(tmp_path / "key"), "-out", str(path)]
    subprocess.run(made, check=True, capture_output=True)
    path.write_text(path.read_text() + (tmp_path / "key").read_text())
    return path


def test_tls_is_about_the_name_of_the_url(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with receiving(tls) as receiver:
        url = receiver.url.replace("127.0.0.1", "receiver.example")
        monkeypatch.setitem(NAMES, "other.example", ["127.0.0.1"])
        other = receiver.url.replace("127.0.0.1", "other.example")
        with pytest.raises(ssl.SSLCertVerificationError):  # nobody vouches for it
            post(url, BODY, HEADERS, private_allowed=True, resolve=Names())
        monkeypatch.setattr(sending, "_tls", lambda: ssl.create_default_context(cafile=str(certificate)))
        with pytest.raises(ssl.SSLCertVerificationError, match=r"not valid for 'other\.example'"):
            post(other, BODY, HEADERS, private_allowed=True, resolve=Names())
        assert receiver.got == []
        assert post(url, BODY, HEADERS, private_allowed=True, resolve=Names()) == Answer(200)
        [got] = receiver.got
    assert got.headers["Host"] == f"receiver.example:{receiver.port}"
    assert receiver.names == ["receiver.example", "other.example", "receiver.example"]
