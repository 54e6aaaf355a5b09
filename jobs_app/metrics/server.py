"""The port of a worker or scheduler: `/metrics`, `/livez` and `/readyz`, without the web application."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socket import AF_INET6
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.core.management.base import CommandError
from django.db import connections
from prometheus_client import disable_created_metrics, make_wsgi_app
from prometheus_client.registry import Collector

from jobs_app.logs import event
from jobs_app.runtime.pulse import Examine

logger = logging.getLogger("jobs_app.metrics")

LOOK_SECONDS = 0.1
TEXT = (("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"))

StartResponse = Callable[..., Any]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Without asking the name servers what this host is called, which may take half a minute."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]
        self.setup_environ()


class _ServerOnIPv6(_Server):
    address_family = AF_INET6


class _Handler(WSGIRequestHandler):
    timeout = 10  # seconds: who connects and asks nothing holds a thread

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Not each scrape, every fifteen seconds."""
        logger.debug(format, *args, extra=event("scraped"))


class Told(list[bytes]):
    """An answer that says when it was sent: who ends sooner would cut it off."""

    def __init__(self, parts: Iterable[bytes], sent: Callable[[], None]) -> None:
        super().__init__(parts)
        self._sent = sent

    def close(self) -> None:
        """Called by the server."""
        self._sent()


class Port:
    """What is served on it, and whether it was scraped."""

    def __init__(self, registry: Collector, examine: Examine) -> None:
        self._metrics = make_wsgi_app(registry)
        self._examine = examine
        self._scraped_at = float("-inf")  # by the monotonic clock: when the last scrape began

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        try:
            answer = self._answers.get(environ["PATH_INFO"].rstrip("/"), _not_found)
            return answer(environ, start_response)
        finally:
            connections.close_all()  # of this thread, which is for one request

    @property
    def _answers(self) -> dict[str, Callable[[dict[str, Any], StartResponse], Iterable[bytes]]]:
        return {"/metrics": self._tell_metrics, "/livez": self._tell_live, "/readyz": self._tell_ready}

    def wait_for_last_scrape(self, seconds: float, is_hurried: Callable[[], bool]) -> None:
        """So that the last counts are not lost. Nobody is waited for where nobody ever came."""
        if self._scraped_at == float("-inf") or seconds <= 0:
            return
        began = time.monotonic()
        logger.info("waiting for the last scrape, %g s at most", seconds, extra=event("last_scrape_awaited"))
        while self._scraped_at < began and time.monotonic() < began + seconds and not is_hurried():
            time.sleep(LOOK_SECONDS)

    def _tell_metrics(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        began = time.monotonic()
        return Told(self._metrics(environ, start_response), lambda: self._was_told(began))

    def _was_told(self, began: float) -> None:
        self._scraped_at = began

    def _tell_live(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        return _tell(start_response, self._examine().still)

    def _tell_ready(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        health = self._examine()
        return _tell(start_response, [*health.still, *health.unready])


def _tell(start_response: StartResponse, wrong: Iterable[str]) -> Iterable[bytes]:
    lines = list(wrong)
    start_response("503 Service Unavailable" if lines else "200 OK", list(TEXT))
    return [("\n".join(lines or ["ok"]) + "\n").encode()]


def _not_found(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    start_response("404 Not Found", list(TEXT))
    return [b"/metrics, /livez or /readyz\n"]


@contextmanager
def serving(port: Port, host: str, number: int) -> Iterator[None]:
    try:
        kind = _ServerOnIPv6 if ":" in host else _Server
        server = make_server(host, number, port, server_class=kind, handler_class=_Handler)
    except OSError as error:
        text = f"the metrics cannot be served on {host}:{number}: {error}. Give another --metrics-port."
        raise CommandError(text) from None
    disable_created_metrics()  # a second series for each, which nobody reads
    thread = threading.Thread(target=server.serve_forever, name="jobs-metrics", daemon=True)
    thread.start()
    facts = event("metrics_served", host=host, port=number)
    logger.info("metrics and health are served on %s:%s", host, number, extra=facts)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
