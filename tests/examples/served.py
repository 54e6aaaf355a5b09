"""A simulated service in the test's own process, so that a test may say to it what it likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from examples.local_server import HOST, Answering, serve


@contextmanager
def served(answering: Answering) -> Iterator[str]:
    """Its URL, until the end of the block."""
    server = serve(answering)
    try:
        yield f"http://{HOST}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
