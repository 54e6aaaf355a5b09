"""What the database lacks of what the models say."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.insights.tables import missing_indexes, missing_tables, table_names

pytestmark = pytest.mark.django_db


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_after_the_migrations_nothing_is_missing() -> None:
    assert (missing_tables(connection), missing_indexes(connection)) == ([], [])


def test_a_view_that_is_gone_is_missing_and_pages_without_a_table_are_not() -> None:
    execute("DROP VIEW jobs_app_run")
    assert missing_tables(connection) == ["jobs_app_run"]


def test_what_holds_rows_is_a_table_and_no_view() -> None:
    assert {"jobs_app_job", "jobs_app_jobrun"} <= set(table_names())
    assert "jobs_app_run" not in table_names()
