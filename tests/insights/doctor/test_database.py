"""A database that does not answer, or is too old."""

from __future__ import annotations

import pytest
from django.db import NotSupportedError, connection, connections

from jobs_app.insights.doctor.database import LEAST, SOON, database_too_old, database_unreachable, title
from tests.insights.doctor.looking import look

pytestmark = pytest.mark.django_db


def test_a_database_that_answers_is_fine() -> None:
    assert look(database_unreachable).level == "ok"
    assert look(database_too_old).level == "ok"
    assert title(connection).split()[0] in ("PostgreSQL", "SQLite")


def test_a_database_that_cannot_be_opened_is_a_problem() -> None:
    away = connection.copy()
    nowhere = {"HOST": "/nowhere", "NAME": "none"} if away.vendor == "postgresql" else {"NAME": "/nowhere/db.sqlite3"}
    away.settings_dict |= nowhere
    [found] = database_unreachable.findings(away)
    assert (found.name, found.level) == ("database_unreachable", "problem")
    assert "'default' cannot be reached" in found.sentence
    assert "settings.DATABASES" in found.advice


def test_a_database_that_django_refuses_is_to_be_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise NotSupportedError("PostgreSQL 14 or later is required (found 9.6).")

    monkeypatch.setattr(connection, "cursor", refuse)
    found = look(database_unreachable)
    assert (found.level, found.advice) == ("problem", "Upgrade the database server.")
    assert "found 9.6" in found.sentence


@pytest.mark.parametrize("vendor", ["postgresql", "sqlite"])
def test_what_is_too_old_for_the_jobs_is_a_problem_and_for_django_soon_a_note(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def level(*version: int) -> str:
        monkeypatch.setattr(type(connections["default"]), "get_database_version", lambda self: version)
        return look(database_too_old).level

    monkeypatch.setattr(connection, "vendor", vendor)
    least, soon = LEAST[vendor], SOON[vendor]
    assert level(*least[:-1], least[-1] - 1, 9) == "problem"
    assert [level(*least), level(*soon[:-1], soon[-1] - 1, 9), level(*soon)] == ["note", "note", "ok"]
