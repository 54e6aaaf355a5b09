"""Recovery by pulls: not more often than asked for, and never two at a time."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.models import Job
from jobs_app.remote.rounds import Rounds
from tests.lifecycle.clock import Clock
from tests.lifecycle.rows import at, one_running

pytestmark = pytest.mark.django_db


def test_what_a_silent_worker_had_is_given_back() -> None:
    with at(0):
        job = one_running()
    with at(60):
        assert Rounds().go(connection, every=4)
    assert Job.objects.get(pk=job.id).state == "queued"


def test_a_round_comes_only_so_often() -> None:
    clock = Clock()
    rounds = Rounds(clock)
    assert rounds.go(connection, every=4)
    clock.now += 3.9
    assert not rounds.go(connection, every=4)
    assert rounds.go(connection, every=1)
    clock.now += 4
    assert rounds.go(connection, every=4)


def test_while_one_goes_no_other_does() -> None:
    rounds = Rounds()
    with rounds._lock:
        assert not rounds.go(connection, every=0)
    assert rounds.go(connection, every=0)
