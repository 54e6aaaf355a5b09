"""Tables and indexes that are not as the code expects them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection
from django.db.migrations.recorder import MigrationRecorder

from jobs_app.insights.doctor.schema import indexes_invalid, indexes_missing, migrations_missing, tables_missing
from tests.insights.doctor.looking import look, on_postgres
from tests.lifecycle.rows import stored


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.django_db
def test_a_database_that_was_migrated_is_fine() -> None:
    assert [look(one).level for one in (migrations_missing, tables_missing, indexes_missing)] == ["ok"] * 3


@pytest.mark.django_db
def test_a_migration_that_was_not_applied_is_a_problem() -> None:
    MigrationRecorder(connection).record_unapplied("jobs_app", "0004_retention")
    found = look(migrations_missing)
    assert (found.level, found.advice) == ("problem", "Run manage.py migrate jobs_app --database default.")
    assert "0004_retention" in found.sentence


@pytest.mark.django_db
def test_a_table_that_is_gone_is_a_problem() -> None:
    execute("DROP TABLE jobs_app_idempotencykey")
    found = look(tables_missing)
    assert (found.level, found.sentence) == ("problem", "Tables are missing: jobs_app_idempotencykey.")
    assert look(indexes_missing).level == "ok"  # of what is there


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["jobs_app_job_claim", "jobs_app_job_one_of_key"])
def test_an_index_that_is_gone_is_a_problem(name: str) -> None:
    execute(f"DROP INDEX {name}")
    found = look(indexes_missing)
    assert found.level == "problem"
    assert f"missing: {name}." in found.sentence


@pytest.fixture
def half_built(transactional_db: None) -> Iterator[str]:
    """An index that PostgreSQL gave up to build, and left there."""
    stored(2)
    with pytest.raises(IntegrityError):
        execute("CREATE UNIQUE INDEX CONCURRENTLY half_built ON jobs_app_job (queue)")
    yield "half_built"
    execute("DROP INDEX half_built")


@on_postgres
def test_an_index_that_was_left_half_built_is_a_warning(half_built: str) -> None:
    found = look(indexes_invalid)
    assert (found.level, half_built in found.sentence) == ("warning", True)
    assert f"REINDEX INDEX CONCURRENTLY {half_built}" in found.advice


@on_postgres
@pytest.mark.django_db
def test_valid_indexes_are_fine() -> None:
    assert look(indexes_invalid).level == "ok"
