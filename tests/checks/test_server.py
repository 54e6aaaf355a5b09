"""What the checks ask the database, where Django is told to ask it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import NotSupportedError, connection, connections

from jobs_app.checks import server
from jobs_app.checks.addresses import tokens_can_be_used
from jobs_app.checks.server import server_is_new_enough, tables_exist, workers_do_not_debug, workers_hear_of_jobs
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import Job
from tests.checks.looking import found_in_database


@pytest.mark.django_db
def test_missing_tables_are_a_warning_when_the_database_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_in_database() == {}
    monkeypatch.setattr(Job._meta, "db_table", "jobs_app_gone")
    message = found_in_database()["jobs_app.W010"]
    assert "jobs_app_gone" in message.msg
    assert str(message.hint).startswith("Run manage.py migrate jobs_app --database default.")


@pytest.mark.django_db
def test_a_database_before_its_first_migration_hears_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job._meta, "db_table", "jobs_app_gone")
    monkeypatch.setattr("jobs_app.checks.server.MigrationRecorder.has_table", lambda self: False)
    assert found_in_database() == {}


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, tuple[int, ...]], None]:
    """Lets the database be another one."""

    def pretend(vendor: str, number: tuple[int, ...]) -> None:
        monkeypatch.setattr(connection, "vendor", vendor)
        monkeypatch.setattr(type(connections["default"]), "get_database_version", lambda self: number)

    return pretend


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("vendor", "number", "is_told"),
    [
        ("postgresql", (13, 9), True),
        ("postgresql", (14, 0), False),
        ("sqlite", (3, 34, 1), True),
        ("sqlite", (3, 35), False),
    ],
)
def test_a_database_that_is_too_old_is_an_error(
    vendor: str, number: tuple[int, ...], is_told: bool, version: Callable[[str, tuple[int, ...]], None]
) -> None:
    version(vendor, number)
    [*found] = server_is_new_enough(databases=["default"])
    assert [message.id for message in found] == ["jobs_app.E009"] * is_told
    assert all(".".join(map(str, number)) in message.msg for message in found)


@pytest.mark.django_db
def test_a_database_that_django_refuses_is_told_once_and_asked_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object) -> None:
        raise NotSupportedError("PostgreSQL 14 or later is required (found 9.6).")

    for name in ("ensure_connection", "get_database_version"):
        monkeypatch.setattr(type(connections["default"]), name, refuse)
    assert list(found_in_database()) == ["jobs_app.E009"]
    assert "found 9.6" in found_in_database()["jobs_app.E009"].msg


@pytest.mark.parametrize("databases", [None, [], ["another"]])
def test_a_database_that_django_was_not_told_to_ask_is_not_asked(databases: list[str] | None) -> None:
    """No test database is needed to see it."""
    for check in (server_is_new_enough, tables_exist, workers_hear_of_jobs, workers_do_not_debug, tokens_can_be_used):
        assert check(databases=databases) == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("poll", "listen", "is_shared", "is_told"),
    [(5, True, True, True), (1, True, True, False), (5, False, True, False), (5, True, False, False)],
)
def test_a_pooler_is_a_warning_where_workers_listen_and_poll_rarely(
    poll: float, listen: bool, is_shared: bool, is_told: bool, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How a pooler is recognised is shown with the doctor, tests/insights/doctor/test_pooler.py."""
    settings.JOBS = {"WORKER_POLL_SECONDS": poll, "WORKER_LISTEN": listen}
    monkeypatch.setattr(connection, "vendor", "postgresql")
    monkeypatch.setattr(server, "are_sessions_shared", lambda connection: is_shared)
    messages = workers_hear_of_jobs(databases=["default"])
    assert [message.id for message in messages] == ["jobs_app.W012"] * is_told
    assert all("every 5 seconds" in message.msg for message in messages)


@pytest.mark.django_db
def test_a_worker_with_debug_is_a_warning_where_it_is_deployed(settings: Any) -> None:
    settings.DEBUG = True
    assert found_in_database(deploying=True) == {}
    announce(connection, Presence(id="worker"))
    assert found_in_database() == {}
    assert list(found_in_database(deploying=True)) == ["jobs_app.W017"]
    settings.DEBUG = False
    assert found_in_database(deploying=True) == {}
