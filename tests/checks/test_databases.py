"""Where the jobs are, and how that database is configured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from jobs_app import job
from jobs_app.models import Job
from tests.checks.looking import found

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def second_database(settings: Any) -> Iterator[str]:
    """A second alias, as settings.DATABASES would have it."""
    connections.settings["second"] = {**connections.settings["default"]}
    yield "second"
    del connections.settings["second"]
    if hasattr(connections._connections, "second"):  # type: ignore[attr-defined]
        del connections["second"]


class Router:
    def __init__(self, alias: str | None, *, allowed: bool | None = None) -> None:
        self.alias, self.allowed = alias, allowed

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return self.alias if model is Job else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return self.allowed if app_label == "jobs_app" else None


@pytest.mark.parametrize("vendor", ["mysql", "oracle"])
def test_an_engine_without_our_statements_is_an_error(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "vendor", vendor)
    assert vendor in found()["jobs_app.E004"].msg


def test_the_old_driver_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "vendor", "postgresql")
    monkeypatch.setattr("django.db.backends.postgresql.psycopg_any.is_psycopg3", False)
    assert "psycopg2" in found()["jobs_app.E004"].msg


def test_a_router_that_sends_the_jobs_elsewhere_is_an_error(settings: Any, second_database: str) -> None:
    settings.JOBS = {"DATABASE": second_database}
    settings.DATABASE_ROUTERS = [Router(None), Router("default")]
    assert "'default'" in found()["jobs_app.E005"].msg
    settings.DATABASE_ROUTERS = [Router(None), Router(second_database)]
    assert "jobs_app.E005" not in found()
    settings.DATABASE_ROUTERS = []
    assert "jobs_app.E005" not in found()


def test_a_router_that_allows_no_tables_is_an_error(settings: Any) -> None:
    settings.DATABASE_ROUTERS = [Router(None, allowed=False)]
    assert "does not allow their tables" in found()["jobs_app.E005"].msg


def test_a_router_alone_may_say_where_the_jobs_are(settings: Any, second_database: str) -> None:
    settings.DATABASE_ROUTERS = [Router(second_database)]
    assert "jobs_app.E005" not in found()


def test_an_atomic_job_needs_its_jobs_in_the_default_database(settings: Any, second_database: str) -> None:
    @job(atomic=True)
    def pay() -> None: ...

    assert "jobs_app.E006" not in found()
    settings.JOBS = {"DATABASE": second_database}
    message = found()["jobs_app.E006"]
    assert "atomic=True cannot hold for pay: the jobs are in database 'second'" in message.msg
    assert "SILENCED_SYSTEM_CHECKS = ['jobs_app.E006']" in str(message.hint)


def test_jobs_in_another_database_do_not_roll_back_with_the_default_one(settings: Any, second_database: str) -> None:
    assert "jobs_app.W004" not in found()
    settings.JOBS = {"DATABASE": second_database}
    message = found()["jobs_app.W004"]
    assert "stays when that transaction rolls back" in message.msg
    assert "on_commit" in str(message.hint)


@pytest.mark.parametrize(
    ("pool", "size"),
    [
        (True, 4),
        ({"min_size": 6}, 6),
        ({"min_size": 2, "max_size": 14}, 14),
        ({"max_size": 16}, None),
        ({}, None),
        (False, None),
    ],
)
def test_a_pool_smaller_than_a_worker_is_a_warning(
    pool: Any, size: int | None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS = {"WORKER_CONCURRENCY": 10}
    options = {**connections["default"].settings_dict["OPTIONS"], "pool": pool}
    monkeypatch.setitem(connections["default"].settings_dict, "OPTIONS", options)
    message = found().get("jobs_app.W005")
    assert (message is not None) is (size is not None)
    if message is not None:
        assert f"has {size} connections at most, and a worker with 10 slots needs up to 16" in message.msg
        assert '{"max_size": 16}' in str(message.hint)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, True), ({"transaction_mode": "DEFERRED"}, True), ({"transaction_mode": "immediate"}, False)],
)
def test_sqlite_that_locks_late_is_a_warning(
    options: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections["default"], "vendor", "sqlite")
    monkeypatch.setitem(connections["default"].settings_dict, "OPTIONS", options)
    assert ("jobs_app.W002" in found()) is expected


@pytest.mark.parametrize("page", ["README.md", "docs/installation.md"])
def test_the_options_of_the_hint_are_those_of_the_pages(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "vendor", "sqlite")
    monkeypatch.setitem(connections["default"].settings_dict, "OPTIONS", {})
    hint = str(found()["jobs_app.W002"].hint)
    written = re.search(r'OPTIONS"\]? ?[=:] \{[^\n]*\n(.*?)\}', (ROOT / page).read_text(), re.DOTALL)
    assert written is not None
    for line in written[1].strip().splitlines():
        assert line.strip().removesuffix(",") in hint
