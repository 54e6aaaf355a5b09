"""Rate limits as rows that several processes move."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs_app.lifecycle.rates import Rates, Scope
from jobs_app.limits import Rate
from jobs_app.models import RateLimit
from tests.lifecycle.rows import T, at
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

CALLS = Scope("queue calls")
TEN = Rate(10, 60)


def test_no_rate_grants_everything_and_stores_nothing() -> None:
    assert Rates(connection).take(CALLS, None, 1000) == 1000
    assert not RateLimit.objects.exists()


def test_what_is_granted_is_stored_and_what_is_not_says_when() -> None:
    with at(0):
        rates = Rates(connection)
        assert rates.take(CALLS, TEN, 5) == 1
        assert rates.next_at == T + timedelta(seconds=6)
        assert Rates(connection).take(CALLS, TEN, 1) == 0
    with at(6):
        assert Rates(connection).take(CALLS, TEN, 1) == 1
    assert RateLimit.objects.get().next_free_at == T + timedelta(seconds=12)


def test_each_scope_and_each_key_has_its_own() -> None:
    with at(0):
        rates = Rates(connection)
        for scope in (CALLS, Scope("type calls"), Scope("key of calls", "a"), Scope("key of calls", "b")):
            assert rates.take(scope, TEN, 1) == 1
            assert rates.take(scope, TEN, 1) == 0
    assert RateLimit.objects.count() == 4


def test_nothing_wanted_moves_nothing() -> None:
    assert Rates(connection).take(CALLS, TEN, 0) == 0
    assert not RateLimit.objects.exists()


def test_a_moment_can_be_asked_for_without_taking_it() -> None:
    with at(0):
        rates = Rates(connection)
        assert rates.free_at(CALLS, TEN) <= T
        assert not RateLimit.objects.exists()
        rates.take(CALLS, TEN, 1)
        later = Rates(connection)
        assert later.free_at(CALLS, TEN) == T + timedelta(seconds=6)
        assert later.free_at(CALLS, TEN, after=3) == T + timedelta(seconds=24)


def test_the_longest_names_fit() -> None:
    scope = Scope(f"key of {'t' * 120} in {'q' * 120}", "k" * 200)
    assert Rates(connection).take(scope, TEN, 1) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_known", [False, True])
def test_of_two_at_once_one_gets_it(is_known: bool, on_postgres: None) -> None:
    with at(0), sessions(2) as (first, second):
        if is_known:
            RateLimit.objects.create(scope=CALLS.name, key="", next_free_at=T - timedelta(hours=1))
        first.begin()
        assert first.do(lambda: Rates(connection).take(CALLS, TEN, 1)) == 1
        other = second.start(lambda: Rates(connection).take(CALLS, TEN, 1))
        second.until_blocked(other)
        first.commit()
        assert other.result(30) == 0


@pytest.mark.django_db(transaction=True)
def test_what_was_granted_in_a_step_that_failed_is_free_again(on_postgres: None) -> None:
    with at(0), sessions(1) as [session]:
        session.begin()
        assert session.do(lambda: Rates(connection).take(CALLS, TEN, 1)) == 1
        session.rollback()
        assert Rates(connection).take(CALLS, TEN, 1) == 1
