"""Who is alive, and who would start a job."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle.presence import Presence, announce, beat, is_any_alive
from jobs_app.lifecycle.workforce import read_workforce
from jobs_app.models import WorkerKind
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


def test_the_late_are_not_there_and_schedulers_take_no_jobs() -> None:
    with at(-31):
        announce(connection, Presence(id="late", beat_seconds=10, job_types=["work"], queues=["late"]))
    with at(0):
        announce(connection, Presence(id="w", queues=["mail*"], excluded=["mail.x"], job_types=["work"]))
        announce(connection, Presence(id="r", kind=WorkerKind.REMOTE, queues=["far"], job_types=["other"]))
        announce(connection, Presence(id="s", kind=WorkerKind.SCHEDULER, job_types=["new"]))
        beat(connection, "w", busy=1, draining=True, rss_bytes=0)
        workforce = read_workforce(connection, T)
    assert workforce.alive == {"w", "r", "s"}
    served = ("mail", "mail.x", "far", "late", "else")
    assert [queue for queue in served if workforce.serves(queue)] == ["mail", "far"]
    assert workforce.knows("mail", "work")
    assert not workforce.knows("mail", "other")
    assert not workforce.knows("far", "work")


def test_whether_any_of_a_kind_lives_that_goes_on_to() -> None:
    with at(0):
        assert not is_any_alive(connection, WorkerKind.WORKER)
        announce(connection, Presence(id="w", beat_seconds=10))
        assert is_any_alive(connection, WorkerKind.WORKER)
        assert not is_any_alive(connection, WorkerKind.SCHEDULER)
        beat(connection, "w", busy=1, draining=True, rss_bytes=0)
        assert not is_any_alive(connection, WorkerKind.WORKER)
        beat(connection, "w", busy=1, draining=False, rss_bytes=0)
    with at(31):
        assert not is_any_alive(connection, WorkerKind.WORKER)
