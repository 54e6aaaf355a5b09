"""Which of some workers are still at it."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.insights.draining import still_there
from jobs_app.lifecycle.presence import Presence, announce, leave
from tests.lifecycle.rows import at, done, one_running

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def two_workers() -> None:
    with at(0):
        for worker in ("worker-1", "worker-2"):
            announce(connection, Presence(id=worker, beat_seconds=10))


def test_one_that_lives_is_there_with_its_jobs() -> None:
    with at(5):
        one_running()
        assert still_there(connection, ["worker-1"]) == {"worker-1": 1}
        assert still_there(connection, ["worker-1", "worker-2"]) == {"worker-1": 1, "worker-2": 0}
        leave(connection, "worker-2")
        assert still_there(connection, ["worker-2"]) == {}


def test_one_that_is_silent_is_there_as_long_as_it_has_a_job() -> None:
    with at(5):
        job = one_running()
    with at(100):
        assert still_there(connection, ["worker-1", "worker-2"]) == {"worker-1": 1}
        done(job)
        assert still_there(connection, ["worker-1", "worker-2"]) == {}
