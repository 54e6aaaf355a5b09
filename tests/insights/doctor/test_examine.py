"""All examinations together: each fails alone, and what needs more than there is, is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import doctor
from jobs_app.insights.doctor import EXAMINATIONS, examine
from jobs_app.insights.doctor.finding import Fault, Needs, examination, few, note, warning

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"

pytestmark = pytest.mark.django_db


@examination(fine="All is well.")
def healthy(connection: Any) -> Iterator[Fault]:
    yield from ()


@examination(fine="", needs=Needs.DATABASE)
def broken(connection: Any) -> Iterator[Fault]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
    yield from ()


def rows_without_end(connection: Any) -> Iterator[Fault]:
    with connection.cursor() as cursor:
        cursor.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
    yield from ()


@examination(fine="", needs=Needs.NOTHING)
def worth_knowing(connection: Any) -> Iterator[Fault]:
    yield note("So it is.", advice="Nothing.")


@examination(fine="")
def not_good(connection: Any) -> Iterator[Fault]:
    yield warning("Not so good.", advice="Do this.")
    yield note("And this.", advice="Nothing.")


def test_an_examination_that_fails_is_a_finding_and_not_the_end_of_the_others() -> None:
    found = examine(connection, [broken, healthy])
    assert [(each.name, each.level) for each in found.findings] == [("broken", "warning"), ("healthy", "ok")]
    assert found.findings[0].sentence.startswith("could not be examined: ")
    assert (found.examined, found.is_healthy) == (2, False)


def test_an_examination_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "STATEMENT_SECONDS", 0.1)
    found = examine(connection, [examination(fine="")(rows_without_end), healthy])
    assert "reading was stopped" in found.findings[0].sentence
    assert found.findings[1].level == "ok"


def test_an_examination_is_done_on_the_databases_that_it_fits() -> None:
    other = {"postgresql": "sqlite", "sqlite": "postgresql"}[connection.vendor]
    looks = [examination(fine="", only_on=vendor)(not_good.look) for vendor in (other, connection.vendor)]
    found = examine(connection, looks)
    assert (found.examined, len(found.findings)) == (1, 2)


def test_the_worst_is_told_first_and_notes_are_healthy() -> None:
    found = examine(connection, [worth_knowing, healthy, not_good])
    assert [each.sentence for each in found.found] == ["Not so good.", "So it is.", "And this."]
    assert not found.is_healthy
    assert examine(connection, [worth_knowing, healthy]).is_healthy


def test_without_tables_what_reads_them_is_left_out() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE jobs_app_workerstate")
    found = examine(connection)
    assert {each.name for each in found.found if each.level == "problem"} == {"tables_missing"}
    assert {"no_worker", "stale_runs"} <= set(found.left_out)
    assert not found.is_database_away


def test_without_a_database_only_what_needs_none_is_examined() -> None:
    away = connection.copy()
    away.settings_dict |= {"HOST": "/nowhere"} if away.vendor == "postgresql" else {"NAME": "/nowhere/db.sqlite3"}
    found = examine(away)
    assert [each.name for each in found.found] == ["database_unreachable"]
    assert (found.examined, found.is_database_away) == (3, True)


def test_a_sentence_names_a_few() -> None:
    assert few(["a", "b"]) == "a, b"
    assert few(list("abcdefg")) == "a, b, c, d, e and 2 more"


def test_the_page_tells_of_every_finding_and_of_no_other() -> None:
    _, table = PAGE.read_text().split("| name | what it means |")
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == [one.name for one in EXAMINATIONS]
    assert len(PAGE.read_text().splitlines()) < 80
