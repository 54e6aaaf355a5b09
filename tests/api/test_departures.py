"""Clients that go away while their pull waits."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory

from jobs_app.api.departures import has_left
from jobs_app.lifecycle import control
from jobs_app.models import Job
from jobs_app.tokens import SCOPES
from tests.api.hosts import HOST, Hosts
from tests.waiting import until


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Of one connection: the server's and the client's."""
    server, client = socket.socketpair()
    with server, client:
        yield server, client


def left(**servers: Any) -> bool:
    return has_left(RequestFactory().get("/", **{name.replace("__", "."): value for name, value in servers.items()}))


@pytest.mark.parametrize("name", ["gunicorn__socket", "werkzeug__socket"])
def test_the_end_of_a_connection_is_seen(ends: Any, name: str) -> None:
    server, client = ends
    assert not left(**{name: server})
    client.sendall(b"GET")  # the next request, before the answer to this one
    assert not left(**{name: server})
    assert server.recv(3) == b"GET"  # looking has taken nothing
    client.close()
    assert left(**{name: server})


def test_a_connection_that_was_closed_here_has_nobody_at_its_end(ends: Any) -> None:
    ends[0].close()
    assert left(gunicorn__socket=ends[0])


def test_where_nothing_can_be_seen_everybody_is_there() -> None:
    class Secured:
        """As `ssl.SSLSocket` answers such a look."""

        def recv(self, size: int, flags: int) -> bytes:
            raise ValueError("non-zero flags not allowed")

    assert not left()
    assert not left(gunicorn__socket=Secured())


@pytest.fixture
def hosts(child_environment: dict[str, str], tmp_path: Path, jobs: Any) -> Iterator[Hosts]:
    started = Hosts(child_environment, tmp_path, control.create_token("scrapers", "ann", scopes=SCOPES).text)
    started.start_gunicorn(API_MAX_WAITING="1")
    yield started
    started.stop()


def waiting(hosts: Hosts) -> HTTPConnection:
    """An idle worker that has asked for a job."""
    idle = HTTPConnection(HOST, hosts.port)
    headers = {"Authorization": f"Bearer {hosts.token}", "Content-Type": "application/json"}
    idle.request("POST", "/jobs/api/pull_job", json.dumps({"worker_id": "idle", "wait_sec": 30}), headers)
    return idle


@pytest.mark.django_db(transaction=True)
def test_a_job_does_not_go_to_an_idle_worker_that_was_killed(hosts: Hosts, jobs: Any) -> None:
    idle: list[HTTPConnection] = []

    def has_its_place() -> bool:
        """The only one, so that others are refused. They may have been there before."""
        idle.append(waiting(hosts))
        return hosts.call("pull_job", {"worker_id": "other", "wait_sec": 1})[0] == 429

    until(has_its_place)
    for connection in idle:
        connection.close()
    run = jobs.scrape.enqueue()
    status, told = until(
        lambda: (said := hosts.call("pull_job", {"worker_id": "other", "wait_sec": 5}))[0] != 429 and said
    )
    assert status == 200
    assert told["job"] is not None, hosts.logs()
    assert told["job"]["job_id"] == str(run.id)
    assert Job.objects.get().attempts == 1
