"""Of jobs that are stored together and share a key only the first is looked at by admission; all have their turn."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle.database import pinned_transaction
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.moves import WAITING, Ended, remove
from jobs_app.lifecycle.parking import BEGINNING, park_chunk
from jobs_app.lifecycle.pauses import Pauses
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, Pause, QueueState
from tests.by_hand import admit_all
from tests.lifecycle.rows import T, at, done, new_job, take
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

KEYED: dict[str, Any] = {"policy": "singleton", "key": "k", "gate": 2}
LEASE_OVER = 40.0  # of a lease of 30 seconds


def together(*changes: dict[str, Any]) -> list[UUID]:
    """Jobs that one statement stores, with the key k and these differences."""
    return [job.id for job in enqueue([new_job(**(KEYED | each)) for each in changes])]


def holds(ids: list[UUID]) -> list[str]:
    found = dict(Job.objects.values_list("pk", "hold"))
    return [found[run_id] for run_id in ids]


def test_all_but_the_first_wait_for_their_key_from_the_beginning() -> None:
    assert holds(together({}, {}, {"key": "l"}, {}, {"key": "l"}, {"queue": "mail"})) == [
        "new",
        "key",
        "new",
        "key",
        "key",
        "new",
    ]


def test_the_most_urgent_is_the_first() -> None:
    assert holds(together({}, {"priority": 5}, {"priority": 9}, {"priority": 9})) == ["key", "key", "new", "key"]


@pytest.mark.parametrize(
    "other",
    [
        {"job_type": "other"},
        {"subject": "shop-7"},
        {"delay": 60},
        {"run_at": T - timedelta(days=1)},
        {"expires_at": T + timedelta(days=1)},
        {"policy": "standard"},
        {"policy": "short"},
        {"policy": "stately"},
    ],
    ids=str,
)
def test_what_may_not_start_with_the_first_is_looked_at_by_itself(other: dict[str, Any]) -> None:
    with at(0):
        assert holds(together({}, other)) == ["new", "new"]
        assert holds(together(other | {"key": "l"}, {"key": "l"})) == ["new", "new"]


def test_where_one_may_be_refused_nobody_stands_behind_another() -> None:
    assert holds(together({}, {}, {"policy": "exclusive"})) == ["new", "new", "new"]


def test_who_is_paused_is_parked_like_all_others() -> None:
    Pause.objects.create(scope="job_type", name="work")
    assert holds(together({}, {})) == ["pause", "pause"]
    assert holds(together({"job_type": "other"}, {"job_type": "other"})) == ["new", "key"]


def test_a_limit_of_the_queue_lets_them_start_one_after_another() -> None:
    QueueState.objects.create(name="default", max_running=5, max_running_per_key=3)
    ids = together({}, {}, {})
    for run_id in ids:
        admit_all(["work"])
        [job] = take()
        assert job.id == run_id
        assert done(job)


def cancel(run_id: UUID) -> None:
    with pinned_transaction(connection):
        remove(connection, [Ended(id=run_id, token=None, state="cancelled", outcome="")], WAITING)


def park(run_id: UUID) -> None:
    Job.objects.filter(pk=run_id).update(subject="paused")
    with pinned_transaction(connection):
        park_chunk(connection, Pauses(subjects=frozenset(["paused"])), BEGINNING)


def started(run_id: UUID) -> Any:
    admit_all(["work"])
    [job] = take()
    assert job.id == run_id
    return job


def lose(run_id: UUID) -> None:
    started(run_id)
    with at(LEASE_OVER):
        recover(connection, random=lambda: 0.0)


WAYS_TO_LEAVE: dict[str, Callable[[UUID], Any]] = {
    "it ends": lambda run_id: done(started(run_id)),
    "it is tried again later": lambda run_id: done(started(run_id), "queued", delay=600),
    "its worker is lost": lose,
    "it is cancelled before anybody looked": cancel,
    "it is cancelled as it waits for a worker": lambda run_id: [admit_all(["work"]), cancel(run_id)],
    "it is parked before anybody looked": park,
    "it is parked as it waits for a worker": lambda run_id: [admit_all(["work"]), park(run_id)],
}


@pytest.mark.parametrize("way", WAYS_TO_LEAVE)
def test_however_the_first_leaves_the_next_has_its_turn(way: str) -> None:
    with at(0):
        first, second, third = together({}, {}, {})
        WAYS_TO_LEAVE[way](first)
        if way != "its worker is lost":
            assert done(started(second))
            assert done(started(third))
    with at(LEASE_OVER):
        admit_all(["work"])
        assert len(take()) == (way == "its worker is lost")


def test_one_that_is_more_urgent_and_comes_later_goes_first() -> None:
    [_first, second] = together({}, {})
    [urgent] = together({"priority": 9})
    assert done(started(urgent))
    assert holds([second]) == ["key"]


@pytest.mark.django_db(transaction=True)
def test_the_holder_of_their_key_ends_before_their_transaction_does(on_postgres: None) -> None:
    [holder] = together({})
    admit_all(["work"])
    [running] = take()
    with sessions(1) as [producer]:
        producer.begin()
        first, second = producer.do(together, {}, {})
        assert done(running)  # it sees nobody who waits
        producer.commit()
    assert holder == running.id
    assert done(started(first))
    assert done(started(second))
