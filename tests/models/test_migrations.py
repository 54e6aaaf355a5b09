"""The tables can be made, taken away and made again, and they are what the models say."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from jobs_app.models import Job, Run
from tests.lifecycle.rows import one_running, stored
from tests.models.walking import migration_names

OURS = "jobs_app_"


def names_in_database() -> set[str]:
    """Our tables, views and indexes."""
    with connection.cursor() as cursor:
        tables = {table.name for table in connection.introspection.get_table_list(cursor)}
        ours = {table for table in tables if table.startswith(OURS)}
        indexes = {
            name for table in ours for name in connection.introspection.get_constraints(cursor, table) if OURS in name
        }
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'jobs_app%%'")
            return ours | {row[0] for row in cursor.fetchall()}
    return ours | indexes


@pytest.fixture
def tables_again(transactional_db: None) -> Iterator[None]:
    """Whatever happens, the next test finds the tables."""
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.usefixtures("tables_again")
def test_migrations_go_back_to_nothing_and_forward_again() -> None:
    before = names_in_database()
    assert {"jobs_app_job", "jobs_app_jobrun", "jobs_app_run", "jobs_app_job_claim", "jobs_app_run_finished"} <= before
    call_command("migrate", "jobs_app", "zero", verbosity=0)
    assert names_in_database() == set()
    call_command("migrate", "jobs_app", verbosity=0)
    assert names_in_database() == before
    assert one_running().id == Job.objects.get().id == Run.objects.get().id


@pytest.mark.usefixtures("tables_again")
def test_each_step_goes_back_alone() -> None:
    call_command("migrate", "jobs_app", "0001", verbosity=0)
    assert "jobs_app_run" not in names_in_database()
    call_command("migrate", "jobs_app", verbosity=0)
    stored()
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("backwards", [False, True])
def test_the_statements_of_each_migration_can_be_printed(backwards: bool) -> None:
    for name in migration_names():
        out = StringIO()
        call_command("sqlmigrate", "jobs_app", name, backwards=backwards, stdout=out)
        assert "IRREVERSIBLE" not in out.getvalue(), name


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "jobs_app", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_postgres_is_told_how_the_hot_table_lives() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has it")
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = 'jobs_app_job'")
        options = dict(option.split("=") for option in cursor.fetchone()[0])
    assert options["fillfactor"] == "70"
    assert options["autovacuum_vacuum_scale_factor"] == "0"
