"""What a second enqueue gets while the first one has their key."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from jobs_app import job, trigger
from jobs_app.definitions import JobDefinition
from jobs_app.errors import IdempotencyConflict, KeyTaken, OptionInvalid
from jobs_app.handles import RunHandle
from jobs_app.models import IdempotencyKey, Job, JobRun
from tests.by_hand import HandWorker, admit_all
from tests.lifecycle.rows import at
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

ONE_WAITING = ["exclusive", "short", "stately"]


def defined(name: str = "work", **options: Any) -> JobDefinition[..., Any]:
    @job(name=name, **options)
    def work(n: int = 0) -> int:
        return n

    return work


def start() -> Any:
    [claimed] = HandWorker().claim()
    return claimed


def payloads() -> list[Any]:
    return list(Job.objects.order_by("id").values_list("payload", flat=True))


@pytest.mark.parametrize("policy", ONE_WAITING)
def test_a_second_one_is_the_first_while_that_waits(policy: str) -> None:
    work = defined(policy=policy)
    first = work.enqueue(n=1)
    second = work.enqueue(n=2)
    assert (second.id, first.created, second.created) == (first.id, True, False)
    assert second.payload == {"n": 1}
    assert work.options(key="another").enqueue().created


@pytest.mark.parametrize("policy", ONE_WAITING)
def test_a_second_one_is_an_error_where_that_is_asked_for(policy: str) -> None:
    work = defined(policy=policy, on_conflict="error")
    first = work.enqueue()
    with pytest.raises(KeyTaken, match="is queued") as caught:
        work.enqueue()
    assert caught.value.run_id == first.id
    assert Job.objects.count() == 1


@pytest.mark.parametrize("policy", ONE_WAITING)
def test_a_second_one_replaces_the_work_of_the_first_where_that_is_asked_for(policy: str) -> None:
    work = defined(policy=policy, on_conflict="replace")
    with at(0):
        first = work.enqueue(n=1)
        second = work.options(delay=60, priority=7, meta={"by": "second"}).enqueue(n=2)
    assert (second.id, second.created) == (first.id, False)
    stored = Job.objects.get()
    assert (stored.payload, stored.priority, stored.meta) == ({"n": 2}, 7, {"by": "second"})
    with at(59):
        assert HandWorker().claim() == []
    with at(60):
        assert start().id == first.id


@pytest.mark.spec("S3.18")
@pytest.mark.parametrize("on_conflict", ["return", "error", "replace"])
def test_exclusive_adds_none_while_one_runs_and_one_when_it_has_ended(on_conflict: str) -> None:
    work = defined(policy="exclusive", on_conflict=on_conflict)
    first = work.enqueue()
    worker = HandWorker()
    [running] = worker.claim()
    if on_conflict == "return":
        assert [work.enqueue().id for _ in range(3)] == [first.id] * 3
    else:
        with pytest.raises(KeyTaken, match="is running"):
            work.enqueue()
    assert Job.objects.count() == 1
    assert worker.report(worker.run(running))
    assert work.enqueue().created


@pytest.mark.parametrize("policy", ["short", "stately"])
def test_short_and_stately_let_one_wait_beside_the_one_that_runs(policy: str) -> None:
    work = defined(policy=policy)
    first = work.enqueue()
    start()
    second = work.enqueue()
    assert (second.created, work.enqueue().id) == (True, second.id)
    claimed = HandWorker().claim()
    assert [one.id for one in claimed] == ([second.id] if policy == "short" else [])
    assert first.id != second.id


@pytest.mark.parametrize("on_conflict", ["return", "error", "replace"])
@pytest.mark.parametrize("policy", ONE_WAITING)
def test_one_kind_of_work_never_stands_for_another(policy: str, on_conflict: str) -> None:
    other = defined("other", policy=policy)
    work = defined(policy=policy, on_conflict=on_conflict)
    first = other.options(key="k").enqueue(n=1)
    for options in ({}, {"idempotency_key": "once"}):
        with pytest.raises(KeyTaken, match="is of type 'other'") as caught:
            work.options(key="k", **options).enqueue(n=2)
        assert caught.value.run_id == first.id
    with pytest.raises(KeyTaken):
        work.options(key="k").enqueue_many([{}])
    assert payloads() == [{"n": 1}]
    assert not IdempotencyKey.objects.exists()


def test_a_job_that_is_replaced_by_later_work_gives_up_the_key_that_it_had() -> None:
    work, other = defined(policy="stately", on_conflict="replace"), defined("other", policy="singleton")
    with at(0):
        first = work.enqueue()
        second = other.options(key="work").enqueue()
        admit_all(["work", "other"])
        assert list(Job.objects.order_by("id").values_list("hold", flat=True)) == ["", "key"]
        assert work.options(delay=60).enqueue().id == first.id
        assert start().id == second.id


@pytest.mark.parametrize("on_conflict", ["return", "error", "replace"])
def test_throttle_lets_one_per_key_and_period_in(on_conflict: str) -> None:
    work = defined(throttle=60, on_conflict=on_conflict)

    def again(**options: Any) -> RunHandle:
        return work.options(**options).enqueue(n=2)

    with at(0):
        first = work.enqueue(n=1)
        assert again(key="another").created
        if on_conflict == "error":
            with pytest.raises(KeyTaken, match="is queued"):
                again()
        else:
            assert again().id == first.id
    assert Job.objects.get(pk=first.id).payload == ({"n": 2} if on_conflict == "replace" else {"n": 1})
    with at(61):
        assert again().created


def test_throttle_goes_on_when_the_first_one_has_finished() -> None:
    work = defined(throttle=60)
    with at(0):
        first = work.enqueue()
        assert HandWorker().work() is not None
    assert JobRun.objects.filter(pk=first.id, state="succeeded").exists()
    with at(59):
        assert work.enqueue().id == first.id
        with pytest.raises(KeyTaken, match="is succeeded and cannot be replaced"):
            work.options(on_conflict="replace").enqueue()
    with at(60):
        assert work.enqueue().id != first.id


def test_an_enqueue_that_the_policy_refuses_begins_no_period() -> None:
    work = defined(throttle=60, policy="exclusive")
    with at(0):
        first = work.enqueue()
        start()
    with at(70):
        assert work.enqueue().id == first.id  # it still runs
        with pytest.raises(KeyTaken, match="is running"):
            work.options(on_conflict="error").enqueue()
    assert Job.objects.filter(pk=first.id).delete()
    with at(71):
        assert work.enqueue().created


def test_debounce_waits_for_the_last_of_a_row_of_enqueues() -> None:
    work = defined(debounce=10)
    for moment in (0, 5, 12):
        with at(moment):
            run = work.enqueue(n=moment)
    with at(21):
        assert HandWorker().claim() == []
        assert Job.objects.get().payload == {"n": 12}
    with at(22):
        assert start().id == run.id
        newer = work.enqueue(n=22)  # while the last one runs
    assert (newer.created, Job.objects.count()) == (True, 2)


def test_in_bulk_the_first_of_a_key_is_stored_and_the_others_are_it() -> None:
    work = defined(policy="exclusive")
    before = work.enqueue(n=0)
    runs = work.options(key="k").enqueue_many([{"n": 1}, {"n": 2}])
    assert [run.created for run in runs] == [True, False]
    assert runs[0].id == runs[1].id != before.id
    with pytest.raises(KeyTaken, match="No job was stored"):
        work.options(key="new", on_conflict="error").enqueue_many([{"n": 1}, {"n": 2}])
    with pytest.raises(OptionInvalid, match="throttle= is about one run"):
        work.options(throttle=5).enqueue_many([{}])
    assert Job.objects.count() == 2


def test_an_idempotency_key_stands_for_the_run_that_had_the_key_of_its_job() -> None:
    work = defined(policy="exclusive")
    first = work.enqueue(n=1)
    second = work.options(idempotency_key="once").enqueue(n=2)
    assert (second.id, second.created) == (first.id, False)
    assert HandWorker().work() is not None
    assert work.options(idempotency_key="once").enqueue(n=2).id == first.id
    with pytest.raises(IdempotencyConflict):
        work.options(idempotency_key="once").enqueue(n=3)


@pytest.mark.parametrize("options", [{"policy": "exclusive"}, {"throttle": 60}])
def test_an_idempotency_key_goes_with_what_a_conflict_gets(options: dict[str, Any]) -> None:
    work = defined(**options, on_conflict="error")
    work.enqueue()
    with pytest.raises(KeyTaken):
        work.options(idempotency_key="once").enqueue(n=2)
    assert not IdempotencyKey.objects.filter(key="once").exists()
    replaced = work.options(idempotency_key="once", on_conflict="replace").enqueue(n=2)
    assert (replaced.created, payloads()) == (False, [{"n": 2}])


@pytest.mark.parametrize("options", [{}, {"idempotency_key": "once"}, {"throttle": 60}])
def test_an_error_leaves_the_callers_transaction_usable(options: dict[str, Any]) -> None:
    work = defined(policy="exclusive", on_conflict="error")
    work.enqueue()
    with transaction.atomic():
        Group.objects.create(name="before")
        with pytest.raises(KeyTaken):
            work.options(**options).enqueue()
        Group.objects.create(name="after")
    assert Group.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_of_two_sessions_at_once_the_second_waits_and_gets_the_run_of_the_first(ends: str, on_postgres: None) -> None:
    work = defined(policy="exclusive")
    with sessions(2) as (first, second):
        first.begin()
        earlier = first.do(work.enqueue)
        waiting = second.start(work.enqueue)
        second.until_blocked(waiting)
        getattr(first, ends)()
        later = waiting.result(30)
    assert later.created == (ends == "rollback")
    assert (later.id == earlier.id) == (ends == "commit")
    assert Job.objects.count() == 1


def test_triggered_by_name_a_conflict_is_the_same() -> None:
    defined(policy="exclusive")
    assert trigger("work").id == trigger("work").id
    with pytest.raises(KeyTaken):
        trigger("work", on_conflict="error")
