"""Poolers: each stand-in does to real sessions what a pooler in transaction mode does to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.doctor import pooler
from jobs_app.insights.doctor.pooler import notifications_lost, open_session, sessions_shared
from tests.insights.doctor.looking import look, on_postgres

pytestmark = [on_postgres, pytest.mark.django_db]


@pytest.fixture
def one_server_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All clients are served by one session."""
    with open_session(connection) as shared:

        @contextmanager
        def the_same(connection: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
            yield shared

        monkeypatch.setattr(pooler, "open_session", the_same)
        yield


@pytest.fixture
def forgetful_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a session was told is forgotten when its transaction ends."""

    def forget(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, parameters, many, context)
        context["connection"].connection.execute("UNLISTEN *")
        return answer

    @contextmanager
    def forgetful(connection: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
        with open_session(connection) as session, session.execute_wrapper(forget):
            yield session

    monkeypatch.setattr(pooler, "open_session", forgetful)
    monkeypatch.setattr(pooler, "HEARD_SECONDS", 0.1)


def test_sessions_of_the_server_itself_are_fine() -> None:
    assert look(sessions_shared).level == "ok"
    assert look(notifications_lost).level == "ok"


@pytest.mark.usefixtures("one_server_process")
def test_a_session_that_is_handed_around_is_a_warning_while_cursors_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = look(sessions_shared)
    assert (found.level, "DISABLE_SERVER_SIDE_CURSORS" in found.advice) == ("warning", True)
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    assert look(sessions_shared).level == "note"


@pytest.mark.usefixtures("forgetful_sessions")
def test_a_notification_that_does_not_arrive_is_a_warning_where_workers_listen(settings: Any) -> None:
    found = look(notifications_lost)
    assert (found.level, "--no-listen" in found.advice) == ("warning", True)
    settings.JOBS = {"WORKER_LISTEN": False}
    assert look(notifications_lost).level == "ok"
