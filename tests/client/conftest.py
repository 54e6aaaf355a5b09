"""A scripted server and a client of it that waits for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from jobs_app.client import JobsClient, RemoteJob
from tests.client.server import API_TOKEN, ScriptedServer, a_job
from tests.client.working import WorkerThread


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


@pytest.fixture
def slept() -> list[float]:
    """The waits of the client, which are not waited for."""
    return []


@pytest.fixture
def client(server: ScriptedServer, slept: list[float]) -> Iterator[JobsClient]:
    client = JobsClient(server.url, API_TOKEN, sleep=slept.append)
    yield client
    client.close()


@pytest.fixture
def pulled(client: JobsClient) -> Callable[..., RemoteJob]:
    """A job as a handler gets it."""

    def pulled(**fields: Any) -> RemoteJob:
        return RemoteJob(client, a_job(**fields)["job"], Event())

    return pulled


@pytest.fixture
def start(client: JobsClient) -> Iterator[Callable[..., WorkerThread]]:
    """Start a worker in a thread; what still runs at the end of the test is stopped."""
    started: list[WorkerThread] = []

    def start(handler: Any, **options: Any) -> WorkerThread:
        started.append(WorkerThread(client, handler, **options))
        return started[-1]

    yield start
    for worker in started:
        worker.end()
