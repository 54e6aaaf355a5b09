"""A receiver of webhooks on this machine, that notes what it gets and answers as it is told."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from jobs_app.client import verify_webhook

SECRET = "a secret that nobody sees"
PATH = "/hooks/a-path-that-nobody-sees?team=ops"

Handler = BaseHTTPRequestHandler


class Got(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        return json.loads(self.body)

    def is_genuine(self, secret: str = SECRET) -> bool:
        return verify_webhook(self.body, self.headers["Jobs-Signature"], secret)


@dataclass
class Receiver:
    """It answers with each of `answers` in turn, and with the last one from then on."""

    port: int = 0
    scheme: str = "http"
    answers: list[Callable[[Handler], None]] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)  # that TLS connections asked for
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{PATH}"

    def settings(self, **changes: Any) -> dict[str, Any]:
        webhook = {"name": "ops", "url": self.url, "secret": SECRET} | changes
        return {"WEBHOOKS": [webhook], "WEBHOOK_PRIVATE_ADDRESSES": True}

    def handle(self, handler: Handler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.got.append(Got(handler.path, dict(handler.headers), body))
        place = min(len(self.got), len(self.answers)) - 1
        with suppress(OSError):  # who asked has gone
            (self.answers[place] if self.answers else status(200))(handler)


def status(number: int, **headers: str) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.send_response(number)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(b"an answer that nobody sees")

    return answer


def raw(data: bytes) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.wfile.write(data)

    return answer


def for_ever(first: bytes, piece: bytes, closing: threading.Event, *, every: float) -> Callable[[Handler], None]:
    """An answer that has no end, until somebody hangs up."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(first)
        while not closing.wait(every):
            handler.wfile.write(piece)

    return answer


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver(scheme="https" if tls else "http")

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.handle(self)

        def log_message(self, *given: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        def handle_error(self, *given: Any) -> None: ...

    with Server(("127.0.0.1", 0), Answering) as server:
        if tls is not None:
            tls.sni_callback = lambda _, name, __: receiver.names.append(name)
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.closing.set()
            server.shutdown()
            thread.join()
