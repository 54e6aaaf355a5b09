"""Are the tables and indexes as the code expects them?"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights.doctor.finding import Fault, Needs, examination, few, problem, warning
from jobs_app.insights.tables import missing_indexes, missing_tables, table_names
from jobs_app.lifecycle.migrated import missing_migrations

APP = "jobs_app"
# What CREATE INDEX CONCURRENTLY leaves behind when it fails: it is written to, and never read.
INVALID = """
SELECT class.relname FROM pg_index AS one JOIN pg_class AS class ON class.oid = one.indexrelid
 WHERE NOT one.indisvalid AND one.indrelid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)
 ORDER BY class.relname
"""


@examination(fine="Every migration is applied.", needs=Needs.DATABASE)
def migrations_missing(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if missing := missing_migrations(connection):
        yield problem(f"Migrations of jobs_app are not applied: {few(missing)}.", advice=_migrate(connection))


@examination(fine="Every table is there.", needs=Needs.DATABASE)
def tables_missing(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if missing := missing_tables(connection):
        yield problem(f"Tables are missing: {few(missing)}.", advice=_migrate(connection))


@examination(fine="Every index and constraint is there.", needs=Needs.DATABASE)
def indexes_missing(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if missing := missing_indexes(connection):
        advice = (
            "Somebody dropped them: restore them from a backup of the schema, or copy their CREATE INDEX from "
            f"manage.py sqlmigrate {APP} of the migration that names them."
        )
        sentence = f"Indexes or constraints are missing: {few(missing)}. Claims and pages may read whole tables."
        yield problem(sentence, advice=advice)


@examination(fine="Every index is valid.", needs=Needs.DATABASE, only_on="postgresql")
def indexes_invalid(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    with connection.cursor() as cursor:
        cursor.execute(INVALID, [table_names()])
        found = [name for (name,) in cursor.fetchall()]
    if found:
        advice = (
            f"Run REINDEX INDEX CONCURRENTLY {found[0]} for each; drop those whose name ends with _ccnew or _ccold."
        )
        yield warning(f"Indexes are invalid, and no query uses them: {few(found)}.", advice=advice)


def _migrate(connection: BaseDatabaseWrapper) -> str:
    return f"Run manage.py migrate {APP} --database {connection.alias}."
