"""Whose API token a request carries, and when it was last used."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from jobs_app.lifecycle import control
from jobs_app.lifecycle.tokens import find_token, note_use
from jobs_app.models import ApiToken
from jobs_app.tokens import new_token
from tests.lifecycle.rows import T, at
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

Assert = Callable[[int], AbstractContextManager[Any]]


def made(**options: Any) -> control.Created:
    return control.create_token("crawler", "ann", **{"scopes": ["pull"]} | options)


def used(created: control.Created) -> None:
    token = find_token(connection, created.text)
    assert token is not None
    note_use(connection, token)


def last_used_at() -> Any:
    return ApiToken.objects.get().last_used_at


def test_a_token_is_found_by_its_text_alone(django_assert_num_queries: Assert) -> None:
    created, other = made(), made()
    with django_assert_num_queries(1):
        assert find_token(connection, created.text) == created.token
    assert find_token(connection, other.text) == other.token


def test_the_right_prefix_with_another_secret_is_no_token() -> None:
    start = "jobs_abcd1234_"
    assert find_token(connection, made().text[: len(start)] + new_token().text[len(start) :]) is None


def test_an_unknown_prefix_costs_the_same_query(django_assert_num_queries: Assert) -> None:
    with django_assert_num_queries(1):
        assert find_token(connection, new_token().text) is None


def test_hashes_are_compared_in_constant_time_also_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert find_token(connection, made().text) is not None
    assert find_token(connection, new_token().text) is None
    assert compared == [(64, 64), (64, 64)]


@pytest.mark.parametrize("text", ["", "x", "a\0b", "\ud800", "é", "jobs_abcd1234_" + "s" * 1_000_000, "' OR 1=1 --"])
def test_what_is_no_token_is_refused_without_a_query(text: str, django_assert_num_queries: Assert) -> None:
    with django_assert_num_queries(0):
        assert find_token(connection, text) is None


def test_one_that_is_revoked_is_worth_nothing_at_once() -> None:
    created = made()
    control.revoke_token(created.token.pk, "ann")
    assert find_token(connection, created.text) is None


def test_one_expires_by_the_clock_of_the_database() -> None:
    with at(0):
        created = made(expires_at=T + timedelta(hours=1))
    with at(3599):
        assert find_token(connection, created.text) is not None
    with at(3600):
        assert find_token(connection, created.text) is None


def test_the_clock_need_not_stand_still() -> None:
    created = made(expires_at=timezone.now() + timedelta(hours=1))
    assert find_token(connection, created.text) is not None
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    assert find_token(connection, created.text) is None


def test_a_row_that_somebody_spoiled_is_no_token() -> None:
    created = made()
    ApiToken.objects.update(token_hash="ü")
    assert find_token(connection, created.text) is None


def test_a_use_is_noted_to_the_minute(django_assert_num_queries: Assert) -> None:
    created = made()
    with at(0):
        used(created)
        assert last_used_at() == T
    with at(59.9), django_assert_num_queries(1):
        used(created)  # the query that finds it
    assert last_used_at() == T
    with at(60):
        used(created)
    assert last_used_at() == T + timedelta(seconds=60)


def test_two_that_found_it_unused_write_once() -> None:
    created = made()
    with at(0):
        one, other = (find_token(connection, created.text) for _ in range(2))
    assert one is not None
    assert other is not None
    note_use(connection, one)
    ApiToken.objects.update(last_used_at=T + timedelta(seconds=1))  # as if a third came in between
    note_use(connection, other)
    assert last_used_at() == T + timedelta(seconds=1)


def test_a_row_from_elsewhere_can_be_noted_too() -> None:
    created = made()
    with at(5):
        note_use(connection, ApiToken.objects.get(pk=created.token.pk))
    assert last_used_at() == T + timedelta(seconds=5)


@pytest.mark.django_db(transaction=True)
def test_whoever_else_writes_the_row_is_not_waited_for(on_postgres: None) -> None:
    created = made()
    with sessions(1) as [other]:
        other.begin()
        other.do(lambda: ApiToken.objects.update(name="busy"))
        used(created)
        assert last_used_at() is None
        other.rollback()
    used(created)
    assert last_used_at() is not None
