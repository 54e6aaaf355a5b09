"""Who is looked at again when a key is freed."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.moves import WAITING, Ended, remove
from jobs_app.models import Job
from tests.by_hand import admit_all
from tests.lifecycle.rows import done, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

KEYED = {"policy": "singleton", "gate": 2}


def waiting(count: int = 1, key: str = "k", **changes: object) -> list[object]:
    ids = stored(count, **KEYED, key=key, **changes)
    Job.objects.filter(pk__in=ids).update(hold="key")
    return list(ids)


def woken() -> set[object]:
    return set(Job.objects.filter(hold="new").values_list("pk", flat=True))


def cancel(*ids: object) -> None:
    gone = [Ended(id=run_id, token=None, state="cancelled", outcome="") for run_id in ids]  # type: ignore[arg-type]
    remove(connection, gone, WAITING)


def test_the_most_urgent_of_each_freed_key_is_woken() -> None:
    waiting(3)
    [urgent] = waiting(priority=9)
    [other_key] = waiting(key="l")
    waiting(key="not freed")
    waiting(queue="mail")
    wake_next(connection, [Key("default", "k"), Key("default", "l"), Key("default", "nobody"), Key("default", "k")])
    assert woken() == {urgent, other_key}


def test_of_each_type_one_is_woken_since_nobody_may_serve_one_of_them() -> None:
    [retired] = waiting(job_type="retired", priority=9)
    waiting(2, job_type="retired")
    served, _ = waiting(2)
    wake_next(connection, [Key("default", "k")])
    assert woken() == {retired, served}


def test_a_type_that_is_not_served_does_not_hide_the_others_of_its_key() -> None:
    waiting(2, job_type="retired", priority=9)
    served = waiting(3)
    wake_next(connection, [Key("default", "k")])
    for run_id in served:
        admit_all(["work"])
        [job] = take()
        assert job.id == run_id
        assert done(job)


def test_nothing_freed_is_nothing_asked(django_assert_num_queries: object) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        wake_next(connection, [])


def test_a_cancelled_holder_lets_the_next_one_in() -> None:
    holder, second = stored(2, **KEYED, key="k")
    admit_all(["work"])
    assert [(job.pk, job.hold) for job in Job.objects.order_by("id")] == [(holder, ""), (second, "key")]
    cancel(holder)
    admit_all(["work"])
    assert [job.id for job in take()] == [second]


def test_a_job_that_passed_no_gate_for_its_key_has_none() -> None:
    """Where a limit of the key was set when it waited for another one already."""
    stored(3, gate=1, key="k")
    admit_all(["work"])
    assert len(take()) == 3
    [later] = stored(**KEYED, key="k")
    admit_all(["work"])
    assert [job.id for job in take()] == [later]


@pytest.mark.django_db(transaction=True)
def test_who_is_just_being_written_by_somebody_else_is_passed(on_postgres: None) -> None:
    first, second = waiting(2)
    with sessions(2) as (canceller, waker):
        canceller.begin()
        canceller.do(cancel, first)
        waker.do(wake_next, connection, [Key("default", "k")])  # never waits
        assert woken() == set()  # the canceller wakes the second, and has not committed
        canceller.commit()
    assert woken() == {second}


@pytest.mark.django_db(transaction=True)
def test_whoever_comes_next_is_woken_in_the_place_of_one_that_is_locked(on_postgres: None) -> None:
    first, second = waiting(2)
    with sessions(1) as [other]:
        other.begin()
        other.do(lambda: list(Job.objects.select_for_update().filter(pk=first)))
        wake_next(connection, [Key("default", "k")])
        other.rollback()
    assert woken() == {second}
