"""Files of SQLite, each one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.doctor import sqlite
from jobs_app.insights.doctor.sqlite import journal_mode, wal_size
from tests.insights.doctor.looking import on_sqlite

pytestmark = [on_sqlite, pytest.mark.django_db]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[BaseDatabaseWrapper]:
    own = connection.copy()
    own.settings_dict["NAME"] = str(tmp_path / "jobs.sqlite3")
    yield own
    own.close()


def execute(own: BaseDatabaseWrapper, *statements: str) -> None:
    with own.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)


def test_a_journal_that_lets_readers_block_the_writer_is_a_warning(file: BaseDatabaseWrapper) -> None:
    execute(file, "PRAGMA journal_mode = DELETE")
    [found] = journal_mode.findings(file)
    assert (found.name, found.level, "is delete" in found.sentence) == ("journal_mode", "warning", True)
    assert "runworker" in found.advice
    execute(file, "PRAGMA journal_mode = WAL")
    assert [one.level for one in journal_mode.findings(file)] == ["ok"]


def test_a_log_that_is_not_emptied_is_a_warning(file: BaseDatabaseWrapper, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.level for one in wal_size.findings(file)] == ["ok"]
    execute(file, "PRAGMA journal_mode = WAL", "CREATE TABLE one (id integer)")
    assert [one.level for one in wal_size.findings(file)] == ["ok"]
    monkeypatch.setattr(sqlite, "LARGE_WAL_BYTES", 1000)
    [found] = wal_size.findings(file)
    assert (found.name, found.level, "jobs.sqlite3-wal" in found.sentence) == ("wal_size", "warning", True)


def test_a_database_in_memory_has_no_file(file: BaseDatabaseWrapper) -> None:
    file.settings_dict["NAME"] = ":memory:"
    assert [one.level for look in (journal_mode, wal_size) for one in look.findings(file)] == ["ok", "ok"]
