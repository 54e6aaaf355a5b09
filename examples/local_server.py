"""A small HTTP server for the programs that stand in for the world outside: a shop's site, a model, a gateway."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

HOST = "127.0.0.1"
STOP_SECONDS = 0.05  # at most, until it notices that it shall


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100  # who calls when many do is not sent away


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any  # what its JSON says; None where there is none


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any = None  # becomes JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Answering = Callable[[Asked], Answer | None]  # None: hang up without a word


def serve(answering: Answering, port: int = 0) -> ThreadingHTTPServer:
    """Answer on a thread of each request, from now on until `server.shutdown()`; its port is `server.server_port`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(
                method=self.command,
                path=parts.path,
                query=dict(parse_qsl(parts.query)),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=json.loads(body) if body else None,
            )
            self._send(answering(asked))

        do_GET = do_POST = do_PUT = _answer  # noqa: N815  their names are the library's

        def _send(self, answer: Answer | None) -> None:
            if answer is None:
                self.close_connection = True
                return
            body = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # who asked has not waited
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's name
            """Quiet: the worker's log tells what matters."""

    server = Server((HOST, port), Handler)
    threading.Thread(target=server.serve_forever, args=(STOP_SECONDS,), daemon=True).start()
    return server


def main(answering: Answering, what: str, arguments: Sequence[str] | None = None) -> None:
    """`python -m examples... --port N`, until a signal ends it."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; any free one if left out")
    options = parser.parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = serve(answering, options.port)
    print(f"{what} http://{HOST}:{server.server_port}/", flush=True)  # noqa: T201  for whoever started it
    ended.wait()
    server.shutdown()
