"""Jobs whose key another one has wait for it, without admission deciding about each of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle.admit import MOST_TURNED_AWAY, ROWS_PER_STEP, Admitted, Asking, admit
from jobs_app.lifecycle.database import pinned_transaction
from jobs_app.lifecycle.rules import Rules
from jobs_app.lifecycle.turn_away import turn_away
from jobs_app.models import Job
from tests.lifecycle.rows import T, at, done, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

KEYED: dict[str, Any] = {"policy": "singleton", "gate": 2}


def look() -> Admitted:
    return admit(connection, "default", Asking(job_types=["work"], rules=Rules()))


def owner(key: str = "k", **changes: Any) -> UUID:
    [run_id] = stored(**(KEYED | {"key": key} | changes))
    Job.objects.filter(pk=run_id).update(hold="")
    return run_id


def new(key: str | None = "k", **changes: Any) -> UUID:
    [run_id] = stored(**(KEYED | {"key": key} | changes))
    return run_id


def turned_away(lanes: Sequence[tuple[str, int]] = (("work", 0),), *, limit: int = 100) -> int:
    with pinned_transaction(connection):
        return turn_away(connection, "default", lanes, paused_subjects=["paused"], limit=limit)


def waiting() -> set[UUID]:
    return set(Job.objects.filter(hold="key").values_list("pk", flat=True))


@pytest.mark.usefixtures("on_postgres")
def test_whose_key_is_taken_waits_and_all_others_are_left_to_admission() -> None:
    owner()
    owner("beside", policy="standard")
    losing = {new(), new(), new(policy="stately")}
    new("free")
    new("beside")
    new("k", policy="standard")
    new(None)
    new("k", queue="mail")
    assert turned_away() == 3
    assert waiting() == losing


@pytest.mark.usefixtures("on_postgres")
@pytest.mark.parametrize(
    "changes",
    [
        {"delay": 60},
        {"expires_at": T + timedelta(seconds=5)},
        {"subject": "paused"},
        {"priority": 5},
        {"job_type": "other"},
    ],
    ids=str,
)
def test_only_what_is_due_in_a_lane_that_was_asked_for_is_looked_at(changes: dict[str, Any]) -> None:
    with at(0):
        owner()
        run_id = new(**changes)
    with at(10):
        assert turned_away() == 0
    assert Job.objects.get(pk=run_id).hold == "new"


@pytest.mark.usefixtures("on_postgres")
def test_so_many_are_looked_at_over_all_lanes_the_first_lanes_first() -> None:
    owner()
    low, high = [new() for _ in range(3)], [new(priority=5) for _ in range(3)]
    assert turned_away([("work", 5), ("work", 0)], limit=4) == 4
    assert waiting() == {*high, low[0]}


@pytest.mark.usefixtures("on_postgres")
def test_an_owner_that_waits_for_a_limit_has_its_key() -> None:
    Job.objects.filter(pk=owner()).update(hold="limit")
    new()
    assert turned_away() == 1


@pytest.mark.usefixtures("on_postgres")
def test_a_step_over_a_flood_goes_on_and_says_so() -> None:
    owner()
    count = ROWS_PER_STEP + MOST_TURNED_AWAY + 10
    stored(count, **KEYED, key="k")
    Job.objects.filter(hold="key").update(hold="new")
    free = new("free")
    assert look() == Admitted(is_more=True)
    assert len(waiting()) == count - 10
    assert (look().opened, look().is_more) == (1, False)
    assert Job.objects.get(pk=free).hold == ""
    assert len(waiting()) == count


def test_an_urgent_job_of_a_free_key_does_not_wait_for_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.lifecycle.admit.ROWS_PER_STEP", 4)
    owner()
    for _ in range(12):
        new()
    urgent = new("free", priority=50)
    assert look().opened == 1
    assert Job.objects.get(pk=urgent).hold == ""


def test_without_postgres_admission_decides_about_each(is_postgres: bool) -> None:
    if is_postgres:
        pytest.skip("SQLite only")
    owner()
    run_id = new()
    assert turned_away() == 0
    look()
    assert waiting() == {run_id}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_an_owner_that_is_just_ending_sends_nobody_to_wait() -> None:
    owner()
    [running] = take()
    new()
    with sessions(1) as [ender]:
        ender.begin()
        assert ender.do(done, running)
        assert turned_away() == 0
        ender.commit()
    assert turned_away() == 0
    assert look().opened == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_an_owner_that_ends_meanwhile_waits_and_wakes_who_was_sent_to_wait() -> None:
    owner()
    [running] = take()
    run_id = new()
    with sessions(2) as (looker, ender):
        looker.begin()
        assert looker.do(turned_away) == 1
        ending = ender.start(done, running)
        ender.until_blocked(ending)
        looker.commit()
        assert ending.result(30)
    assert Job.objects.get(pk=run_id).hold == "new"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_one_that_somebody_else_is_writing_is_passed() -> None:
    owner()
    written, other = new(), new()
    with sessions(1) as [writer]:
        writer.begin()
        writer.do(lambda: list(Job.objects.select_for_update().filter(pk=written)))
        assert turned_away() == 1
        writer.rollback()
    assert waiting() == {other}
