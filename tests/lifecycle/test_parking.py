"""Parking and opening, a chunk at a time, past what others are writing."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle import control, parking
from jobs_app.lifecycle.pause_walks import Walker
from jobs_app.models import Job, Pause
from tests.lifecycle.paused import end, holds, paused
from tests.lifecycle.rows import T, at, stored, take, taken_ids
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 3)


def test_what_comes_back_is_due_from_now_on_in_the_order_it_had() -> None:
    """Claims read on from where they stopped: what has an older date would be found late."""
    with at(0):
        ids = stored(7, subject="shop-7")
        [later] = stored(1, subject="shop-7", delay=7200)
        Job.objects.update(hold="pause")
        pause = paused()
        end(pause, 1)
    with at(3600):
        assert Walker().go_on(connection, 60) == 8
        assert set(Job.objects.exclude(pk=later).values_list("run_at", flat=True)) == {T + timedelta(hours=1)}
        assert Job.objects.get(pk=later).run_at == T + timedelta(hours=2)
        assert taken_ids() == ids


def test_also_where_the_next_one_is_parked_by_a_later_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 1)
    for subject in ("shop-7", "shop-7", "shop-8"):
        stored(1, subject=subject, policy="singleton", key="k", gate=2)
    first = Job.objects.order_by("pk").values_list("pk", flat=True)[0]
    Job.objects.update(hold="key")
    Job.objects.filter(pk=first).update(hold="")
    paused()
    Walker().go_on(connection, 60)
    assert holds() == ["pause", "pause", "new"]


@pytest.mark.django_db(transaction=True)
def test_a_chunk_that_fails_is_taken_back_and_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(5, subject="shop-7")
    paused()
    monkeypatch.setattr(parking, "wake_next", lambda *_: 1 / 0)
    walker = Walker()
    with pytest.raises(ZeroDivisionError):
        walker.go_on(connection, 60)
    assert set(holds()) == {""}
    monkeypatch.undo()
    assert walker.go_on(connection, 60) == 5


@pytest.mark.django_db(transaction=True)
def test_rows_that_others_are_writing_are_passed(on_postgres: None) -> None:
    ids = stored(4, subject="shop-7")
    paused()
    with sessions(1) as [worker]:
        worker.begin()
        [taken] = worker.do(take, 1)
        assert Walker().go_on(connection, 60) == 3
        worker.rollback()
    assert holds(pk=taken.id) == [""]
    assert set(holds(pk__in=set(ids) - {taken.id})) == {"pause"}


@pytest.mark.django_db(transaction=True)
def test_claims_go_on_while_a_chunk_is_being_written(on_postgres: None) -> None:
    stored(3, subject="shop-7")
    [other] = stored(1, subject="shop-8")
    paused()
    with sessions(2) as (keeper, worker):
        keeper.begin()
        keeper.do(Walker().go_on, connection, 0)
        assert worker.do(taken_ids) == [other]
        keeper.commit()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scope", ["subject", "job_type"])
def test_a_pause_is_complete_also_where_enqueues_go_on(scope: str) -> None:
    """What the walk does not see, the enqueue parks itself; what neither does, claims leave out."""
    name = {"subject": "shop-7", "job_type": "work"}[scope]
    stored(4, subject="shop-7")
    Pause.objects.create(scope=scope, name=name)
    walker = Walker()
    walker.go_on(connection, 0)
    stored(4, subject="shop-7")
    walker.go_on(connection, 60)
    assert set(holds()) == {"pause"}


@pytest.mark.django_db(transaction=True)
def test_the_ids_of_slots_are_walked_too() -> None:
    """A job may have any id: those of slots are made from their date."""
    for run_id in (UUID(int=1), UUID(int=2**128 - 1)):
        stored(1, id=run_id, subject="shop-7")
    assert control.pause("subject", "shop-7", "ann").jobs == 2
