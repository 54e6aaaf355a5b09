"""One key, one run: also after it finished, also while its twin is not committed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from jobs_app.errors import IdempotencyConflict
from jobs_app.lifecycle import idempotency
from jobs_app.lifecycle.conflicts import enqueue_once
from jobs_app.lifecycle.idempotency import forget_keys, hash_of
from jobs_app.models import IdempotencyKey, Job, JobRun
from tests.lifecycle.rows import T, at, done, new_job, take
from tests.lifecycle.sessions import sessions


def once(key: str = "order-7", **changes: Any) -> tuple[UUID, bool]:
    """The run that the key stands for, and whether this call made it."""
    run_id, stored = enqueue_once(new_job(**changes), key=key)
    return run_id, stored is not None


@pytest.mark.django_db(transaction=True)
def test_a_second_call_with_the_key_gives_the_first_run() -> None:
    first, created = once(payload='{"a": 1, "b": 2}')
    assert created
    assert once(payload='{"b": 2, "a": 1}') == (first, False)
    assert Job.objects.get().id == first


@pytest.mark.django_db
def test_what_is_told_of_a_new_run_is_what_was_stored() -> None:
    with at(0):
        run_id, stored = enqueue_once(new_job(delay=60), key="k")
    assert stored is not None
    assert stored[:3] == (run_id, T, T + timedelta(minutes=1))
    key = IdempotencyKey.objects.get()
    assert (key.scope, key.key, key.run_id, key.created_at) == ("work", "k", run_id, T)
    assert key.expires_at == T + timedelta(days=7)


@pytest.mark.django_db
def test_the_run_is_given_also_after_it_finished() -> None:
    first, _ = once()
    [job] = take()
    assert done(job)
    assert once() == (first, False)
    assert not Job.objects.exists()
    assert JobRun.objects.get().id == first


@pytest.mark.django_db
def test_another_payload_under_the_key_is_refused_and_nothing_is_stored() -> None:
    first, _ = once(payload='{"amount": 5}')
    with pytest.raises(IdempotencyConflict, match=f"'order-7' of 'work'.*{first}"):
        once(payload='{"amount": 6}')
    assert Job.objects.count() == IdempotencyKey.objects.count() == 1


@pytest.mark.django_db
def test_a_key_belongs_to_its_job_type() -> None:
    assert once()[0] != once(job_type="other")[0]


def test_the_body_is_the_type_and_the_payload_whatever_the_order_of_its_keys() -> None:
    assert hash_of("work", {"a": 1, "b": [1, 2]}) == hash_of("work", {"b": [1, 2], "a": 1})
    assert hash_of("work", {"a": 1}) != hash_of("other", {"a": 1})
    assert hash_of("work", {"a": 1}) != hash_of("work", {"a": 1.5})
    assert hash_of("work", {"a": [1, 2]}) != hash_of("work", {"a": [2, 1]})


@pytest.mark.django_db
def test_an_expired_key_is_free_again_even_for_other_work() -> None:
    with at(0):
        first, _ = once(payload='{"n": 1}')
    IdempotencyKey.objects.update(answer={"run": str(first)})
    with at(7 * 86400 - 1):
        assert once(payload='{"n": 1}') == (first, False)
    with at(7 * 86400 + 1):
        second, created = once(payload='{"n": 2}')
    assert created
    assert second != first
    key = IdempotencyKey.objects.get()
    assert (key.run_id, key.answer) == (second, None)
    assert key.expires_at == T + timedelta(days=14, seconds=1)


@pytest.mark.django_db
def test_how_long_a_key_is_kept_is_a_setting(settings: Any) -> None:
    settings.JOBS = {"IDEMPOTENCY_DAYS": 1}
    with at(0):
        first, _ = once()
    with at(86400):
        assert once()[0] != first


@pytest.mark.django_db(transaction=True)
def test_key_and_job_roll_back_with_the_caller() -> None:
    with transaction.atomic():
        once()
        transaction.set_rollback(True)
    assert not IdempotencyKey.objects.exists()
    assert once()[1]


@pytest.mark.django_db(transaction=True)
def test_a_refused_key_leaves_the_callers_transaction_usable() -> None:
    first, _ = once(payload="[1]")
    with transaction.atomic():
        with pytest.raises(IdempotencyConflict):
            once(payload="[2]")
        other, created = once("another", payload="[2]")
    assert created
    assert set(Job.objects.values_list("id", flat=True)) == {first, other}


@pytest.mark.django_db(transaction=True)
def test_two_calls_in_one_transaction_share_the_run() -> None:
    with transaction.atomic():
        first, _ = once()
        assert once() == (first, False)
    assert Job.objects.get().id == first


@pytest.mark.parametrize("inside_a_transaction", [False, True])
@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.django_db(transaction=True)
def test_a_twin_that_is_not_committed_is_waited_for(commits: bool, inside_a_transaction: bool) -> None:
    def second_call() -> tuple[UUID, bool]:
        # A host's own transaction waits in SQLite itself and not in our hands.
        if inside_a_transaction and connection.vendor == "postgresql":
            with transaction.atomic():
                return once()
        return once()

    with sessions(2) as [one, other]:
        one.begin()
        first, _ = one.do(once)
        waiting = other.start(second_call)
        other.until_blocked(waiting)
        (one.commit if commits else one.rollback)()
        second, created = waiting.result(timeout=60)
    assert created is not commits
    assert (second == first) is commits
    assert Job.objects.get().id == second


@pytest.mark.django_db(transaction=True)
def test_of_many_callers_at_once_one_makes_the_run() -> None:
    with sessions(6) as callers:
        answers = [future.result(timeout=60) for future in [caller.start(once) for caller in callers for _ in range(5)]]
    assert len({run_id for run_id, _ in answers}) == 1
    assert sum(created for _, created in answers) == 1
    assert Job.objects.count() == 1


@pytest.mark.django_db
def test_keys_are_forgotten_when_they_expired_and_not_before() -> None:
    with at(0):
        once("old")
    with at(60):
        once("new")
    with at(7 * 86400 - 1):
        assert forget_keys(connection) is False
        assert IdempotencyKey.objects.count() == 2
    with at(7 * 86400):
        assert forget_keys(connection) is False
    assert [key.key for key in IdempotencyKey.objects.all()] == ["new"]
    assert Job.objects.count() == 2


@pytest.mark.django_db
def test_many_expired_keys_are_forgotten_in_parts_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "ROWS_PER_STATEMENT", 2)
    monkeypatch.setattr(idempotency, "STATEMENTS_PER_CALL", 2)
    for number in range(5):
        with at(number):
            once(f"key-{number}")
    with at(8 * 86400):
        assert forget_keys(connection) is True
        assert [key.key for key in IdempotencyKey.objects.all()] == ["key-4"]
        assert forget_keys(connection) is False
    assert not IdempotencyKey.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_key_that_is_just_taken_again_is_not_forgotten() -> None:
    with at(0):
        once("taken")
        once("left")
    with at(8 * 86400), sessions(2) as [one, other]:
        one.begin()
        run_id, created = one.do(lambda: once("taken"))
        assert created
        assert other.do(lambda: forget_keys(connection)) is False
        one.commit()
    assert [(key.key, key.run_id) for key in IdempotencyKey.objects.all()] == [("taken", run_id)]
