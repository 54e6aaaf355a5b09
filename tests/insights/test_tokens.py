"""The API tokens there are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs_app.insights.tokens import all_tokens, listed, status_of
from jobs_app.lifecycle import control
from jobs_app.models import ApiToken
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


def make(name: str, *, seconds: float | None = None) -> str:
    expires_at = None if seconds is None else T + timedelta(seconds=seconds)
    return control.create_token(name, "ann", scopes=["pull"], expires_at=expires_at).token.prefix


@pytest.fixture(autouse=True)
def tokens() -> None:
    with at(0):
        make("old")
        make("short", seconds=60)
        for name in ("first gone", "last gone"):
            prefix = make(name)
            with at(1 if name == "first gone" else 2):
                control.revoke_token(prefix, "ann")
        make("new", seconds=61)


def test_each_is_told_with_its_status_by_the_clock_of_the_database() -> None:
    with at(60):
        found = all_tokens(connection)
    assert [(row.name, status) for row, status in found.tokens] == [
        ("new", "in force"),
        ("short", "expired"),
        ("old", "in force"),
        ("last gone", "revoked"),
        ("first gone", "revoked"),
    ]
    assert not found.is_capped


def test_what_is_revoked_hides_nothing_that_is_not() -> None:
    with at(0):
        found = all_tokens(connection, limit=3)
    assert [row.name for row, _ in found.tokens] == ["new", "short", "old"]
    assert found.is_capped
    assert not all_tokens(connection, limit=5).is_capped


def test_what_is_revoked_is_so_whether_or_not_it_has_expired() -> None:
    token = ApiToken(revoked_at=T, expires_at=T)
    assert status_of(token, now=T + timedelta(days=1)) == "revoked"


@pytest.mark.parametrize(("column", "told"), [(["a", 7], ["a", "7"]), ([], []), ({}, []), ("ab", []), (None, [])])
def test_a_row_may_hold_anything(column: object, told: list[str]) -> None:
    assert listed(column) == told
