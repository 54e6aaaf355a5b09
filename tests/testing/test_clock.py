"""The clock of jobs in a test: it stands, it moves, and it goes on as before afterwards."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.database import database_now
from jobs_app.testing import freeze_clock, run_jobs

MOMENT = datetime(2030, 5, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def test_it_stands_at_a_moment_and_is_let_go() -> None:
    with freeze_clock(MOMENT) as clock:
        assert clock.now == database_now(connection) == MOMENT
    assert database_now(connection) < MOMENT


def test_it_stands_at_now() -> None:
    before = database_now(connection)
    with freeze_clock() as clock:
        assert before <= clock.now <= before + timedelta(seconds=30)
        assert database_now(connection) == clock.now


@pytest.mark.parametrize("far", ["2h", 7200, timedelta(hours=2)])
def test_it_stands_so_far_from_now(far: float | timedelta | str) -> None:
    with freeze_clock(MOMENT), freeze_clock(far) as clock:
        assert clock.now == MOMENT + timedelta(hours=2)


def test_it_moves() -> None:
    with freeze_clock(MOMENT) as clock:
        assert clock.move("5m") == MOMENT + timedelta(minutes=5)
        assert clock.move(0.5) == database_now(connection)
        clock.move_to(MOMENT)  # back is a way to go, too
        assert clock.now == database_now(connection) == MOMENT


def test_one_inside_another_ends_where_the_other_stands() -> None:
    with freeze_clock(MOMENT) as outer:
        with freeze_clock("1d") as inner:
            inner.move("1d")
            assert database_now(connection) == MOMENT + timedelta(days=2)
        assert database_now(connection) == outer.now == MOMENT


def test_a_failing_test_lets_it_go() -> None:
    with suppress(LookupError), freeze_clock(MOMENT) as clock:
        clock.move("1h")
        raise LookupError
    assert database_now(connection) < MOMENT


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"), freeze_clock(datetime(2030, 5, 1)):
        pass


def test_enqueues_and_runs_are_stamped_with_it() -> None:
    @job
    def remind() -> None: ...

    with freeze_clock(MOMENT) as clock:
        run = remind.options(delay="1d").enqueue()
        assert (run.queued_at, run.run_at, run.status) == (MOMENT, MOMENT + timedelta(days=1), "scheduled")
        clock.move("1d")
        [ran] = run_jobs()
        assert ran.finished_at is not None
        assert abs(ran.finished_at - clock.now) < timedelta(seconds=5)
        assert ran.wait_seconds == 86400


def test_one_call_may_have_its_own() -> None:
    @job
    def remind() -> None: ...

    with freeze_clock(MOMENT):
        remind.options(run_at=MOMENT + timedelta(hours=1)).enqueue()
        assert not run_jobs(at=MOMENT + timedelta(minutes=59))
        assert len(run_jobs(at=timedelta(hours=1))) == 1
        assert database_now(connection) == MOMENT
